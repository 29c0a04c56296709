//! Exit codes, streams and closed pipes.

use std::io::pipe;

use crate::common::{Repo, bin_dir};

const SUBCOMMANDS: &[&str] = &[
    "save", "wrote", "list", "show", "status", "diff", "undo", "redo",
];

#[test]
fn wrong_usage_is_129() {
    let repo = Repo::with(&[("a", "0\n")]);
    for wrong in [
        "--no-such-option",
        "no-such-command",
        "save --before=lunch",
        "list -n many",
        "undo --others=maybe",
        "undo 1 --to 2",
        "diff",
    ] {
        let outcome = repo.git(&format!("checkpoint {wrong}")).fails(129);
        assert!(outcome.stdout.is_empty(), "{outcome:?}");
    }
    assert!(repo.checkpoints().is_empty());
}

#[test]
fn h_prints_the_usage_on_stdout_as_git_does() {
    let repo = Repo::new();
    for subcommand in SUBCOMMANDS {
        let outcome = repo.git(&format!("checkpoint {subcommand} -h")).fails(129);
        assert!(
            outcome
                .out()
                .contains(&format!("git checkpoint {subcommand}")),
            "{outcome:?}"
        );
    }
    repo.git("checkpoint -h").fails(129);
}

#[test]
fn help_and_version_need_no_repository() {
    let repo = Repo::outside();
    let program = bin_dir().join("git-checkpoint");
    let help = repo
        .sh_ours(&format!("'{}' --help", program.display()))
        .ok();
    for subcommand in SUBCOMMANDS {
        assert!(help.out().contains(subcommand), "{subcommand}: {help:?}");
    }
    let version = repo.git("checkpoint --version").ok();
    assert!(
        version.out().contains(env!("CARGO_PKG_VERSION")),
        "{version:?}"
    );
}

#[test]
fn an_error_is_fatal_and_has_no_stdout() {
    let outcome = Repo::outside().git("checkpoint list").fails(128);
    assert!(
        outcome.stdout.is_empty() && outcome.err().starts_with("fatal: "),
        "{outcome:?}"
    );
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let repo = Repo::with(&[("a", "0\n")]);
    for _ in 0..3 {
        repo.save("");
    }
    for command in ["list", "list --json", "save --json", "diff 1", "show 1"] {
        let words = ["checkpoint"].into_iter().chain(command.split(' '));
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let output = repo.command(words).stdout(writer).output().unwrap();
        assert!(output.stderr.is_empty(), "{command}: {output:?}");
        assert_ne!(output.status.code(), Some(101), "{command}: {output:?}");
        assert_ne!(output.status.code(), Some(128), "{command}: {output:?}");
    }
    // The checkpoint was made all the same.
    assert_eq!(repo.checkpoints().len(), 4);
}

#[test]
fn colour_follows_git() {
    let repo = Repo::with(&[("a", "0\n")]);
    repo.save("");
    let coloured = |repo: &Repo| repo.git("checkpoint list").ok().stdout.contains(&0x1b);
    repo.git("config color.ui always").ok();
    assert!(coloured(&repo));
    repo.git("config color.ui never").ok();
    assert!(!coloured(&repo));
    repo.git("config color.ui auto").ok();
    assert!(!coloured(&repo), "stdout is no terminal");
}
