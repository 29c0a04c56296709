//! Finds the repository from wherever we were started: a sub-folder, a linked
//! worktree, `git -C`, GIT_DIR, a hook, an unborn branch.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use gix::ThreadSafeRepository;
use gix::open::Options;
use gix::sec::Trust;
use gix::sec::trust::Mapping;

use crate::error::{Context, Result, hinted};
use crate::git::command::Child;
use crate::git::guard;
use crate::git::refs::Backend;
use crate::state::file::Sharing;

/// A repository, and the worktree of it in which we are.
pub struct Repo {
    gix: gix::Repository,
    worktree: Option<PathBuf>,
    git_dir: PathBuf,
    common_dir: PathBuf,
    prefix: PathBuf,
    backend: Backend,
    sharing: Sharing,
}

impl Repo {
    /// The repository of the current folder and environment, as git would find it.
    ///
    /// # Errors
    /// When there is none, git would refuse it, or it has an extension that neither
    /// git nor we know.
    pub fn discover() -> Result<Self> {
        let redirected = ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR"]
            .iter()
            .any(|variable| std::env::var_os(variable).is_some());
        let overrides = command_line_config()?;
        if redirected {
            // The rules by which these variables combine (core.worktree, core.bare, the
            // current folder as the top) are git's own; inside a hook we ask it.
            return Self::as_git_says(&overrides);
        }
        let options = options(&overrides);
        let found = ThreadSafeRepository::discover_with_environment_overrides_opts(
            ".",
            Default::default(),
            Mapping {
                full: options.clone(),
                reduced: options,
            },
        );
        let Ok(found) = found else {
            // git's own words for why (not a repository, an owner it does not trust, a
            // broken file), or a repository that only git can open.
            return Self::as_git_says(&overrides);
        };
        let repo = found.to_thread_local();
        if repo.git_dir_trust() != Trust::Full {
            return Self::as_git_says(&overrides);
        }
        Self::from_gix(repo, None)
    }

    /// The worktree whose root is `root`, when git would work in it too: a repository
    /// of somebody else has filters and hooks that would run as us (`safe.directory`).
    ///
    /// # Errors
    /// When there is no repository there, or git would refuse it.
    pub fn at(root: &Path) -> Result<Self> {
        let overrides = command_line_config()?;
        let open = |options: Options| {
            options
                .open(root)
                .with_context(|| format!("cannot open the repository at '{}'", root.display()))
        };
        let mut repo = open(options(&overrides))?.to_thread_local();
        if repo.git_dir_trust() != Trust::Full {
            let asked = Child::git()
                .current_dir(root)
                .args(["rev-parse", "--git-dir"])
                .output()?;
            if !asked.status.success() {
                return Err(as_git_said(&asked.stderr));
            }
            repo = open(options(&overrides).with(Trust::Full))?.to_thread_local();
        }
        Self::from_gix(repo, None)
    }

    fn as_git_says(overrides: &[gix::bstr::BString]) -> Result<Self> {
        let ask = |question: &[&str]| {
            ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR"]
                .iter()
                .fold(Child::git(), |child, variable| child.keep_env(variable))
                .arg("rev-parse")
                .args(question)
                .output()
        };
        let output = ask(&["--absolute-git-dir"])?;
        if !output.status.success() {
            return Err(as_git_said(&output.stderr));
        }
        let git_dir = path_of_line(output.stdout);
        let toplevel = ask(&["--show-toplevel"])?;
        let worktree = toplevel
            .status
            .success()
            .then(|| path_of_line(toplevel.stdout));
        let mut repo = options(overrides)
            .with(Trust::Full)
            .open_path_as_is(true)
            .open(&git_dir)
            .with_context(|| format!("cannot open the repository '{}'", git_dir.display()))?
            .to_thread_local();
        repo.set_workdir(worktree.clone())?;
        Self::from_gix(repo, worktree)
    }

    fn from_gix(mut repo: gix::Repository, worktree: Option<PathBuf>) -> Result<Self> {
        guard::check(&repo)?;
        // `core.safecrlf=true` makes a conversion fail that loses line ends. We prove
        // each conversion ourselves and store the file raw when it would.
        repo.config_snapshot_mut()
            .set_value(&gix::config::tree::Core::SAFE_CRLF, "false")?;
        let absolute = |path: &Path| -> Result<PathBuf> {
            path.canonicalize()
                .with_context(|| format!("cannot find '{}'", path.display()))
        };
        let worktree = match worktree.or_else(|| repo.workdir().map(Path::to_owned)) {
            Some(root) => Some(absolute(&root)?),
            None => None,
        };
        let here = std::env::current_dir()
            .and_then(|p| p.canonicalize())
            .unwrap_or_default();
        let prefix = worktree
            .as_deref()
            .and_then(|root| here.strip_prefix(root).ok())
            .map(Path::to_owned)
            .unwrap_or_default();
        let shared = repo.config_snapshot().string("core.sharedRepository");
        let sharing = Sharing::parse(shared.as_ref().and_then(|v| std::str::from_utf8(v).ok()));
        let backend = Backend::of(&repo.config_snapshot());
        Ok(Repo {
            git_dir: absolute(repo.git_dir())?,
            common_dir: absolute(repo.common_dir())?,
            gix: repo,
            worktree,
            prefix,
            backend,
            sharing,
        })
    }

    /// The handle that only `git` and the engine below it may use.
    pub fn gix(&self) -> &gix::Repository {
        &self.gix
    }

    /// The same handle, to be changed (an object store in memory).
    pub fn gix_mut(&mut self) -> &mut gix::Repository {
        &mut self.gix
    }

    /// The root of the worktree, absolute and without links; `None` in a bare repository.
    pub fn worktree(&self) -> Option<&Path> {
        self.worktree.as_deref()
    }

    /// The root of the worktree.
    ///
    /// # Errors
    /// In a bare repository, in git's words.
    pub fn require_worktree(&self) -> Result<&Path> {
        self.worktree
            .as_deref()
            .context("this operation must be run in a work tree")
    }

    /// The current folder below the worktree's root; empty at the root or outside.
    pub fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// The git folder of this worktree (`.git`, or `.git/worktrees/<name>`), absolute.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The git folder that all worktrees share, absolute.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// Where objects are, absolute.
    pub fn objects_dir(&self) -> PathBuf {
        self.common_dir.join("objects")
    }

    /// Whether this is a linked worktree.
    pub fn is_linked(&self) -> bool {
        self.git_dir != self.common_dir
    }

    /// Where our state of this worktree lives.
    pub fn own_state(&self) -> PathBuf {
        self.git_dir.join("harness")
    }

    /// Where our state that all worktrees share lives.
    pub fn shared_state(&self) -> PathBuf {
        self.common_dir.join("harness")
    }

    /// The index file of this worktree. GIT_INDEX_FILE is not asked: a checkpoint
    /// is about the worktree and its own index, also inside a hook.
    pub fn index_path(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    /// Whether git's own gc is under way, by the file that it holds meanwhile.
    pub fn gc_runs(&self) -> bool {
        self.common_dir.join("gc.pid").exists()
    }

    /// Who may read our files.
    pub fn sharing(&self) -> Sharing {
        self.sharing
    }

    pub(super) fn backend(&self) -> Backend {
        self.backend
    }
}

fn options(overrides: &[gix::bstr::BString]) -> Options {
    // A blob is what its id says: with 'git replace' a snapshot would give back
    // other bytes than it took.
    let plain = gix::bstr::BString::from("core.useReplaceRefs=false");
    Options::default().cli_overrides(overrides.iter().cloned().chain([plain]))
}

/// What `git -c key=value` gave us. gix reads GIT_CONFIG_COUNT but not the
/// variable that `-c` uses, whose quoting is private to git: so git is asked.
fn command_line_config() -> Result<Vec<gix::bstr::BString>> {
    if std::env::var_os("GIT_CONFIG_PARAMETERS").is_none_or(|value| value.is_empty()) {
        return Ok(Vec::new());
    }
    let listed = Child::git()
        .args(["config", "--list", "-z", "--show-scope", "--includes"])
        .stdout()?;
    // `scope NUL key LF value NUL`; a key without `=` has no LF and means true.
    let mut fields = listed.split(|b| *b == 0);
    let mut found = Vec::new();
    while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
        if scope == b"command" {
            let mut entry = entry.to_vec();
            if let Some(end) = entry.iter().position(|b| *b == b'\n') {
                entry[end] = b'=';
            }
            found.push(entry.into());
        }
    }
    Ok(found)
}

/// git's own refusal: its first line, and what it advises.
fn as_git_said(stderr: &[u8]) -> crate::error::Error {
    let said = String::from_utf8_lossy(stderr);
    let mut lines = said.trim().splitn(2, '\n');
    let first = lines.next().unwrap_or_default();
    let message = first.strip_prefix("fatal: ").unwrap_or(first).to_owned();
    match lines.next() {
        Some(advice) => hinted(message, advice.trim()),
        None => crate::error::anyhow!(message),
    }
}

fn path_of_line(mut line: Vec<u8>) -> PathBuf {
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    PathBuf::from(OsString::from_vec(line))
}
