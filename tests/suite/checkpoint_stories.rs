//! Ten days in which an agent and a person work in one tree, and what an undo
//! does to the work of each.

use crate::common::Repo;
use crate::common::texts;

fn project() -> Repo {
    Repo::with(&[
        ("app.py", "app 0\n"),
        ("lib/amounts.py", "amounts 0\n"),
        ("lib/rates.py", "rates 0\n"),
        ("notes", "notes 0\n"),
    ])
}

/// A command of the agent's, with the checkpoints that its hook takes.
fn command(repo: &Repo, script: &str) {
    let before = repo.save("--before=command --tool bash");
    repo.sh(script).ok();
    repo.git(&format!("checkpoint save -q --after {}", before["number"]))
        .ok();
}

#[test]
fn a_person_edits_the_file_that_the_agent_wrote() {
    let repo = project();
    repo.agent_writes("app.py", "app by the agent\n");
    repo.agent_writes("notes", "notes by the agent\n");
    repo.append("app.py", "and a line of mine\n");
    let asked = repo.undo("--to 1").fails(1).json();
    assert_eq!(asked["needs"], "others");
    assert_eq!(texts(&asked["others"]), ["app.py"]);
    let told = repo.undo("--to 1 --others=keep").ok().json();
    assert_eq!(texts(&told["kept"]), ["app.py"]);
    assert_eq!(
        repo.read("app.py"),
        "app by the agent\nand a line of mine\n"
    );
    assert_eq!(repo.read("notes"), "notes 0\n");
}

#[test]
fn a_person_edits_between_two_writes_of_the_agent() {
    let repo = project();
    repo.agent_writes("app.py", "first\n");
    repo.git("checkpoint wrote app.py").ok();
    repo.append("app.py", "mine\n");
    repo.agent_writes("app.py", "first\nmine\nsecond\n");
    // The last bytes are the agent's, but on the way a person's line came in.
    let asked = repo.undo("--to 1").fails(1).json();
    assert_eq!(texts(&asked["others"]), ["app.py"]);
    // Only the agent's last write is its own.
    repo.git("checkpoint undo").ok();
    assert_eq!(repo.read("app.py"), "first\nmine\n");
}

#[test]
fn the_agent_renames_a_persons_file() {
    let repo = project();
    repo.write("draft", "a draft of mine\n");
    command(&repo, "mv draft final");
    repo.undo("--to 1").ok();
    assert_eq!(repo.read("draft"), "a draft of mine\n");
    assert!(!repo.exists("final"));
}

#[test]
fn the_agent_moves_in_what_no_checkpoint_has() {
    let repo = project();
    repo.write(".gitignore", "private/\n");
    repo.write("private/data", "the only copy\n");
    // Born in another second than the checkpoint that follows.
    repo.sh("touch private/data; until [ $(stat -c %W private/data) -lt $(date +%s) ]; do :; done")
        .ok();
    command(&repo, "mv private/data data");
    // It looks as if the command had made it; deleting it would delete the only copy.
    let asked = repo.undo("--to 1").fails(1).json();
    assert_eq!(texts(&asked["others"]), ["data"]);
    assert_eq!(repo.read("data"), "the only copy\n");
}

#[test]
fn a_formatter_that_the_agent_runs() {
    let repo = project();
    repo.write("notes", "notes in progress\n");
    command(
        &repo,
        "for f in app.py lib/*.py; do sed -i 's/ /  /' \"$f\"; done",
    );
    let told = repo.undo("--to 1").ok().json();
    assert_eq!(
        texts(&told["written"]),
        ["app.py", "lib/amounts.py", "lib/rates.py"]
    );
    assert_eq!(repo.read("app.py"), "app 0\n");
    assert_eq!(repo.read("notes"), "notes in progress\n");
}

#[test]
fn the_agent_switches_the_branch() {
    let repo = project();
    repo.git("branch other").ok();
    repo.git("commit -q --allow-empty -m 'on main'").ok();
    let main = repo.oid("main");
    command(&repo, "git switch -q other && echo there > app.py");
    repo.git("checkpoint undo --to 1")
        .fails(1)
        .says("--no-head");
    assert_eq!(repo.read("app.py"), "there\n");
    repo.git("checkpoint undo --to 1 --head").ok();
    assert_eq!(repo.git("symbolic-ref HEAD").ok().out(), "refs/heads/main");
    assert_eq!(repo.oid("HEAD"), main);
    assert_eq!(repo.read("app.py"), "app 0\n");
    repo.git("checkpoint redo").ok();
    assert_eq!(repo.git("symbolic-ref HEAD").ok().out(), "refs/heads/other");
    assert_eq!(repo.read("app.py"), "there\n");
    repo.fsck();
}

#[test]
fn the_agent_commits() {
    let repo = project();
    let base = repo.oid("HEAD");
    repo.write("notes", "staged by me\n");
    repo.git("add notes").ok();
    let status = repo.git("status --porcelain=v2").ok().out();
    command(
        &repo,
        "echo 1 > app.py && git commit -q -a -m 'by the agent'",
    );
    let theirs = repo.oid("HEAD");
    // Files only, and the hint that says how to go further.
    repo.git("checkpoint undo --to 1 -n").ok().says("--head");
    repo.git("checkpoint undo --to 1 --head").ok();
    assert_eq!(repo.oid("HEAD"), base);
    assert_eq!(repo.git("status --porcelain=v2").ok().out(), status);
    // The commit is kept by the checkpoint of the state before.
    repo.git("reflog expire --expire=now --all").ok();
    repo.git("gc -q --prune=now").ok();
    repo.git("checkpoint redo").ok();
    assert_eq!(repo.oid("HEAD"), theirs);
    repo.fsck();
}

#[test]
fn a_person_deletes_a_file() {
    let repo = project();
    repo.agent_writes("app.py", "app 1\n");
    repo.remove("notes");
    repo.agent_writes("lib/rates.py", "rates 1\n");
    let asked = repo.undo("--to 1").fails(1).json();
    assert_eq!(texts(&asked["others"]), ["notes"]);
    repo.undo("--to 1 --agent-only").ok();
    assert!(!repo.exists("notes"), "what was deleted stays so");
    assert_eq!(repo.read("app.py"), "app 0\n");
}

#[test]
fn two_agents_in_one_worktree() {
    let repo = project();
    let write = |session: &str, path: &str, content: &str| {
        repo.git(&format!(
            "checkpoint save -q --tool edit --path {path} --session {session}"
        ))
        .ok();
        repo.write(path, content);
        repo.git(&format!("checkpoint wrote --session {session} {path}"))
            .ok();
    };
    write("one", "app.py", "app by one\n");
    write("two", "lib/rates.py", "rates by two\n");
    write("one", "notes", "notes by one\n");
    write("two", "notes", "notes by two\n");
    let told = repo.undo("--to 1 --session one").ok().json();
    assert_eq!(texts(&told["written"]), ["app.py"]);
    assert_eq!(texts(&told["kept"]), ["lib/rates.py", "notes"]);
    assert_eq!(repo.read("app.py"), "app 0\n");
    assert_eq!(repo.read("notes"), "notes by two\n");
}

#[test]
fn two_agents_at_once_at_one_file() {
    for (who, reverted) in [("one", true), ("two", false)] {
        let repo = project();
        for session in ["one", "two"] {
            let save = format!("checkpoint save -q --tool edit --path notes --session {session}");
            repo.git(&save).ok();
        }
        repo.write("notes", "by whoever wrote\n");
        repo.git(&format!("checkpoint wrote --session {who} notes"))
            .ok();
        // The call of the other one is still under way, or was refused.
        repo.undo("--to 1 --session one");
        assert_eq!(repo.read("notes") != "by whoever wrote\n", reverted);
        // The state before the undo has what was said.
        let shown = repo.git("checkpoint show 3").ok().out();
        let said = format!(" notes (session {who})");
        let wrote = |line: &str| line.starts_with("Wrote:") && line.ends_with(&said);
        assert!(shown.lines().any(wrote), "{shown}");
    }
}

#[test]
fn an_undo_in_a_sub_folder() {
    let repo = project();
    command(&repo, "rm -r lib; echo 1 > app.py");
    repo.mkdir("lib");
    let told = repo.in_dir("lib").git("checkpoint undo --to 1").ok().out();
    assert!(
        told.contains("app.py, lib/amounts.py, lib/rates.py"),
        "{told}"
    );
    assert_eq!(repo.read("lib/rates.py"), "rates 0\n");
    // A folder that the caller stands in stays, even when nothing is left in it.
    command(&repo, "mkdir work; echo w > work/file");
    let newest = repo.checkpoints().len() - 1;
    repo.in_dir("work")
        .git(&format!("checkpoint undo --to {newest}"))
        .ok();
    assert!(repo.exists("work") && !repo.exists("work/file"));
}

#[test]
fn an_undo_while_the_agent_runs() {
    let repo = project();
    repo.agent_writes("app.py", "app 1\n");
    // Its command has begun and not ended: what it writes now is not proven its own.
    repo.save("--before=command --tool bash --session s-1");
    repo.write("lib/rates.py", "half written\n");
    let asked = repo.undo("--to 1").fails(1).says("session s-1").json();
    assert_eq!(texts(&asked["others"]), ["lib/rates.py"]);
    repo.undo("--to 1 --others=keep").ok();
    assert_eq!(repo.read("lib/rates.py"), "half written\n");
    assert_eq!(repo.read("app.py"), "app 0\n");
}

#[test]
fn an_ignored_file_becomes_tracked() {
    let repo = project();
    repo.write(".gitignore", "secret\n");
    repo.commit_all("ignore");
    repo.write("secret", "never captured\n");
    repo.agent_writes("app.py", "app 1\n");
    repo.git("add -f secret").ok();
    // The checkpoint has no such file; it was there all the same.
    repo.undo("--to 1 --others=keep").ok();
    assert_eq!(repo.read("secret"), "never captured\n");
    repo.git("checkpoint redo -y").ok();
    repo.git("checkpoint undo --to 1").fails(1).says("secret");
    assert_eq!(repo.read("secret"), "never captured\n");
}
