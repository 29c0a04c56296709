//! A repository with a run of commits to rebuild, and the ways to do it.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use serde_json::Value;
use tempfile::TempDir;

const PER_FOLDER: usize = 50;

/// A bare repository `base.git` without the run, a journal of the run, and
/// `work.git`, in which it is rebuilt.
pub(crate) struct Run {
    folder: TempDir,
    commits: usize,
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
    format!(
        "{cores} cores, load {load}, {}",
        String::from_utf8_lossy(&git).trim()
    )
}

impl Run {
    /// `commits` commits of `changed` files each, on top of `files` files.
    pub(crate) fn new(files: usize, commits: usize, changed: usize) -> Self {
        let mut stream = base(files);
        for commit in 0..commits {
            head(&mut stream, commit);
            for change in 0..changed {
                let number = (commit * 7919 + change * 2503) % files;
                let text = format!("{}line of commit {commit}\n", text(number));
                inline(&mut stream, number, text.as_bytes());
            }
        }
        Self::of(&stream, commits)
    }

    /// One commit of new files that nobody can compress, about `bytes` as a patch.
    pub(crate) fn large(files: usize, bytes: usize) -> Self {
        let mut stream = base(files);
        let mut seed = 1;
        let each = 256 << 10;
        // Base85 and the journal's own form add a third.
        let count = bytes * 3 / 4 / each;
        for commit in 0..count {
            head(&mut stream, commit);
            let noise: Vec<u8> = (0..each).map(|_| (random(&mut seed) >> 33) as u8).collect();
            inline(&mut stream, files + commit, &noise);
        }
        Self::of(&stream, count)
    }

    fn of(stream: &[u8], commits: usize) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("replay-")
            .tempdir()
            .unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        let run = Run { folder, commits };
        run.git(
            "whole.git",
            &["init", "-q", "--bare", "-b", "run", "."],
            None,
        );
        run.git("whole.git", &["fast-import", "--quiet"], Some(stream));
        let base = format!("run~{commits}");
        run.git("whole.git", &["branch", "base", &base], None);
        let journal = run.journal().display().to_string();
        run.ours(
            "whole.git",
            &[
                "record",
                "base..run",
                "--no-prompt",
                "-q",
                "-o",
                &journal,
                "--max-size",
                "1000000000",
            ],
        );
        let stream = run.output(
            "whole.git",
            &["fast-export", "--reference-excluded-parents", "base..run"],
        );
        fs::write(run.path("stream"), stream).unwrap();
        run.git(
            "base.git",
            &["init", "-q", "--bare", "-b", "base", "."],
            None,
        );
        let from = run.path("whole.git");
        run.git(
            "base.git",
            &["fetch", "-q", from.to_str().unwrap(), "base:base"],
            None,
        );
        run.git("base.git", &["repack", "-q", "-a", "-d"], None);
        run.git("base.git", &["config", "gc.auto", "0"], None);
        run
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn journal(&self) -> PathBuf {
        self.path("run.json")
    }

    pub(crate) fn journal_size(&self) -> u64 {
        self.journal().metadata().unwrap().len()
    }

    /// Makes the patches of the journal such as another program writes them:
    /// readable, and without the ids of what they change.
    pub(crate) fn make_foreign(&self) {
        let journal = self.journal();
        fs::remove_file(&journal).unwrap();
        let path = journal.to_str().unwrap();
        let record = ["record", "base..run", "--no-prompt", "-q", "-o", path];
        self.ours(
            "whole.git",
            &[&record[..], &["--patches=text", "--max-size", "1000000000"]].concat(),
        );
        let text = fs::read_to_string(&journal).unwrap();
        let lines = text.split("\\n").filter(|line| !line.starts_with("index "));
        fs::write(journal, lines.collect::<Vec<_>>().join("\\n")).unwrap();
    }

    /// Makes `work.git` a fresh copy of `base.git`.
    pub(crate) fn renew(&self) {
        let (base, work) = (self.path("base.git"), self.path("work.git"));
        let _ = fs::remove_dir_all(&work);
        done(Command::new("cp").arg("-r").args([base, work]));
    }

    pub(crate) fn replay(&self) {
        let journal = self.journal();
        self.ours(
            "work.git",
            &[journal.to_str().unwrap(), "--branch", "made", "-q"],
        );
        self.check("made");
    }

    pub(crate) fn fast_import(&self) {
        let stream = File::open(self.path("stream")).unwrap();
        let mut command = self.command("git", "work.git");
        done(command.args(["fast-import", "--quiet"]).stdin(stream));
        self.check("run");
    }

    /// One `git apply --cached`, `write-tree` and `commit-tree` for each commit.
    pub(crate) fn recipe(&self) {
        let journal: Vec<Value> =
            serde_json::from_slice(&fs::read(self.journal()).unwrap()).unwrap();
        let entry = journal
            .iter()
            .find(|entry| entry["kind"] == "workspace-commits")
            .unwrap();
        let mut parent = entry["baseline"]["commit"].as_str().unwrap().to_owned();
        self.git("work.git", &["read-tree", &parent], None);
        for commit in entry["commits"].as_array().unwrap() {
            let patch = commit["patch"].as_str().unwrap().as_bytes();
            let apply = ["apply", "--cached", "--binary", "--whitespace=nowarn", "-"];
            self.git("work.git", &apply, Some(patch));
            let tree = text_of(&self.output("work.git", &["write-tree"]));
            let mut command = self.command("git", "work.git");
            for (who, name) in [("AUTHOR", "author"), ("COMMITTER", "committer")] {
                for (variable, field) in [("NAME", "name"), ("EMAIL", "email"), ("DATE", "date")] {
                    command.env(
                        format!("GIT_{who}_{variable}"),
                        commit[name][field].as_str().unwrap(),
                    );
                }
            }
            command.args(["commit-tree", &tree, "-p", &parent]);
            let message = commit["message"].as_str().unwrap();
            parent = text_of(&fed(&mut command, message.as_bytes()));
        }
        self.git(
            "work.git",
            &["update-ref", "refs/heads/made", &parent],
            None,
        );
        self.check("made");
    }

    /// The rebuilt branch is the recorded one, or the figures mean nothing.
    fn check(&self, branch: &str) {
        let id = |repository: &str, branch: &str| self.output(repository, &["rev-parse", branch]);
        assert_eq!(
            id("work.git", branch),
            id("whole.git", "run"),
            "{} commits",
            self.commits
        );
    }

    /// Copies the journal `count` times into a folder.
    pub(crate) fn journals(&self, count: usize) {
        let folder = self.path("fixtures");
        fs::create_dir(&folder).unwrap();
        for number in 0..count {
            fs::copy(self.journal(), folder.join(format!("{number:03}.json"))).unwrap();
        }
    }

    pub(crate) fn test(&self) {
        let folder = self.path("fixtures");
        self.ours(
            "work.git",
            &["test", "-q", "-j", "2", folder.to_str().unwrap()],
        );
    }

    /// The highest resident size of one replay in bytes; Linux only.
    pub(crate) fn peak(&self) -> Option<u64> {
        let mut child = self
            .command(env!("CARGO_BIN_EXE_git-replay"), "work.git")
            .arg(self.journal())
            .args(["-q", "--branch", "made"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let status = PathBuf::from(format!("/proc/{}/status", child.id()));
        let mut peak = None;
        while child.try_wait().unwrap().is_none() {
            let text = fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let size =
                line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
            peak = peak.max(size.map(|size| size << 10));
        }
        self.check("made");
        peak
    }

    fn command(&self, program: &str, repository: &str) -> Command {
        let folder = self.path(repository);
        fs::create_dir_all(&folder).unwrap();
        let mut command = Command::new(program);
        command
            .current_dir(folder)
            .env("HOME", self.path("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        command
    }

    fn git(&self, repository: &str, arguments: &[&str], input: Option<&[u8]>) {
        let mut command = self.command("git", repository);
        fed(command.args(arguments), input.unwrap_or_default());
    }

    fn output(&self, repository: &str, arguments: &[&str]) -> Vec<u8> {
        fed(self.command("git", repository).args(arguments), b"")
    }

    fn ours(&self, repository: &str, arguments: &[&str]) {
        let mut command = self.command(env!("CARGO_BIN_EXE_git-replay"), repository);
        done(command.args(arguments).stdout(Stdio::null()));
    }
}

fn base(files: usize) -> Vec<u8> {
    let mut stream = Vec::new();
    write!(
        stream,
        "commit refs/heads/run\ncommitter x <x@example.com> 1600000000 +0000\ndata 4\nbase\n"
    )
    .unwrap();
    for number in 0..files {
        inline(&mut stream, number, text(number).as_bytes());
    }
    stream
}

fn head(stream: &mut Vec<u8>, commit: usize) {
    let (message, time) = (format!("commit {commit}\n"), 1_700_000_000 + commit);
    write!(
        stream,
        "commit refs/heads/run\ncommitter x <x@example.com> {time} +0000\ndata {}\n{message}",
        message.len()
    )
    .unwrap();
}

fn inline(stream: &mut Vec<u8>, number: usize, content: &[u8]) {
    let folder = number / PER_FOLDER;
    let path = format!(
        "src/part{:03}/module{folder:05}/file{number:06}.txt",
        folder / 20
    );
    write!(stream, "M 644 inline {path}\ndata {}\n", content.len()).unwrap();
    stream.extend_from_slice(content);
    stream.push(b'\n');
}

/// Text of 0.2 to 20 kB, about 5 in the mean.
fn text(number: usize) -> String {
    let mut seed = number as u64 + 1;
    let mut text = String::new();
    for line in 0..4 + random(&mut seed) % 200 {
        let _ = writeln!(text, "{line} {:x} of file {number}", random(&mut seed));
    }
    text
}

fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

fn done(command: &mut Command) {
    let status = command.status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
}

fn fed(command: &mut Command, input: &[u8]) -> Vec<u8> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = child.stdin.take().unwrap();
    thread::scope(|scope| {
        scope.spawn(move || BufWriter::new(stdin).write_all(input));
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{command:?}: {output:?}");
        output.stdout
    })
}
