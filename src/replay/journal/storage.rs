//! Outpost's local storage: a log is a linked list of objects, each a file
//! with a padded JSON header of 1024 bytes. Read as JSON lines.

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::{Context, Result, bail, ensure, hinted};
use crate::replay::journal::fields::Fields;
use crate::replay::journal::{Limits, strict};

const HEADER: usize = 1024;

/// Cuts `#<log>` from a path, unless a file has that name.
pub(super) fn address(path: &Path) -> (PathBuf, Option<String>) {
    let text = path.to_string_lossy();
    match text.rsplit_once('#') {
        Some((folder, log)) if !path.exists() && Path::new(folder).is_dir() => {
            (PathBuf::from(folder), Some(log.to_owned()))
        }
        _ => (path.to_owned(), None),
    }
}

/// Whether `folder` is one.
pub(super) fn is_at(folder: &Path) -> bool {
    folder.join("objects/logs").is_dir()
}

/// The events of the log called `log`, or of the only one in `folder`.
///
/// # Errors
/// When there are several logs and none was named, or the log is broken.
pub(super) fn read(folder: &Path, log: Option<&str>, limits: Limits) -> Result<Vec<u8>> {
    let log = match log {
        Some(log) => log.to_owned(),
        None => only_log(folder)?,
    };
    ensure!(is_name(&log), "'{log}' is no name of a log");
    let mut index = object(folder, &format!("logs/{log}/index"), None)?;
    let mut next = link(&mut index, "head")?;
    let mut events = Vec::new();
    let mut seen = HashSet::new();
    let mut size = 0;
    while let Some((key, revision)) = next {
        ensure!(
            seen.insert(key.clone()),
            "the segment '{key}' stands twice in its own chain"
        );
        ensure!(
            events.len() < limits.entries,
            "it has more than {} entries",
            limits.entries
        );
        let mut segment = object(folder, &key, Some(&revision))?;
        next = link(&mut segment, "previous")?;
        let event = segment
            .take("event")
            .with_context(|| format!("the segment '{key}' holds no event"))?;
        let line = event.to_string();
        size += line.len() as u64 + 1;
        ensure!(
            size <= limits.bytes,
            "it has more than the {} bytes of journal.maxSize",
            limits.bytes
        );
        events.push(line);
    }
    events.reverse();
    Ok(events.concat_lines())
}

trait Lines {
    fn concat_lines(self) -> Vec<u8>;
}

impl Lines for Vec<String> {
    fn concat_lines(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for line in self {
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
        }
        bytes
    }
}

fn only_log(folder: &Path) -> Result<String> {
    let logs = folder.join("objects/logs");
    let mut found: Vec<String> = fs::read_dir(&logs)
        .with_context(|| format!("'{}' holds no logs", folder.display()))?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| logs.join(name).join("index.object").is_file())
        .collect();
    found.sort();
    match found.as_slice() {
        [] => bail!("'{}' holds no logs", folder.display()),
        [only] => Ok(only.clone()),
        several => Err(hinted(
            format!("it holds {} logs", several.len()),
            several
                .iter()
                .map(|log| format!("name one: {}#{log}", folder.display()))
                .collect::<Vec<_>>()
                .join("\n"),
        )),
    }
}

fn is_name(log: &str) -> bool {
    !log.is_empty()
        && log
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        && !log.starts_with('.')
}

/// A key and its revision, or the end of the list.
fn link(fields: &mut Fields, name: &str) -> Result<Option<(String, String)>> {
    match fields.take(name) {
        Some(Value::Null) => Ok(None),
        Some(value) => {
            let mut link = Fields::of(format!("{}, {name}", fields.place()), value)?;
            Ok(Some((
                link.require_text("key")?,
                link.require_text("revision")?,
            )))
        }
        None => Err(fields.error(format_args!("'{name}' is missing"))),
    }
}

fn object(folder: &Path, key: &str, revision: Option<&str>) -> Result<Fields> {
    let parts_are_names = key.split('/').all(is_name);
    ensure!(parts_are_names, "'{key}' is no key of this storage");
    let path = folder.join("objects").join(format!("{key}.object"));
    let mut bytes = Vec::new();
    OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32)
        .open(&path)
        .and_then(|file| {
            file.take(Limits::default().bytes + HEADER as u64 + 1)
                .read_to_end(&mut bytes)
        })
        .with_context(|| format!("cannot read '{}'", path.display()))?;
    read_object(&bytes, key, revision).with_context(|| format!("'{}'", path.display()))
}

fn read_object(bytes: &[u8], key: &str, revision: Option<&str>) -> Result<Fields> {
    let (header, payload) = bytes
        .split_at_checked(HEADER)
        .context("it is shorter than its header")?;
    let parse = |bytes: &[u8]| -> Result<Value> { Ok(strict::parse(std::str::from_utf8(bytes)?)?) };
    let mut header = Fields::of("its header".into(), parse(header.trim_ascii_end())?)?;
    ensure!(
        header.require_text("key")? == key,
        "its header names another key"
    );
    let found = header.require_text("revision")?;
    ensure!(!found.is_empty(), "its header has an empty revision");
    ensure!(
        revision.is_none_or(|wanted| wanted == found),
        "it was changed while the log was read"
    );
    ensure!(
        header.require_count("size")? == payload.len() as u64,
        "its header names another size"
    );
    Fields::of("its content".into(), parse(payload)?)
}
