//! A repository with shadows and plain worktrees to measure.

use std::cell::Cell;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use std::{env, thread};

use tempfile::TempDir;

const PER_FOLDER: usize = 50;

/// A repository with a HOME of its own.
pub(crate) struct Site {
    folder: TempDir,
    shadows: Cell<usize>,
    worktrees: Cell<usize>,
}

/// What the figures were taken on.
pub(crate) fn machine() -> String {
    let cores = thread::available_parallelism().map_or(0, usize::from);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default().to_owned();
    format!("{cores} cores, load {load}")
}

/// Whether `program` is on PATH.
pub(crate) fn found(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

impl Site {
    /// `files` text files of about 4 kB in folders of 50, committed and packed.
    pub(crate) fn new(files: usize) -> Self {
        // Beside the build, whose disk clones where this one does.
        let target = Path::new(env!("CARGO_BIN_EXE_git-shadow"))
            .parent()
            .unwrap();
        let folder = env::var_os("BENCH_DIR").unwrap_or_else(|| target.into());
        Self::at(files, Path::new(&folder))
    }

    /// The same in a new folder in `folder`.
    pub(crate) fn at(files: usize, folder: &Path) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("shadow-bench-")
            .tempdir_in(folder)
            .unwrap();
        for name in ["home", "repo"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let config = "[user]\nname = x\nemail = x@example.com\n[gc]\nauto = 0\n\
                      [maintenance]\nauto = false\n[init]\ndefaultBranch = main\n";
        fs::write(folder.path().join("home/.gitconfig"), config).unwrap();
        let site = Site {
            folder,
            shadows: Cell::new(0),
            worktrees: Cell::new(0),
        };
        site.git(&["init", "-q", "."]);
        site.import(files);
        site.git(&["reset", "-q", "--hard"]);
        site
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    fn shadow(&self, number: usize) -> PathBuf {
        self.folder
            .path()
            .join(format!("home/.worktrees/repo/t{number}"))
    }

    fn worktree(&self, number: usize) -> PathBuf {
        self.folder.path().join(format!("plain/w{number}"))
    }

    fn import(&self, files: usize) {
        let mut child = self
            .command("git", &self.root())
            .args(["fast-import", "--quiet"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stream = BufWriter::new(child.stdin.take().unwrap());
        write!(
            stream,
            "commit refs/heads/main\ncommitter x <x@example.com> 1 +0000\ndata 4\nbase\n"
        )
        .unwrap();
        for number in 0..files {
            let line = format!("line of file {number}, which is like the others\n");
            let text = line.repeat(20 + number % 120);
            let folder = number / PER_FOLDER;
            write!(
                stream,
                "M 644 inline src/part{:03}/module{folder:05}/file{number:06}.txt\ndata {}\n{text}\n",
                folder / 20,
                text.len()
            )
            .unwrap();
        }
        drop(stream);
        assert!(child.wait().unwrap().success());
    }

    pub(crate) fn add_shadow(&self) {
        let number = next(&self.shadows);
        self.ours(&["add", "-q", &format!("t{number}")]);
    }

    pub(crate) fn add_worktree(&self) {
        let number = next(&self.worktrees);
        let path = self.worktree(number);
        let branch = format!("w{number}");
        self.git(&[
            "worktree",
            "add",
            "-q",
            "-b",
            &branch,
            path.to_str().unwrap(),
        ]);
    }

    /// Lets git write what it learns about entries as young as their index.
    pub(crate) fn settle(&self) {
        thread::sleep(std::time::Duration::from_millis(1100));
        for number in 0..self.shadows.get() {
            run(self.command("git", &self.shadow(number)).args([
                "update-index",
                "-q",
                "--refresh",
            ]));
        }
    }

    pub(crate) fn list(&self) {
        self.ours(&["list"]);
    }

    pub(crate) fn wt_list(&self) {
        run(self.command("wt", &self.root()).arg("list"));
    }

    pub(crate) fn status_in_each(&self) {
        for number in 0..self.shadows.get() {
            run(self
                .command("git", &self.shadow(number))
                .args(["status", "--porcelain"]));
        }
    }

    pub(crate) fn remove_shadow(&self) {
        let number = previous(&self.shadows);
        self.ours(&["remove", "-q", &format!("t{number}")]);
    }

    pub(crate) fn remove_worktree(&self) {
        let number = previous(&self.worktrees);
        let path = self.worktree(number);
        self.git(&["worktree", "remove", path.to_str().unwrap()]);
    }

    /// The time that 1 GB of node_modules costs an `add`, where the disk clones.
    pub(crate) fn clone_dependencies(&self) -> Option<f64> {
        fs::write(self.root().join(".git/info/exclude"), "node_modules\n").unwrap();
        let block = vec![b'x'; 1 << 20];
        for number in 0..1024 {
            let folder = self
                .root()
                .join(format!("node_modules/package{}", number / 8));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(format!("{number}.js")), &block).unwrap();
        }
        // What was only just written a clone has to wait for: nobody's dependencies are.
        rustix::fs::sync();
        let time = |options: &[&str], name: &str| {
            let start = Instant::now();
            self.ours(&[&["add", "-q", name], options].concat());
            start.elapsed().as_secs_f64()
        };
        let without = time(&["--no-deps"], "without");
        let with = time(&[], "with");
        let cloned = !self
            .folder
            .path()
            .join("home/.worktrees/repo/with/node_modules")
            .is_symlink();
        cloned.then_some((with - without).max(0.0))
    }

    fn ours(&self, arguments: &[&str]) {
        let program = env!("CARGO_BIN_EXE_git-shadow");
        run(self.command(program, &self.root()).args(arguments));
    }

    fn git(&self, arguments: &[&str]) {
        run(self.command("git", &self.root()).args(arguments));
    }

    fn command(&self, program: &str, folder: &Path) -> Command {
        let home = self.folder.path().join("home");
        let mut command = Command::new(program);
        command
            .current_dir(folder)
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", home.join(".config"))
            .env("XDG_STATE_HOME", home.join(".local/state"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdin(Stdio::null());
        command
    }
}

fn run(command: &mut Command) {
    let output = command.stdout(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
}

fn next(counter: &Cell<usize>) -> usize {
    let number = counter.get();
    counter.set(number + 1);
    number
}

fn previous(counter: &Cell<usize>) -> usize {
    counter.set(counter.get() - 1);
    counter.get()
}
