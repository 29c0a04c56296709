//! Whose change is it: what no agent is known to have made is asked about, kept
//! or reverted as the user says, and never lost.

use crate::common::{Repo, texts};

fn small() -> Repo {
    Repo::with(&[("a", "1\n"), ("b", "2\n"), ("c", "3\n")])
}

/// An agent edits `a`; meanwhile the developer does something else.
fn meanwhile(developer: fn(&Repo)) -> Repo {
    let repo = small();
    repo.agent_writes("a", "agent\n");
    repo.git("checkpoint wrote a").ok();
    developer(&repo);
    repo
}

fn edits_b(repo: &Repo) {
    repo.write("b", "developer\n");
}

/// Every way of dealing with `developer`'s change to `path`, which undo would revert.
#[track_caller]
fn is_asked_about(developer: fn(&Repo), path: &str) {
    // No terminal: no, and nothing has changed.
    let repo = meanwhile(developer);
    let before = (repo.disk(), repo.fingerprint());
    let refused = repo.git("checkpoint undo --to 1").fails(1);
    assert!(refused.err().contains("--others"), "{refused:?}");
    assert!(refused.err().contains(path), "{refused:?}");
    assert_eq!((repo.disk(), repo.fingerprint()), before);
    let told = repo.undo("--to 1").fails(1).json();
    assert_eq!(told["needs"], "others", "{told}");
    assert_eq!((repo.disk(), repo.fingerprint()), before);

    let kept = repo.duplicate();
    let told = kept.undo("--to 1 --others=keep").ok().json();
    assert!(texts(&told["kept"]).contains(&path), "{told}");
    let mut expected = before.0.clone();
    if path != "a" {
        expected.0.insert("a".into(), "- 1\\n".into());
    }
    assert_eq!(kept.disk(), expected);

    let reverted = repo.duplicate();
    reverted.git("checkpoint undo --to 1 -y").ok();
    reverted.git("status --porcelain").ok().prints("");
    reverted.git("checkpoint redo -y").ok();
    assert_eq!(reverted.disk(), before.0);

    let reverted = repo.duplicate();
    reverted.git("checkpoint undo --to 1 --others=revert").ok();
    reverted.git("status --porcelain").ok().prints("");
}

#[test]
fn a_file_the_developer_edited() {
    is_asked_about(edits_b, "b");
}

#[test]
fn a_file_the_developer_made() {
    is_asked_about(|r| r.write("made", "developer\n"), "made");
}

#[test]
fn a_file_the_developer_deleted() {
    is_asked_about(|r| r.remove("c"), "c");
}

#[test]
fn a_file_the_developer_edited_after_the_agent() {
    is_asked_about(|r| r.write("a", "agent and developer\n"), "a");
}

#[test]
fn a_file_the_developer_deleted_after_the_agent() {
    is_asked_about(|r| r.remove("a"), "a");
}

#[test]
fn a_file_the_developer_made_executable_after_the_agent() {
    is_asked_about(|r| r.chmod("b", 0o755), "b");
}

#[test]
fn the_agents_own_change_is_not_asked_about() {
    let repo = small();
    repo.agent_writes("a", "agent\n");
    repo.agent_writes("new", "agent\n");
    repo.git("checkpoint undo --to 1").ok();
    repo.git("status --porcelain").ok().prints("");
}

#[test]
fn the_agents_own_deletion_is_not_asked_about() {
    let repo = small();
    repo.announce("delete", "a");
    repo.remove("a");
    repo.git("checkpoint wrote a").ok();
    repo.git("checkpoint undo").ok();
    assert_eq!(repo.read("a"), "1\n");
}

#[test]
fn without_a_record_the_next_snapshot_counts() {
    let repo = small();
    repo.agent_writes("a", "agent\n");
    repo.agent_writes("b", "agent\n");
    repo.write("a", "developer, later\n");
    repo.git("checkpoint undo --to 1").fails(1);
    repo.git("checkpoint undo --to 1 --others=keep").ok();
    assert_eq!(
        (repo.read("a"), repo.read("b")),
        ("developer, later\n".into(), "2\n".into())
    );
}

#[test]
fn agent_only_is_keep() {
    let repo = meanwhile(edits_b);
    repo.git("checkpoint undo --to 1 --agent-only").ok();
    assert_eq!(
        (repo.read("a"), repo.read("b")),
        ("1\n".into(), "developer\n".into())
    );
}

#[test]
fn a_window_proves_what_a_command_changed() {
    let repo = small();
    repo.git("checkpoint save --before=command --tool bash")
        .ok()
        .prints("001");
    repo.write("a", "by the command\n");
    repo.write("made", "by the command\n");
    repo.git("checkpoint save --after 1").ok().prints("002");
    repo.write("b", "developer\n");
    repo.git("checkpoint undo --to 1").fails(1);
    let told = repo.undo("--to 1 --others=keep").ok().json();
    assert_eq!(texts(&told["written"]), ["a"]);
    assert_eq!(texts(&told["deleted"]), ["made"]);
    assert_eq!(texts(&told["kept"]), ["b"]);
}

#[test]
fn an_unclosed_window_proves_nothing() {
    let repo = small();
    repo.git("checkpoint save --before=command --tool bash")
        .ok();
    repo.write("a", "by whom?\n");
    repo.git("checkpoint undo --to 1").fails(1);
    assert_eq!(repo.read("a"), "by whom?\n");
}

/// Moves the time of checkpoint 1 by so many seconds.
fn begun(repo: &Repo, seconds: i64) {
    let name = "refs/harness/checkpoints/main/001";
    let commit = repo.run(["cat-file", "commit", name]).ok().out();
    let author = commit
        .lines()
        .find(|line| line.starts_with("author "))
        .unwrap();
    let stamp = author.rsplit(' ').nth(1).unwrap();
    let moved = stamp.parse::<i64>().unwrap() + seconds;
    let commit = commit.replace(author, &author.replace(stamp, &moved.to_string())) + "\n";
    let commit = repo
        .feed("hash-object -t commit -w --stdin", commit)
        .ok()
        .out();
    repo.run(["update-ref", name, &commit]).ok();
}

#[test]
fn a_window_longer_than_allowed_proves_nothing() {
    let repo = small();
    repo.git("checkpoint save --before=command --tool bash")
        .ok();
    begun(&repo, -20 * 60);
    repo.write("a", "by whom?\n");
    repo.git("checkpoint save --after 1").ok();
    repo.git("checkpoint undo --to 1").fails(1).says("20 min");
    assert_eq!(repo.read("a"), "by whom?\n");
    repo.git("-c checkpoint.window=1300 checkpoint undo --to 1")
        .ok();
    assert_eq!(repo.read("a"), "1\n");
}

#[test]
fn a_file_moved_by_a_command_was_not_made_by_it() {
    // No checkpoint has what is ignored: where it goes, the only copy goes.
    let moved = |seconds: i64| {
        let repo = small();
        repo.write(".gitignore", "private/\n");
        repo.commit_all("ignore");
        repo.write("private/mine", "the developer's own\n");
        repo.git("checkpoint save --before=command --tool bash")
            .ok();
        begun(&repo, seconds);
        repo.rename("private/mine", "moved");
        repo.git("checkpoint save --after 1").ok();
        repo
    };
    // The window began after the file was born: it was moved, and that is said.
    let repo = moved(2);
    let asked = repo
        .undo("--to 1")
        .fails(1)
        .says("moved here, not made")
        .json();
    assert_eq!(asked["needs"], "others");
    assert_eq!(texts(&asked["others"]), ["moved"]);
    assert_eq!(repo.read("moved"), "the developer's own\n");
    let told = repo.undo("--to 1 --agent-only").ok().json();
    assert_eq!(texts(&told["kept"]), ["moved"]);
    assert_eq!(repo.read("moved"), "the developer's own\n");
    // The same, born within the window: made by the command, and not asked about.
    let repo = moved(-2);
    let told = repo.undo("--to 1").ok().json();
    assert_eq!(texts(&told["deleted"]), ["moved"]);
}

#[test]
fn a_file_moved_from_where_it_was_captured_needs_no_question() {
    let repo = small();
    repo.write("mine", "the developer's own\n");
    repo.git("checkpoint save --before=command --tool bash")
        .ok();
    repo.rename("mine", "moved");
    repo.git("checkpoint save --after 1").ok();
    repo.git("checkpoint undo --to 1").ok();
    assert_eq!(repo.read("mine"), "the developer's own\n");
    assert!(!repo.exists("moved"));
}

#[test]
fn plain_saves_by_hand_ask_only_about_deletions() {
    let repo = small();
    repo.save("");
    repo.write("a", "edited by hand\n");
    repo.remove("b");
    repo.git("checkpoint undo").ok();
    repo.git("status --porcelain").ok().prints("");
    repo.write("made", "by hand\n");
    repo.git("checkpoint undo 1").fails(1).says("made");
    assert!(repo.exists("made"));
    repo.git("checkpoint undo 1 -y").ok();
    assert!(!repo.exists("made"));
}

/// More than half of all files, and at least 50.
fn about_to_delete_much() -> Repo {
    let repo = small();
    repo.save("");
    for number in 0..60 {
        repo.write(format!("many/{number}"), "x\n");
    }
    repo
}

#[test]
fn a_surprising_number_of_deletions_is_asked_even_with_yes() {
    let repo = about_to_delete_much();
    repo.git("checkpoint undo -y").fails(1);
    assert!(repo.exists("many/59"));
    repo.git("checkpoint undo --others=revert").ok();
    assert!(!repo.exists("many"));
}

#[test]
fn fifty_deletions_and_more_than_half_of_all_are_a_surprise() {
    // Files that stay, files that would go (staged, so that they are files of the
    // repository), and whether that is asked although the answer was given.
    for (stay, go, asked) in [
        (1, 49, false),
        (1, 50, true),
        (49, 50, true),
        (50, 50, false),
        (59, 60, true),
    ] {
        let repo = Repo::new();
        for number in 0..stay {
            repo.write(format!("stay/{number}"), "x\n");
        }
        repo.commit_all("base");
        repo.save("");
        for number in 0..go {
            repo.write(format!("go/{number}"), "x\n");
        }
        repo.git("add go").ok();
        let code = repo.git("checkpoint undo -y").code();
        assert_eq!(code, Some(i32::from(asked)), "{stay} stay, {go} go");
        assert_eq!(repo.exists("go"), asked, "{stay} stay, {go} go");
        assert!(repo.exists("stay"));
    }
}

#[test]
fn the_question_lists_twenty_and_counts_the_rest() {
    for (made, more) in [(20, None), (25, Some("and 5 more"))] {
        let repo = meanwhile(|_| {});
        for number in 10..10 + made {
            repo.write(format!("made{number}"), "developer\n");
        }
        let mut terminal = repo.on_terminal(&["checkpoint", "undo", "--to", "1"]);
        let shown = terminal.shows("> ");
        terminal.press("q");
        assert_eq!(terminal.ends().0, 1);
        let lines = shown.lines().filter(|line| line.contains("  made"));
        assert_eq!(lines.count(), 20, "{shown}");
        assert!(shown.contains("made29"), "{shown}");
        match more {
            Some(more) => assert!(shown.contains(more) && !shown.contains("made30"), "{shown}"),
            None => assert!(!shown.contains(" more"), "{shown}"),
        }
    }
}

#[test]
fn a_surprising_number_of_deletions_can_be_confirmed() {
    let repo = about_to_delete_much();
    for (answer, code) in [("n", 1), ("y", 0)] {
        let mut terminal = repo.on_terminal(&["checkpoint", "undo", "-y"]);
        terminal.shows("60");
        terminal.shows("[y/N]");
        terminal.press(answer);
        assert_eq!(terminal.ends().0, code);
        assert_eq!(repo.exists("many"), code == 1);
    }
}

#[test]
fn the_answer_revert() {
    let repo = meanwhile(edits_b);
    let mut terminal = repo.on_terminal(&["checkpoint", "undo", "--to", "1"]);
    terminal.choose("revert");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    repo.git("status --porcelain").ok().prints("");
}

#[test]
fn the_answer_keep() {
    let repo = meanwhile(edits_b);
    let mut terminal = repo.on_terminal(&["checkpoint", "undo", "--to", "1"]);
    terminal.choose("keep");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    assert_eq!(
        (repo.read("a"), repo.read("b")),
        ("1\n".into(), "developer\n".into())
    );
}

#[test]
fn the_answer_cancel() {
    let repo = meanwhile(edits_b);
    let before = (repo.disk(), repo.fingerprint());
    let mut terminal = repo.on_terminal(&["checkpoint", "undo", "--to", "1"]);
    terminal.choose("cancel");
    assert_eq!(terminal.ends().0, 1);
    assert_eq!((repo.disk(), repo.fingerprint()), before);
}

#[test]
fn leaving_the_question_changes_nothing() {
    for key in ["q", "\x1b", "\x03"] {
        let repo = meanwhile(edits_b);
        let before = repo.disk();
        let mut terminal = repo.on_terminal(&["checkpoint", "undo", "--to", "1"]);
        terminal.shows("> ");
        terminal.press(key);
        let code = terminal.ends().0;
        assert_ne!(code, 0, "{key:?}");
        assert_eq!(repo.disk(), before, "{key:?}");
    }
}

#[test]
fn the_question_names_the_files() {
    let repo = meanwhile(|r| {
        r.write("b", "developer\n");
        r.write("made", "developer\n");
        r.remove("c");
    });
    let mut terminal = repo.on_terminal(&["checkpoint", "undo", "--to", "1"]);
    let shown = terminal.shows("> ");
    for path in ["b", "made", "c"] {
        assert!(
            shown.lines().any(|line| line.trim_end().ends_with(path)),
            "{shown}"
        );
    }
    terminal.press("q");
    assert_eq!(terminal.ends().0, 1);
}

#[test]
fn no_lock_is_held_across_the_question_and_the_plan_is_made_again() {
    let repo = meanwhile(edits_b);
    let mut terminal = repo.on_terminal(&["checkpoint", "undo", "--to", "1"]);
    terminal.shows("> ");
    // Somebody else saves, and edits, while the question stands.
    repo.git("checkpoint save").ok();
    repo.write("c", "edited while the question stood\n");
    terminal.choose_after_first("revert");
    // The plan grew: it is asked again.
    terminal.shows("> ");
    terminal.press("q");
    assert_eq!(terminal.ends().0, 1);
    assert_eq!(repo.read("c"), "edited while the question stood\n");
}

#[test]
fn gits_own_way_to_forbid_questions_counts() {
    let repo = meanwhile(edits_b);
    let quiet = repo.env("GIT_TERMINAL_PROMPT", "0");
    let terminal = quiet.on_terminal(&["checkpoint", "undo", "--to", "1"]);
    assert_eq!(terminal.ends().0, 1);
    assert_eq!(repo.read("b"), "developer\n");
}

#[test]
fn redo_asks_too() {
    let repo = meanwhile(|_| {});
    repo.git("checkpoint undo").ok();
    repo.write("b", "developer\n");
    repo.git("checkpoint redo").fails(1);
    repo.git("checkpoint redo --others=keep").ok();
    assert_eq!(
        (repo.read("a"), repo.read("b")),
        ("agent\n".into(), "developer\n".into())
    );
}

#[test]
fn what_is_kept_is_not_lost_by_the_next_undo() {
    let repo = meanwhile(edits_b);
    repo.git("checkpoint undo --to 1 --others=keep").ok();
    repo.git("checkpoint undo --to 1").fails(1);
    assert_eq!(repo.read("b"), "developer\n");
}

#[test]
fn wrote_from_a_sub_folder_names_the_path_from_there() {
    let repo = Repo::with(&[("dir/a", "1\n"), ("a", "1\n")]);
    repo.agent_writes("dir/a", "agent\n");
    repo.in_dir("dir").git("checkpoint wrote a").ok();
    repo.git("checkpoint undo").ok();
    assert_eq!(repo.read("dir/a"), "1\n");
}

#[test]
fn wrote_without_a_path_is_wrong_usage() {
    small().git("checkpoint wrote").fails(129);
}

/// Rules that cannot be read are no rules: what was ignored is not deleted for that.
#[test]
fn rules_that_cannot_be_read_delete_nothing() {
    for breaks in [
        "rm .gitignore && ln -s .gitignore .gitignore",
        "rm .gitignore && mkdir .gitignore && touch .gitignore/file",
        "rm .gitignore",
        "chmod 0 .gitignore",
    ] {
        let repo = Repo::with(&[("a", "1\n"), (".gitignore", "/secret\n/cache/\n")]);
        repo.write("secret", "s\n");
        repo.write("cache/file", "c\n");
        repo.save("");
        let Some(repo) = repo.for_whom_modes_count() else {
            return;
        };
        repo.agent_writes("a", "2\n");
        repo.sh(breaks).ok();
        for others in ["revert", "keep"] {
            repo.undo(&format!("--to 1 --others={others}"));
            assert_eq!(repo.read("a"), "1\n", "{breaks}");
            assert_eq!(repo.read("secret"), "s\n", "{breaks}");
            assert_eq!(repo.read("cache/file"), "c\n", "{breaks}");
        }
    }
}
