//! What a repository looks like: the files on disk, the user's git, and what
//! git itself would store.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;

use super::Repo;

/// All that lies in a worktree, by path: kind, executable bit and content.
#[derive(PartialEq, Eq, Clone)]
pub(crate) struct Disk(pub(crate) BTreeMap<String, String>);

/// Inode and modification time of one file: both the same means untouched.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(crate) struct Stamp {
    inode: u64,
    mtime: (i64, i64),
}

/// The user's git: what no command of ours may change unasked.
#[derive(PartialEq, Eq, Clone)]
pub(crate) struct Fingerprint(BTreeMap<&'static str, String>);

impl Repo {
    /// Everything in the worktree but `.git`, empty folders too.
    #[track_caller]
    pub(crate) fn disk(&self) -> Disk {
        let mut found = BTreeMap::new();
        collect(&self.root, &self.root, &mut found);
        Disk(found)
    }

    /// Inode and modification time of `path`.
    #[track_caller]
    pub(crate) fn stamp(&self, path: impl AsRef<OsStr>) -> Stamp {
        let path = self.path(path);
        let meta = path
            .symlink_metadata()
            .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Stamp {
            inode: meta.ino(),
            mtime: (meta.mtime(), meta.mtime_nsec()),
        }
    }

    /// Index (bytes, inode and time), HEAD, refs, reflogs, stash, configuration.
    #[track_caller]
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        let git_dir = self.git_dir();
        let common = self.common_dir();
        let index = git_dir.join("index");
        let index = match fs::read(&index) {
            Ok(bytes) => format!("{:?} {}", self.stamp(&index), escape(&bytes)),
            Err(_) => "none".into(),
        };
        let text = |path: &Path| fs::read(path).map(|b| escape(&b)).unwrap_or_default();
        let mut reflogs = BTreeMap::new();
        collect(&common.join("logs"), &common.join("logs"), &mut reflogs);
        let refs = self
            .git("for-each-ref --format='%(refname) %(objectname) %(symref)'")
            .ok()
            .lines()
            .into_iter()
            .filter(|line| !line.starts_with("refs/harness/"))
            .collect::<Vec<_>>();
        Fingerprint(BTreeMap::from([
            ("index", index),
            ("HEAD", text(&git_dir.join("HEAD"))),
            ("refs", refs.join("\n")),
            ("reflogs", format!("{reflogs:?}")),
            ("config", text(&common.join("config"))),
            ("exclude", text(&common.join("info/exclude"))),
            ("hooks, pagers, signing", self.scene.fired()),
        ]))
    }

    /// The fingerprint without the index file's own inode and time, which a copy does not have.
    #[track_caller]
    pub(crate) fn movable_fingerprint(&self) -> Fingerprint {
        let mut user = self.fingerprint();
        let bytes = fs::read(self.git_dir().join("index")).unwrap_or_default();
        user.0.insert("index", escape(&bytes));
        user
    }

    /// Asserts that `git fsck` has nothing to say: every object that a ref names is there and sound.
    #[track_caller]
    pub(crate) fn fsck(&self) {
        let outcome = self
            .git("fsck --full --strict --no-dangling --no-progress")
            .ok();
        let said = format!("{}\n{}", outcome.out(), outcome.err());
        // An unborn branch and a repository without refs are no damage.
        let damage: Vec<&str> = said
            .lines()
            .filter(|line| !line.is_empty())
            .filter(|line| !line.starts_with("notice: ") && !line.starts_with("hint: "))
            .collect();
        assert!(damage.is_empty(), "git fsck says: {damage:#?}");
    }

    /// The tree that git's own way makes of the worktree: `git add -A --ignore-errors`
    /// on a copy of the index (its time kept, or racy edits are missed), hooks
    /// off, objects written elsewhere.
    #[track_caller]
    pub(crate) fn oracle_tree(&self) -> String {
        let git_dir = self.git_dir();
        let scratch = tempfile::Builder::new()
            .prefix("oracle-")
            .tempdir_in(self.scene().join("tmp"))
            .unwrap();
        // Beside the real one: a split index looks for its other half there.
        let copy = git_dir.join("oracle-index");
        let copied = self.sh(&format!(
            "! test -e '{0}/index' || cp -p '{0}/index' '{1}'",
            git_dir.display(),
            copy.display()
        ));
        copied.ok();
        let objects = self.common_dir().join("objects");
        let asked = self
            .at_root()
            .env("GIT_INDEX_FILE", &copy)
            .env("GIT_OBJECT_DIRECTORY", scratch.path())
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects);
        let added = asked.git(
            "-c core.hooksPath=/dev/null -c core.safecrlf=false -c advice.addEmbeddedRepo=false \
             add -A --ignore-errors",
        );
        assert!(matches!(added.code(), Some(0 | 1)), "{added:?}");
        let tree = asked.git("write-tree").ok().out();
        let _ = fs::remove_file(copy);
        tree
    }
}

fn collect(root: &Path, folder: &Path, found: &mut BTreeMap<String, String>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        let below = path.strip_prefix(root).unwrap();
        if below == Path::new(".git") {
            continue;
        }
        let name = escape(below.as_os_str().as_bytes());
        let meta = path.symlink_metadata().unwrap();
        let kind = meta.file_type();
        if kind.is_dir() {
            found.insert(format!("{name}/"), String::new());
            collect(root, &path, found);
        } else if kind.is_symlink() {
            let target = fs::read_link(&path).unwrap();
            found.insert(
                name,
                format!("-> {}", escape(target.as_os_str().as_bytes())),
            );
        } else if kind.is_fifo() || kind.is_socket() {
            found.insert(name, "special".into());
        } else {
            let bit = if meta.permissions().mode() & 0o100 != 0 {
                "x"
            } else {
                "-"
            };
            let content = fs::read(&path).map_or_else(|e| e.to_string(), |b| escape(&b));
            found.insert(name, format!("{bit} {content}"));
        }
    }
}

fn escape(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        for (path, what) in &self.0 {
            writeln!(f, "  {path}: {}", &what[..what.len().min(200)])?;
        }
        Ok(())
    }
}

impl Fingerprint {
    /// Leaves one part out of the comparison.
    pub(crate) fn forget(&mut self, part: &'static str) {
        self.0.remove(part);
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        for (what, value) in &self.0 {
            writeln!(f, "  {what}: {}", &value[..value.len().min(2000)])?;
        }
        Ok(())
    }
}
