//! Whose call it is. git has a builtin `replay` since 2.44; where its exec
//! path comes first, its name is ours as well.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::cli::Exit;
use crate::error::{Context, Result};
use crate::git::command::Child;
use crate::ui::Ui;

/// Our subcommands.
pub(super) const SUBCOMMANDS: &[&str] =
    &["run", "record", "test", "show", "diff", "bisect", "convert"];

/// What only the builtin has.
const OF_BUILTIN: &[&str] = &[
    "--onto",
    "--advance",
    "--contained",
    "--ref-action",
    "--revert",
];

/// What to do with a command line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// It is ours, with these arguments after the program's name.
    Ours(Vec<OsString>),
    /// It is meant for git's own program.
    Builtin(Vec<OsString>),
}

/// Decides by the `arguments` after the program's name.
pub(super) fn decide(arguments: Vec<OsString>) -> Call {
    let Some(first) = arguments.first() else {
        return Call::Ours(arguments);
    };
    if SUBCOMMANDS.iter().any(|name| first == name) {
        return Call::Ours(arguments);
    }
    let is_journal = first == "-" || exists(first);
    if !is_journal && arguments.iter().any(|argument| is_of_builtin(argument)) {
        return Call::Builtin(arguments);
    }
    if matches!(first.to_str(), Some("-h" | "--help" | "-V" | "--version")) {
        return Call::Ours(arguments);
    }
    // A word that looks like no file is a mistyped command, and clap knows which.
    let looks_like_file = first
        .to_str()
        .is_none_or(|word| word.contains(['.', '/', '#', '-']));
    if !is_journal && !looks_like_file {
        return Call::Ours(arguments);
    }
    let run = std::iter::once(OsString::from("run"));
    Call::Ours(run.chain(arguments).collect())
}

/// A file, or a storage folder with the name of a log.
fn exists(argument: &OsStr) -> bool {
    let path = Path::new(argument);
    path.exists()
        || argument
            .to_str()
            .and_then(|text| text.rsplit_once('#'))
            .is_some_and(|(folder, _)| Path::new(folder).exists())
}

fn is_of_builtin(argument: &OsStr) -> bool {
    let bytes = argument.as_encoded_bytes();
    OF_BUILTIN.iter().any(|option| {
        bytes
            .strip_prefix(option.as_bytes())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"="))
    })
}

/// Runs git's own program with `arguments`.
pub(super) fn hand_over(arguments: &[OsString], ui: &mut Ui) -> Result<Exit> {
    let line = Child::git().arg("--exec-path").stdout()?;
    let folder = String::from_utf8(line).context("git's exec path is not UTF-8")?;
    let program = PathBuf::from(folder.trim_end_matches('\n')).join("git-replay");
    // Never through `git replay`: an older git would find us again.
    if !program.is_file() || is_us(&program) {
        ui.say("fatal: these are options of git's own 'replay', which this git does not have");
        return Ok(Exit::USAGE);
    }
    let status = Child::as_called(&program).args(arguments).status()?;
    Ok(Exit::of(status))
}

fn is_us(program: &Path) -> bool {
    let me = std::env::current_exe().and_then(|path| path.canonicalize());
    matches!((me, program.canonicalize()), (Ok(me), Ok(other)) if me == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, ours: Option<&str>) {
        let arguments = line.split_whitespace().map(OsString::from).collect();
        let wanted = ours.map(|line| line.split_whitespace().map(OsString::from).collect());
        let call = decide(arguments);
        match wanted {
            Some(arguments) => assert_eq!(call, Call::Ours(arguments), "{line}"),
            None => assert!(matches!(call, Call::Builtin(_)), "{line}"),
        }
    }

    #[test]
    fn what_only_the_builtin_has_goes_to_it() {
        check("", Some(""));
        check("-h", Some("-h"));
        check("record a..b", Some("record a..b"));
        check("Cargo.toml --onto x", Some("run Cargo.toml --onto x"));
        check("- --onto x", Some("run - --onto x"));
        check("recrod a..b", Some("recrod a..b"));
        check("missing.json", Some("run missing.json"));
        check("--check missing.json", Some("run --check missing.json"));
        check("--onto main a..b", None);
        check("--onto=main a..b", None);
        check("--ontology a..b", Some("run --ontology a..b"));
        check("--contained --advance=x a..b", None);
    }
}
