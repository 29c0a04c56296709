//! A repository to measure in, and the commands that are measured.

use std::cell::Cell;
use std::fmt::Write as _;
use std::fs::{self, File, FileTimes};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, thread};

use tempfile::TempDir;

const PER_FOLDER: usize = 50;

/// A repository with a HOME of its own.
pub(crate) struct Place {
    folder: TempDir,
    files: usize,
    edits: Cell<usize>,
}

/// What the figures were taken on.
pub(crate) fn machine() -> String {
    let cores = thread::available_parallelism().map_or(0, usize::from);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default().to_owned();
    let git = Command::new("git")
        .arg("--version")
        .output()
        .unwrap()
        .stdout;
    let git = String::from_utf8_lossy(&git).trim().to_owned();
    format!("{cores} cores, load {load}, {git}")
}

impl Place {
    /// `files` text files of 0.2 to 20 kB (mean about 5) in folders of 50, committed and packed.
    pub(crate) fn new(files: usize) -> Self {
        let place = Self::empty(files);
        place.git(&["init", "-q", "."]);
        place.import(files);
        place.git(&["reset", "-q", "--hard"]);
        fs::write(place.list(), place.output(&["ls-files", "-z"])).unwrap();
        // git compares seconds: an index of the same second as its files makes every one
        // of them racy, and each 'git add' reads them all.
        std::thread::sleep(std::time::Duration::from_millis(1100));
        place.git(&["status", "--porcelain"]);
        place
    }

    /// 1,000 files, cloned from an origin beside it that can grow.
    pub(crate) fn cloned() -> Self {
        let origin = Self::new(1_000);
        let place = Self::empty(1_000);
        fs::remove_dir(place.root()).unwrap();
        let there = place.folder.path().join("origin");
        fs::rename(origin.root(), &there).unwrap();
        let url = format!("file://{}", there.display());
        let mut clone = place.command("git", place.folder.path());
        run(clone.args(["clone", "-q", &url, "repo"]));
        place
    }

    fn empty(files: usize) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("compare-")
            .tempdir()
            .unwrap();
        for name in ["home", "repo"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let config = "[user]\nname = x\nemail = x@example.com\n[gc]\nauto = 0\n[maintenance]\nauto = false\n\
                      [init]\ndefaultBranch = main\n";
        fs::write(folder.path().join("home/.gitconfig"), config).unwrap();
        Place {
            folder,
            files,
            edits: Cell::new(0),
        }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    fn list(&self) -> PathBuf {
        self.folder.path().join("list")
    }

    fn name(number: usize) -> String {
        let folder = number / PER_FOLDER;
        format!(
            "src/part{:03}/module{folder:05}/file{number:06}.txt",
            folder / 20
        )
    }

    /// One commit, through fast-import: a pack, no loose objects.
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
            let text = text(number);
            write!(
                stream,
                "M 644 inline {}\ndata {}\n{text}\n",
                Self::name(number),
                text.len()
            )
            .unwrap();
        }
        drop(stream);
        assert!(child.wait().unwrap().success());
    }

    /// 10 files modified anew, 5 untracked ones written anew.
    pub(crate) fn edit_some(&self) {
        self.edit(10);
        let edit = self.edits.get();
        for number in 0..5 {
            fs::write(
                self.root().join(format!("untracked{number}")),
                format!("{edit} {number}\n"),
            )
            .unwrap();
        }
    }

    /// `count` files, spread over the tree, modified anew.
    pub(crate) fn edit(&self, count: usize) {
        let edit = self.edits.get() + 1;
        self.edits.set(edit);
        for number in 0..count {
            let number = number * self.files / count;
            let content = format!("{}edit {edit} of {number}\n", text(number));
            fs::write(self.root().join(Self::name(number)), content).unwrap();
        }
    }

    /// One more commit in the origin of a clone.
    pub(crate) fn grow_origin(&self) {
        let origin = self.folder.path().join("origin");
        let mut commit = self.command("git", &origin);
        run(commit.args(["commit", "-q", "--allow-empty", "-m", "more"]));
    }

    pub(crate) fn save(&self) {
        self.ours(&["save", "-q"]);
    }

    /// `git checkpoint <arguments>`.
    pub(crate) fn ours(&self, arguments: &[&str]) {
        run(self
            .command(env!("CARGO_BIN_EXE_git-checkpoint"), &self.root())
            .args(arguments));
    }

    /// Makes the lane `count` checkpoints long: the newest one again and again, under
    /// numbers of its own.
    pub(crate) fn lengthen_lane(&self, count: usize) {
        let text = |arguments: &[&str]| String::from_utf8(self.output(arguments)).unwrap();
        let newest = text(&[
            "for-each-ref",
            "--format=%(refname)",
            "refs/harness/checkpoints",
        ]);
        let newest = newest.lines().last().unwrap();
        let tree = text(&["rev-parse", &format!("{newest}^{{tree}}")]);
        let message = text(&["log", "-1", "--format=%B", newest]);
        let first: usize = newest.rsplit('/').next().unwrap().parse().unwrap();
        let mut child = self
            .command("git", &self.root())
            .args(["fast-import", "--quiet"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stream = BufWriter::new(child.stdin.take().unwrap());
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs();
        let old = format!("Harness-Number: {first}\n");
        for number in first + 1..=count {
            let message = message.replace(&old, &format!("Harness-Number: {number}\n"));
            write!(
                stream,
                "commit refs/harness/checkpoints/main/{number:03}\n\
                 author x <x@example.com> {now} +0000\ncommitter x <x@example.com> 1 +0000\n\
                 data {}\n{message}\nM 040000 {} \n\n",
                message.len(),
                tree.trim()
            )
            .unwrap();
        }
        drop(stream);
        assert!(child.wait().unwrap().success());
        let counter = self.root().join(".git/harness/lanes/main");
        let line = fs::read_to_string(&counter).unwrap();
        let (head, _) = line.trim().rsplit_once(' ').unwrap();
        fs::write(counter, format!("{head} {count}\n")).unwrap();
    }

    /// The known way: copy the index, `add -A`, `write-tree`, `commit-tree`, `update-ref`.
    pub(crate) fn five_commands(&self) {
        let root = self.root();
        let (index, copy) = (root.join(".git/index"), root.join(".git/copy"));
        fs::copy(&index, &copy).unwrap();
        let modified = index.metadata().unwrap().modified().unwrap();
        let times = FileTimes::new().set_modified(modified);
        File::options()
            .write(true)
            .open(&copy)
            .unwrap()
            .set_times(times)
            .unwrap();
        let with_copy = |arguments: &[&str]| {
            let mut command = self.command("git", &root);
            command.env("GIT_INDEX_FILE", &copy).args(arguments);
            let output = command.output().unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        with_copy(&["add", "-A"]);
        let tree = with_copy(&["write-tree"]);
        let commit = with_copy(&["commit-tree", "-m", "snapshot", &tree]);
        with_copy(&["update-ref", "refs/five/commands", &commit]);
    }

    pub(crate) fn floor(&self) {
        let program = env::current_exe().unwrap();
        run(self
            .command(program.to_str().unwrap(), &self.root())
            .env("COMPARE_FLOOR", self.list()));
    }

    pub(crate) fn git(&self, arguments: &[&str]) {
        run(self.command("git", &self.root()).args(arguments));
    }

    fn output(&self, arguments: &[&str]) -> Vec<u8> {
        self.command("git", &self.root())
            .args(arguments)
            .output()
            .unwrap()
            .stdout
    }

    /// The highest resident size of one save in KiB, read while it runs; Linux only.
    pub(crate) fn peak_of_save(&self) -> Option<u64> {
        let mut child = self
            .command(env!("CARGO_BIN_EXE_git-checkpoint"), &self.root())
            .args(["save", "-q"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let status = format!("/proc/{}/status", child.id());
        let mut peak = None;
        while child.try_wait().unwrap().is_none() {
            let text = fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let now = line.and_then(|value| value.trim().strip_suffix(" kB")?.parse().ok());
            peak = peak.max(now);
            thread::sleep(Duration::from_micros(200));
        }
        peak
    }

    fn command(&self, program: &str, folder: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(folder)
            .env_clear()
            .env("PATH", env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path().join("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
        command
    }
}

fn run(command: &mut Command) {
    let status = command.stdout(Stdio::null()).status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
}

/// Lines that look like source: no two files equal, sizes between 0.2 and 20 kB.
fn text(number: usize) -> String {
    let mut state = number as u32 ^ 0x9e37_79b9;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    let (a, b) = (next() % 140, next() % 140);
    let lines = 4 + a * b / 45;
    let mut text = String::new();
    for line in 0..lines {
        writeln!(
            text,
            "    let value{line} = compute({}, {});",
            next() % 1000,
            next() % 1000
        )
        .unwrap();
    }
    text
}
