//! The world around a test repository: HOME, configuration, environment.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A folder of its own with `home`, `tmp`, and the repository.
pub(crate) struct Scene {
    folder: TempDir,
    /// The same without links, as git and we print it.
    path: PathBuf,
}

/// Where the programs under test are.
pub(crate) fn bin_dir() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_git-checkpoint"))
        .parent()
        .unwrap()
}

/// Whether the suite runs under the configuration that gets in the way.
pub(crate) fn hostile() -> bool {
    env::var_os("HARNESS_TEST_HOSTILE").is_some_and(|value| value == "1")
}

impl Scene {
    pub(super) fn new() -> Self {
        let scene = Self::empty();
        for folder in ["home", "tmp"] {
            fs::create_dir(scene.path.join(folder)).unwrap();
        }
        let home = scene.path.join("home");
        if hostile() {
            fs::write(
                home.join("plain.gitconfig"),
                format!("{PLAIN}{HOSTILE_TO_ALL}"),
            )
            .unwrap();
            scene.get_in_the_way(&home);
        } else {
            fs::write(home.join(".gitconfig"), PLAIN).unwrap();
        }
        scene
    }

    /// A folder with nothing in it yet.
    pub(super) fn empty() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("harness-")
            .tempdir()
            .unwrap();
        let path = folder.path().canonicalize().unwrap();
        Scene { folder, path }
    }

    pub(super) fn path(&self) -> &Path {
        debug_assert!(self.folder.path().exists());
        &self.path
    }

    /// The configuration that our programs read, and the programs it names.
    fn get_in_the_way(&self, home: &Path) {
        let hooks = home.join("hooks");
        fs::create_dir(&hooks).unwrap();
        for hook in HOOKS {
            write_script(
                &hooks.join(hook),
                &format!("echo {hook} >>'{}'\nexit 1", home.join("fired").display()),
            );
        }
        let refuse = home.join("refuse");
        write_script(
            &refuse,
            &format!("echo \"$@\" >>'{}'\nexit 1", home.join("fired").display()),
        );
        let refuse = refuse.display();
        let common = format!(
            "{HOSTILE}\
             [diff]\n external = {refuse}\n\
             [core]\n pager = {refuse}\n editor = {refuse}\n\
             [pager]\n status = {refuse}\n diff = {refuse}\n\
             [include]\n path = {}\n",
            home.join("plain.gitconfig").display()
        );
        let signing = format!(
            "[commit]\n gpgSign = true\n[tag]\n gpgSign = true\n[gpg]\n program = {refuse}\n\
             [core]\n hooksPath = {}\n",
            hooks.display()
        );
        // What the test itself configured comes last and wins.
        fs::write(home.join(".gitconfig"), format!("{signing}{common}")).unwrap();
        fs::write(home.join("shadow.gitconfig"), common).unwrap();
    }

    /// Gives `command` the whole environment it may have. `ours`: it runs a
    /// program of ours, so that a hostile environment is meant for it.
    pub(super) fn environment(&self, command: &mut Command, ours: bool) {
        let home = self.path.join("home");
        let mut path = bin_dir().as_os_str().to_owned();
        path.push(":");
        path.push(env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into()));
        command
            .env_clear()
            .env("PATH", path)
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", home.join(".config"))
            .env("XDG_STATE_HOME", home.join(".local/state"))
            .env("XDG_CACHE_HOME", home.join(".cache"))
            .env("TMPDIR", self.path.join("tmp"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CEILING_DIRECTORIES", &self.path)
            .env("LC_ALL", "C")
            .env("TZ", "UTC")
            .env("TERM", "dumb");
        if !hostile() {
            return;
        }
        if ours {
            let refuse = home.join("refuse");
            command
                .env("LC_ALL", "de_DE.UTF-8")
                .env("LANGUAGE", "de:fr")
                .env("GIT_EXTERNAL_DIFF", &refuse)
                .env("GIT_DIFF_OPTS", "--unified=0")
                .env("GIT_PAGER", &refuse)
                .env("PAGER", &refuse)
                .env("GIT_EDITOR", &refuse)
                .env("GIT_SEQUENCE_EDITOR", &refuse)
                .env("GIT_COMMITTER_DATE", "1999-12-31T23:59:59Z")
                .env("GIT_REFLOG_ACTION", "hostile");
        } else {
            command.env("GIT_CONFIG_GLOBAL", home.join("plain.gitconfig"));
        }
    }

    /// `git shadow` makes normal commits and runs the user's hooks on purpose:
    /// hooks and signing that fail would be right to stop it.
    pub(super) fn spare_signing(&self, command: &mut Command) {
        if hostile() {
            command.env("GIT_CONFIG_GLOBAL", self.path.join("home/shadow.gitconfig"));
        }
    }

    /// The hooks, signing, pagers and editors that were run although they must not.
    pub(super) fn fired(&self) -> String {
        fs::read_to_string(self.path.join("home/fired")).unwrap_or_default()
    }
}

/// Whether these arguments of git run one of our programs.
pub(super) fn is_ours(arguments: &[OsString]) -> bool {
    subcommand(arguments).is_some_and(|name| {
        ["checkpoint", "shadow", "replay", "trajectory"]
            .iter()
            .any(|ours| name == *ours)
    })
}

pub(super) fn is_shadow(arguments: &[OsString]) -> bool {
    subcommand(arguments).is_some_and(|name| name == "shadow")
}

/// The first argument that is neither an option of git's nor the value of one.
fn subcommand(arguments: &[OsString]) -> Option<&OsStr> {
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("-C" | "-c" | "--git-dir" | "--work-tree") => {
                arguments.next();
            }
            Some(option) if option.starts_with('-') => {}
            _ => return Some(argument),
        }
    }
    None
}

pub(super) fn write_script(path: &Path, body: &str) {
    fs::write(path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// What every repository has: an identity, and nothing that differs between machines.
const PLAIN: &str = "\
[user]
 name = A U Thor
 email = author@example.com
[init]
 defaultBranch = main
[gc]
 auto = 0
[maintenance]
 auto = false
[protocol \"file\"]
 allow = always
";

/// What a hostile configuration has for git's own commands, too.
const HOSTILE_TO_ALL: &str = "\
[index]
 version = 4
 threads = 2
[core]
 untrackedCache = true
 logAllRefUpdates = always
 quotePath = false
";

/// What only our programs meet.
const HOSTILE: &str = "\
[diff]
 noprefix = true
 mnemonicPrefix = true
 renames = copies
 ignoreSubmodules = all
 context = 0
 algorithm = histogram
 submodule = log
 wordRegex = .
[status]
 showUntrackedFiles = no
 short = true
 relativePaths = true
[color]
 ui = always
[core]
 abbrev = 4
 safecrlf = true
 whitespace = cr-at-eol
 commentChar = \"*\"
[log]
 date = relative
 showSignature = true
 follow = true
[format]
 pretty = fuller
[apply]
 whitespace = error
 ignoreWhitespace = change
[grep]
 lineNumber = true
[column]
 ui = always
[user]
 useConfigOnly = true
[push]
 default = nothing
[commit]
 verbose = true
 cleanup = verbatim
 template = /nonexistent
[merge]
 conflictStyle = zdiff3
 ff = false
[rerere]
 enabled = true
";

const HOOKS: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-rewrite",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "prepare-commit-msg",
    "reference-transaction",
];
