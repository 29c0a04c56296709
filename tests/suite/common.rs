//! A hermetic repository and a terse way to run `git X` in it, as git runs it.
//!
//! With `HARNESS_TEST_HOSTILE=1` the same suite runs under a configuration that
//! tries to get in the way: failing hooks, signing, pagers and diff programs,
//! colour, another locale. Git itself, when a test asks it something, is kept
//! out of that; our programs are not.

mod checkpoint;
mod outcome;
mod scene;
mod shadow;
mod tools;
mod tree;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::{fs, io::Write};

pub(crate) use checkpoint::{paths, texts};
pub(crate) use outcome::Outcome;
use scene::Scene;
pub(crate) use scene::bin_dir;
pub(crate) use shadow::printed_path;
pub(crate) use tools::{Mount, missing, not_here};
pub(crate) use tree::Disk;

/// A folder in a repository of its own, from which commands are run. Cheap to
/// clone: `in_dir` and `env` give another view of the same repository.
#[derive(Clone)]
pub(crate) struct Repo {
    scene: Arc<Scene>,
    /// The root of the worktree.
    root: PathBuf,
    /// Where commands run and relative paths start.
    dir: PathBuf,
    env: Vec<(OsString, Option<OsString>)>,
    /// What every command is started through.
    wrapper: Vec<OsString>,
}

impl Repo {
    /// An empty repository on the unborn branch `main`.
    pub(crate) fn new() -> Self {
        Self::init("")
    }

    /// A repository made by `git init <options>`.
    #[track_caller]
    pub(crate) fn init(options: &str) -> Self {
        let repo = Self::outside();
        repo.git(&format!("init -q {options} .")).ok();
        repo
    }

    /// An empty folder that is no repository.
    pub(crate) fn outside() -> Self {
        let scene = Scene::new();
        let root = scene.path().join("repo");
        fs::create_dir(&root).unwrap();
        Repo {
            scene: Arc::new(scene),
            dir: root.clone(),
            root,
            env: Vec::new(),
            wrapper: Vec::new(),
        }
    }

    /// A repository with these files in one commit.
    #[track_caller]
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let repo = Self::new();
        for (path, content) in files {
            repo.write(path, content);
        }
        repo.commit_all("base");
        repo
    }

    /// The same state in another place, as `cp -a` makes it.
    #[track_caller]
    pub(crate) fn duplicate(&self) -> Self {
        let scene = Scene::empty();
        let copied = Command::new("cp")
            .arg("-a")
            .arg(self.scene.path().join("."))
            .arg(scene.path())
            .status()
            .unwrap();
        assert!(copied.success());
        let moved = |path: &Path| match path.strip_prefix(self.scene.path()) {
            Ok(below) => scene.path().join(below),
            Err(_) => path.to_owned(),
        };
        Repo {
            root: moved(&self.root),
            dir: moved(&self.dir),
            env: self.env.clone(),
            wrapper: self.wrapper.clone(),
            scene: Arc::new(scene),
        }
    }

    /// A linked worktree beside this one, on a new branch of the same name.
    #[track_caller]
    pub(crate) fn worktree(&self, name: &str) -> Self {
        let root = self.scene.path().join(name);
        self.run(
            ["worktree", "add", "-q", "-b"]
                .map(OsStr::new)
                .into_iter()
                .chain([OsStr::new(name), root.as_os_str()]),
        )
        .ok();
        Repo {
            dir: root.clone(),
            root,
            ..self.clone()
        }
    }

    /// The same repository, seen from the folder `path`.
    pub(crate) fn in_dir(&self, path: impl AsRef<OsStr>) -> Self {
        Repo {
            dir: self.path(path),
            ..self.clone()
        }
    }

    /// The same repository, with a variable in the environment of what is run.
    pub(crate) fn env(&self, name: &str, value: impl AsRef<OsStr>) -> Self {
        let mut other = self.clone();
        other
            .env
            .push((name.into(), Some(value.as_ref().to_owned())));
        other
    }

    /// The same repository, without a variable that the harness sets.
    pub(crate) fn without_env(&self, name: &str) -> Self {
        let mut other = self.clone();
        other.env.push((name.into(), None));
        other
    }

    /// The same repository, where our programs too see only what the test configured:
    /// for what is shown to a person as that person likes it.
    pub(crate) fn as_configured_here(&self) -> Self {
        match scene::hostile() {
            true => self
                .env("GIT_CONFIG_GLOBAL", self.home().join("plain.gitconfig"))
                .env("GIT_PAGER", "cat"),
            false => self.clone(),
        }
    }

    /// The same repository, seen by a user for whom permission bits count: root reads
    /// everything, unless it has given that power away. `None` where neither is to be had.
    #[track_caller]
    pub(crate) fn for_whom_modes_count(&self) -> Option<Self> {
        let mut other = self.clone();
        if rustix::process::geteuid().is_root() {
            let without = "-dac_override,-dac_read_search";
            other.wrapper = ["setpriv", "--bounding-set", without]
                .map(OsString::from)
                .into();
        }
        let probe = self.scene.path().join("unreadable");
        fs::write(&probe, "").unwrap();
        self.chmod(&probe, 0);
        let refused = Outcome::of_quietly(
            other
                .bare_command("cat", false)
                .arg(&probe)
                .stderr(Stdio::null()),
        );
        if refused.is_some_and(|refused| refused.code() == Some(1)) {
            return Some(other);
        }
        missing("a user for whom permission bits count ('setpriv')");
        None
    }

    /// The same repository, where every start of git is noted, and the file with a
    /// line for each.
    pub(crate) fn noting_children(&self) -> (Self, PathBuf) {
        let log = self.scene.path().join("children");
        let git = self.sh("command -v git").ok().out();
        fs::create_dir(self.scene.path().join("noting")).unwrap();
        let noting = self.script(
            "noting/git",
            &format!("echo \"$@\" >>'{}'\nexec '{git}' \"$@\"", log.display()),
        );
        let path = std::env::var("PATH").unwrap();
        let folders = [noting.parent().unwrap(), bin_dir()].map(|f| f.display().to_string());
        let path = format!("{}:{path}", folders.join(":"));
        (self.env("PATH", path), log)
    }

    /// The root of the worktree.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The folder that holds the repository, HOME and the temporary files.
    pub(crate) fn scene(&self) -> &Path {
        self.scene.path()
    }

    /// HOME of everything that is run.
    pub(crate) fn home(&self) -> PathBuf {
        self.scene.path().join("home")
    }

    /// `path` below the folder of this view.
    pub(crate) fn path(&self, path: impl AsRef<OsStr>) -> PathBuf {
        self.dir.join(path.as_ref())
    }

    /// `.git` of this worktree, wherever it is.
    #[track_caller]
    pub(crate) fn git_dir(&self) -> PathBuf {
        PathBuf::from(self.git("rev-parse --absolute-git-dir").ok().out())
    }

    /// The git folder that all worktrees share.
    #[track_caller]
    pub(crate) fn common_dir(&self) -> PathBuf {
        self.root
            .join(self.at_root().git("rev-parse --git-common-dir").ok().out())
    }

    fn at_root(&self) -> Self {
        Repo {
            dir: self.root.clone(),
            ..self.clone()
        }
    }
}

/// Files.
impl Repo {
    /// Writes `content`, in place, with the folders it needs.
    #[track_caller]
    pub(crate) fn write(&self, path: impl AsRef<OsStr>, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }

    #[track_caller]
    pub(crate) fn append(&self, path: impl AsRef<OsStr>, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(content.as_ref()).unwrap();
    }

    #[track_caller]
    pub(crate) fn read(&self, path: impl AsRef<OsStr>) -> String {
        String::from_utf8(self.bytes(path)).unwrap()
    }

    #[track_caller]
    pub(crate) fn bytes(&self, path: impl AsRef<OsStr>) -> Vec<u8> {
        let path = self.path(path);
        fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// Whether anything, also a dangling link, has this name.
    pub(crate) fn exists(&self, path: impl AsRef<OsStr>) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    /// Removes a file, a link, or a folder with all in it.
    #[track_caller]
    pub(crate) fn remove(&self, path: impl AsRef<OsStr>) {
        let path = self.path(path);
        let is_dir = path.symlink_metadata().unwrap().is_dir();
        let removed = if is_dir {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        removed.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }

    #[track_caller]
    pub(crate) fn rename(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) {
        let to = self.path(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::rename(self.path(from), to).unwrap();
    }

    #[track_caller]
    pub(crate) fn link(&self, target: impl AsRef<OsStr>, path: impl AsRef<OsStr>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target.as_ref(), path).unwrap();
    }

    #[track_caller]
    pub(crate) fn mkdir(&self, path: impl AsRef<OsStr>) {
        fs::create_dir_all(self.path(path)).unwrap();
    }

    #[track_caller]
    pub(crate) fn chmod(&self, path: impl AsRef<OsStr>, mode: u32) {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// The permission bits of a file.
    #[track_caller]
    pub(crate) fn mode(&self, path: impl AsRef<OsStr>) -> u32 {
        self.path(path)
            .symlink_metadata()
            .unwrap()
            .permissions()
            .mode()
            & 0o7777
    }

    /// An executable script outside the worktree; its path.
    #[track_caller]
    pub(crate) fn script(&self, name: &str, body: &str) -> PathBuf {
        let path = self.scene.path().join(name);
        scene::write_script(&path, body);
        path
    }
}

/// Commands.
impl Repo {
    /// Runs `git <arguments>`: split at blanks, `'…'` keeps one together.
    #[track_caller]
    pub(crate) fn git(&self, arguments: &str) -> Outcome {
        self.run(words(arguments))
    }

    /// Runs git with these arguments.
    #[track_caller]
    pub(crate) fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Outcome {
        Outcome::of(&mut self.command(arguments))
    }

    /// Runs git with these arguments and `input` on its standard input.
    #[track_caller]
    pub(crate) fn feed(&self, arguments: &str, input: impl AsRef<[u8]>) -> Outcome {
        let mut command = self.command(words(arguments));
        command.stdin(Stdio::piped());
        Outcome::fed(&mut command, input.as_ref())
    }

    /// Runs a program of ours by its own name, for one that git cannot reach.
    #[track_caller]
    pub(crate) fn program(&self, name: &str, arguments: &str) -> Outcome {
        Outcome::of(self.bare_command(name, true).args(words(arguments)))
    }

    /// Runs a line of shell, with the environment in which the user's git runs.
    #[track_caller]
    pub(crate) fn sh(&self, script: &str) -> Outcome {
        let mut command = self.bare_command("sh", false);
        command.arg("-ec").arg(script);
        Outcome::of(&mut command)
    }

    /// Runs a line of shell, with the environment in which our programs run.
    #[track_caller]
    pub(crate) fn sh_ours(&self, script: &str) -> Outcome {
        let mut command = self.bare_command("sh", true);
        command.arg("-ec").arg(script);
        Outcome::of(&mut command)
    }

    /// `git <arguments>`, not started yet.
    pub(crate) fn command<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Command {
        let arguments: Vec<OsString> = arguments.into_iter().map(|a| a.as_ref().into()).collect();
        let mut command = self.bare_command("git", scene::is_ours(&arguments));
        if scene::is_shadow(&arguments) {
            self.scene.spare_signing(&mut command);
        }
        command.args(arguments);
        command
    }

    fn bare_command(&self, program: &str, ours: bool) -> Command {
        let words: Vec<&OsStr> = self
            .wrapper
            .iter()
            .map(|w| &**w)
            .chain([OsStr::new(program)])
            .collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        command.current_dir(&self.dir).stdin(Stdio::null());
        self.scene.environment(&mut command, ours);
        for (name, value) in &self.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    /// Stages everything and commits it.
    #[track_caller]
    pub(crate) fn commit_all(&self, message: &str) {
        self.at_root().git("add -A").ok();
        self.run(["commit", "-q", "--allow-empty", "-m", message])
            .ok();
    }

    /// The id that `revision` stands for.
    #[track_caller]
    pub(crate) fn oid(&self, revision: &str) -> String {
        self.run(["rev-parse", "--verify", revision]).ok().out()
    }
}

/// Splits a command line at blanks; single quotes keep a word together.
fn words(line: &str) -> Vec<OsString> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    let (mut open, mut quoted) = (false, false);
    for byte in line.bytes() {
        match byte {
            b'\'' => {
                quoted = !quoted;
                if !open {
                    words.push(Vec::new());
                    open = true;
                }
            }
            b' ' | b'\n' if !quoted => open = false,
            _ => {
                if !open {
                    words.push(Vec::new());
                    open = true;
                }
                words.last_mut().unwrap().push(byte);
            }
        }
    }
    assert!(!quoted, "unbalanced quote in: {line}");
    words
        .iter()
        .map(|word| OsStr::from_bytes(word).to_owned())
        .collect()
}
