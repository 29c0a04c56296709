//! Ignored data that the user has declared worth capturing, and paths that must
//! never be.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use gix::bstr::{BStr, BString, ByteSlice};
use gix::objs::Kind;

use crate::error::Result;
use crate::git::Repo;
use crate::git::pathspec::Scope;
use crate::snapshot::root::Root;
use crate::snapshot::scan::{Scan, Skipped};
use crate::snapshot::stat::FileKind;

/// The pathspecs of a multi-valued setting, from the worktree's root.
pub fn configured(repo: &Repo, key: &str) -> Vec<BString> {
    repo.config_all(key)
}

/// The files that `specs` name, ignored or not, as far as they are on disk.
///
/// # Errors
/// When a pathspec cannot be understood.
pub fn files(repo: &Repo, root: &Root, specs: &[BString]) -> Result<BTreeSet<BString>> {
    let mut found = BTreeSet::new();
    for spec in specs {
        let mut scope = scope(repo, std::slice::from_ref(spec))?;
        collect(root, literal_folder(spec.as_bstr()), &mut scope, &mut found);
    }
    Ok(found)
}

/// What `specs` match, from the worktree's root wherever we were started.
///
/// # Errors
/// When a pathspec cannot be understood.
pub fn scope<'r>(repo: &'r Repo, specs: &[BString]) -> Result<Scope<'r>> {
    let from_root: Vec<OsString> = specs
        .iter()
        .map(|spec| {
            let mut text = Vec::new();
            if !spec.starts_with(b":") {
                text.extend_from_slice(b":/");
            }
            text.extend_from_slice(spec);
            OsString::from_vec(text)
        })
        .collect();
    Scope::of_pathspecs(repo, &from_root)
}

/// The part of a pathspec before its first wildcard, up to a slash: where a walk
/// must begin.
fn literal_folder(spec: &BStr) -> BString {
    let plain = match spec.strip_prefix(b":(") {
        Some(magic) => magic
            .find_byte(b')')
            .map_or(&b""[..], |end| &magic[end + 1..]),
        None => spec.trim_start_with(|c| matches!(c, ':' | '/' | '!' | '^')),
    };
    let literal = match plain.find_byteset(b"*?[\\") {
        Some(wild) => plain[..wild]
            .rfind_byte(b'/')
            .map_or(&b""[..], |s| &plain[..s]),
        None => plain,
    };
    BString::from(literal.trim_end_with(|c| c == '/'))
}

fn collect(root: &Root, from: BString, scope: &mut Scope<'_>, found: &mut BTreeSet<BString>) {
    let mut open = vec![from];
    while let Some(path) = open.pop() {
        let kind = match path.is_empty() {
            true => Some(FileKind::Folder),
            false => root.stat(path.as_bstr()).ok().flatten().map(|s| s.kind),
        };
        match kind {
            Some(FileKind::Folder) => {
                let folder = std::fs::read_dir(root.join(path.as_bstr()));
                for entry in folder.into_iter().flatten().flatten() {
                    let name = entry.file_name().into_vec();
                    if name == b".git" {
                        continue;
                    }
                    let mut below = path.clone();
                    if !below.is_empty() {
                        below.push(b'/');
                    }
                    below.extend_from_slice(&name);
                    open.push(below);
                }
            }
            Some(FileKind::File { .. } | FileKind::Link) if scope.includes(path.as_bstr()) => {
                found.insert(path);
            }
            _ => {}
        }
    }
}

/// Takes what `checkpoint.exclude` names out of `scan`; a tracked path then stays
/// as the index has it.
///
/// # Errors
/// When a pathspec cannot be understood.
pub fn exclude(repo: &Repo, scan: &mut Scan) -> Result<Vec<Skipped>> {
    let specs = configured(repo, "checkpoint.exclude");
    if specs.is_empty() {
        return Ok(Vec::new());
    }
    let mut scope = scope(repo, &specs)?;
    let mut skipped = Vec::new();
    let mut is_out = |path: &BString| {
        let out = scope.includes(path.as_bstr());
        if out {
            skipped.push(Skipped {
                path: path.clone(),
                reason: "checkpoint.exclude".to_owned(),
            });
        }
        out
    };
    scan.candidates.retain(|c| !is_out(&c.path));
    scan.gone.retain(|path| !is_out(path));
    scan.commits.retain(|(path, _)| !is_out(path));
    Ok(skipped)
}

/// Stands for the rules that are in no tree and hide untracked files: the user's own
/// ignore file, `info/exclude`, `checkpoint.exclude`. `None` when there are none.
pub fn unseen(repo: &Repo) -> Option<String> {
    let user = match repo
        .gix()
        .config_snapshot()
        .trusted_path("core.excludesFile")
    {
        Ok(Some(path)) => Some(path),
        _ => std::env::var_os("XDG_CONFIG_HOME")
            .filter(|path| !path.is_empty())
            .map(PathBuf::from)
            .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".config")))
            .map(|config| config.join("git/ignore")),
    };
    let files = [user, Some(repo.common_dir().join("info/exclude"))];
    let mut rules: Vec<BString> = configured(repo, "checkpoint.exclude");
    for content in files
        .into_iter()
        .flatten()
        .filter_map(|file| std::fs::read(file).ok())
    {
        let lines = content
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with(b"#"));
        rules.extend(lines.map(BString::from));
    }
    let hash = repo.gix().object_hash();
    let id = gix::objs::compute_hash(hash, Kind::Blob, &gix::bstr::join("\n", &rules)).ok()?;
    (!rules.is_empty()).then(|| id.to_hex_with_len(16).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_begins_before_the_first_wildcard() {
        for (spec, folder) in [
            ("data/app.db", "data/app.db"),
            ("data/*.db", "data"),
            ("*.db", ""),
            (":(glob)var/**/x", "var"),
            (":/var/lib/", "var/lib"),
        ] {
            assert_eq!(literal_folder(spec.into()), folder, "{spec}");
        }
    }
}
