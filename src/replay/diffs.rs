//! Patches made by git, in a room where nobody's configuration or attributes
//! can change them.

use gix::ObjectId;

use crate::error::{Context, Result, bail, ensure};
use crate::git::ByteSlice;
use crate::replay::room::Room;

/// The form of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Form {
    /// All content in git's binary form: any bytes, not readable.
    Binary,
    /// Readable where the bytes are UTF-8, binary elsewhere.
    Text,
}

/// For each pair of trees the patch from the first to the second.
pub(super) fn between(
    room: &Room,
    pairs: &[(ObjectId, ObjectId)],
    form: Form,
) -> Result<Vec<String>> {
    let binary = raw(room, pairs, "* -diff\n")?;
    let patches = match form {
        Form::Binary => binary,
        Form::Text => {
            let text = raw(room, pairs, "")?;
            text.into_iter()
                .zip(binary)
                .map(|(text, binary)| merged(&text, &binary))
                .collect()
        }
    };
    patches
        .into_iter()
        .map(|patch| String::from_utf8(patch).context("git made a binary patch that is not UTF-8"))
        .collect()
}

/// Readable patches for a person: every byte as it is, binary content in git's words.
pub(super) fn readable(room: &Room, pairs: &[(ObjectId, ObjectId)]) -> Result<Vec<Vec<u8>>> {
    room.write("info/attributes", b"")?;
    run(room, pairs, &["-M"])
}

fn raw(room: &Room, pairs: &[(ObjectId, ObjectId)], attributes: &str) -> Result<Vec<Vec<u8>>> {
    room.write("info/attributes", attributes.as_bytes())?;
    run(room, pairs, &["--binary", "--full-index", "--no-renames"])
}

fn run(room: &Room, pairs: &[(ObjectId, ObjectId)], options: &[&str]) -> Result<Vec<Vec<u8>>> {
    if pairs.is_empty() {
        return Ok(Vec::new());
    }
    let marks: Vec<String> = pairs
        .iter()
        .map(|(old, new)| format!("{old} {new}\n"))
        .collect();
    let output = room
        .git(&[
            "diff-tree",
            "--stdin",
            "-p",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
        ])
        .args([
            "--src-prefix=a/",
            "--dst-prefix=b/",
            "--ignore-submodules=none",
            "--unified=3",
        ])
        .args(options)
        .input(marks.concat())
        .stdout()?;
    let mut rest = output.as_slice();
    let mut patches = Vec::with_capacity(pairs.len());
    for (number, mark) in marks.iter().enumerate() {
        rest = rest
            .strip_prefix(mark.as_bytes())
            .context("git diff-tree answered out of turn")?;
        // No line of a patch looks like two ids.
        let end = match marks.get(number + 1) {
            None => rest.len(),
            Some(next) if rest.starts_with(next.as_bytes()) => 0,
            Some(next) => match rest.find(format!("\n{next}")) {
                Some(at) => at + 1,
                None => bail!("git diff-tree left out '{}'", next.trim_end()),
            },
        };
        patches.push(rest[..end].to_vec());
        rest = &rest[end..];
    }
    ensure!(rest.is_empty(), "git diff-tree said more than it was asked");
    Ok(patches)
}

/// Section by section the readable form, where it is UTF-8.
fn merged(text: &[u8], binary: &[u8]) -> Vec<u8> {
    let (text, binary) = (sections(text), sections(binary));
    if text.len() != binary.len() {
        return binary.concat();
    }
    text.iter()
        .zip(&binary)
        .flat_map(|(text, binary)| {
            if text.to_str().is_ok() {
                *text
            } else {
                *binary
            }
        })
        .copied()
        .collect()
}

fn sections(patch: &[u8]) -> Vec<&[u8]> {
    let mut sections = Vec::new();
    let mut start = 0;
    for at in patch.find_iter("\ndiff --git ") {
        sections.push(&patch[start..=at]);
        start = at + 1;
    }
    if start < patch.len() {
        sections.push(&patch[start..]);
    }
    sections
}
