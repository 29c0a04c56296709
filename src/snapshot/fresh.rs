//! Fills a worktree that is new and empty: all files in parallel, then its index
//! with stat data and trees. Only for what needs no conversion; git does the rest.

use std::fs;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::index::entry::Mode;
use gix::objs::{Kind, TreeRef};
use rayon::prelude::*;
use rustix::fs::{Mode as Permissions, OFlags};

use crate::error::{Context, Result, anyhow};
use crate::git::Repo;
use crate::snapshot::attributes::CONVERTING;
use crate::snapshot::index::entry_mode;
use crate::snapshot::index_file::{Line, Marks, Node};
use crate::snapshot::recent::Recent;
use crate::snapshot::root::{Root, bytes_of};
use crate::snapshot::stat::Stat;

/// A tree with all in it.
pub struct Content {
    /// Files, links and submodules, sorted by path.
    pub lines: Vec<Line>,
    /// The folders between, parents first.
    pub folders: Vec<BString>,
    /// The same trees as the index keeps them.
    pub root: Node,
    /// Paths with a name that must never reach a disk; they are not among the lines.
    pub refused: Vec<BString>,
}

impl Content {
    /// Reads `tree`.
    ///
    /// # Errors
    /// When a tree is missing.
    pub fn of(repo: &Repo, tree: ObjectId) -> Result<Self> {
        let mut content = Content {
            lines: Vec::new(),
            folders: Vec::new(),
            root: Node {
                name: BString::default(),
                id: tree,
                lines: 0,
                children: Vec::new(),
            },
            refused: Vec::new(),
        };
        content.root = content.folder(repo, BString::default(), BString::default(), tree)?;
        content.lines.sort();
        Ok(content)
    }

    fn folder(
        &mut self,
        repo: &Repo,
        prefix: BString,
        name: BString,
        id: ObjectId,
    ) -> Result<Node> {
        let bytes = repo.object(id, Kind::Tree)?;
        let tree = TreeRef::from_bytes(&bytes, repo.gix().object_hash())
            .with_context(|| format!("cannot read the tree {id}"))?;
        let before = self.lines.len();
        let mut children = Vec::new();
        for entry in tree.entries {
            let mode = entry_mode(entry.mode);
            let mut path = prefix.clone();
            path.extend_from_slice(entry.filename);
            if !is_name(entry.filename, mode) {
                self.refused.push(path);
                continue;
            }
            if mode == Mode::DIR {
                self.folders.push(path.clone());
                path.push(b'/');
                children.push(self.folder(
                    repo,
                    path,
                    entry.filename.to_owned(),
                    entry.oid.to_owned(),
                )?);
            } else {
                self.lines.push(Line {
                    path,
                    stage: 0,
                    mode,
                    id: entry.oid.to_owned(),
                    marks: Marks::default(),
                });
            }
        }
        // The index sorts the folders of one folder by length first (cache-tree.c).
        children.sort_by(|a, b| (a.name.len(), &a.name).cmp(&(b.name.len(), &b.name)));
        Ok(Node {
            name,
            id,
            lines: self.lines.len() - before,
            children,
        })
    }
}

/// Whether git writes something with this name and mode to a disk.
fn is_name(name: &BStr, mode: Mode) -> bool {
    let link = (mode == Mode::SYMLINK).then_some(gix::validate::path::component::Mode::Symlink);
    gix::validate::path::component(name, link, protection()).is_ok()
}

/// Whether git writes the file or link at `path` to a disk: not as `.GIT/x`, `git~1`
/// or a link `.gitmodules`.
pub fn is_restorable(path: &BStr, mode: Mode) -> bool {
    let mut names = path.rsplit(|b| *b == b'/').map(ByteSlice::as_bstr);
    let last = names.next().unwrap_or_default();
    is_name(last, mode) && names.all(|name| is_name(name, Mode::DIR))
}

/// git's defaults for `core.protectNTFS` and `core.protectHFS`.
fn protection() -> gix::validate::path::component::Options {
    gix::validate::path::component::Options {
        protect_windows: false,
        protect_hfs: cfg!(target_os = "macos"),
        protect_ntfs: true,
    }
}

/// Whether a checkout of `content` may write anything but the blobs themselves, or
/// needs what only git knows: attributes that convert, a file system without links
/// or with names that fall together, blobs that are elsewhere.
///
/// # Errors
/// When a setting or an attributes file cannot be read.
pub fn needs_git(repo: &Repo, content: &Content) -> Result<bool> {
    let off = |key: &str| -> Result<bool> { Ok(!repo.config_bool(key, true)?) };
    let autocrlf = repo.config("core.autocrlf").is_some_and(|v| v != "false");
    let eol = repo.config("core.eol").is_some_and(|v| v == "crlf");
    if autocrlf
        || eol
        || off("core.symlinks")?
        || off("core.fileMode")?
        || repo.config_bool("core.ignoreCase", false)?
        || repo.is_partial()
    {
        return Ok(true);
    }
    let mut rules: Vec<Vec<u8>> = Vec::new();
    for line in &content.lines {
        let name = line.path.rsplit(|b| *b == b'/').next().unwrap_or_default();
        if name == b".gitattributes" && line.mode != Mode::SYMLINK {
            rules.push(repo.object(line.id, Kind::Blob)?);
        }
    }
    for path in outer_attributes(repo) {
        rules.extend(fs::read(path));
    }
    // `text` alone means LF, which is what the blob has.
    let words = CONVERTING.iter().filter(|word| **word != "text");
    Ok(words
        .into_iter()
        .any(|word| rules.iter().any(|text| text.contains_str(word))))
}

fn outer_attributes(repo: &Repo) -> Vec<std::path::PathBuf> {
    let mut found = vec![
        repo.common_dir().join("info/attributes"),
        "/etc/gitattributes".into(),
    ];
    let own = repo
        .gix()
        .config_snapshot()
        .trusted_path("core.attributesFile");
    found.extend(own.ok().flatten());
    let config = std::env::var_os("XDG_CONFIG_HOME")
        .map(Into::into)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".config")));
    found.extend(config.map(|folder: std::path::PathBuf| folder.join("git/attributes")));
    found
}

/// Writes everything in `content` below `root`, which holds nothing but `.git`; gives
/// the stat data in the order of the lines.
///
/// # Errors
/// When a blob is missing or a file cannot be written.
pub fn fill(repo: &Repo, root: &Root, content: &Content) -> Result<Vec<Option<Stat>>> {
    // Folders first and links last: nothing is ever written through a link.
    for folder in &content.folders {
        let path = root.join(folder.as_bstr());
        fs::create_dir(&path).with_context(|| format!("cannot make '{}'", path.display()))?;
    }
    crate::state::crash::point();
    let shared = repo.gix().clone().into_sync();
    // Large parts, each in the order of paths: neighbours share what a pack must undo.
    let part = (content.lines.len() / (rayon::current_num_threads() * 4)).max(64);
    let chunks: Vec<&[Line]> = content.lines.chunks(part).collect();
    let written: Result<Vec<Vec<Option<Stat>>>> = chunks
        .par_iter()
        .map_init(
            || {
                let mut repo = shared.to_thread_local();
                repo.objects.set_pack_cache(|| Box::new(Recent::default()));
                repo
            },
            |repo, lines| fill_some(repo, root, lines),
        )
        .collect();
    let mut stats = written?.concat();
    for (line, stat) in content.lines.iter().zip(&mut stats) {
        let path = root.join(line.path.as_bstr());
        let context = || format!("cannot make '{}'", path.display());
        if line.mode == Mode::COMMIT {
            fs::create_dir(&path).with_context(context)?;
        } else if line.mode == Mode::SYMLINK {
            let target = repo.object(line.id, Kind::Blob)?;
            std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(&target), &path)
                .with_context(context)?;
            *stat = root.stat(bytes_of(line.path.to_path_lossy()).as_bstr())?;
        }
    }
    Ok(stats)
}

/// The regular files among `lines`, which are neighbours.
fn fill_some(repo: &mut gix::Repository, root: &Root, lines: &[Line]) -> Result<Vec<Option<Stat>>> {
    let mut open: Option<(&[u8], OwnedFd)> = None;
    let mut stats = Vec::with_capacity(lines.len());
    let mut buffer = Vec::new();
    for line in lines {
        let executable = match line.mode {
            Mode::FILE => false,
            Mode::FILE_EXECUTABLE => true,
            _ => {
                stats.push(None);
                continue;
            }
        };
        let path = line.path.as_bstr();
        let (folder, name) = match path.rfind_byte(b'/') {
            Some(slash) => (&path.as_bytes()[..slash], &path.as_bytes()[slash + 1..]),
            None => (&b""[..], path.as_bytes()),
        };
        if open.as_ref().is_none_or(|(known, _)| *known != folder) {
            open = Some((folder, root.parent(path)?.0));
        }
        let Some((_, folder)) = &open else { continue };
        stats.push(Some(
            write_file(
                repo,
                folder,
                name.as_bstr(),
                line.id,
                executable,
                &mut buffer,
            )
            .with_context(|| format!("cannot write '{path}'"))?,
        ));
    }
    Ok(stats)
}

fn write_file(
    repo: &gix::Repository,
    folder: &OwnedFd,
    name: &BStr,
    id: ObjectId,
    executable: bool,
    buffer: &mut Vec<u8>,
) -> Result<Stat> {
    use gix::objs::Find;
    let blob = repo
        .objects
        .try_find(&id, buffer)
        .map_err(|e| anyhow!("{e}"))?
        .filter(|data| data.kind == Kind::Blob)
        .with_context(|| format!("the blob {id} is missing"))?;
    // The umask takes its part, as for git's own.
    let mode = if executable { 0o777 } else { 0o666 };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(
        folder.as_fd(),
        name.as_bytes(),
        flags,
        Permissions::from_bits_truncate(mode),
    )?;
    let mut file = fs::File::from(file);
    file.write_all(blob.data)?;
    Ok(Stat::of(&rustix::fs::fstat(&file)?))
}
