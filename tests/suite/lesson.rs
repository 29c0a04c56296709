//! The session for which all of this is made: an agent repairs two faults in a
//! small project, three edits, each after a checkpoint; then everything goes back.

use crate::common::Repo;

const FAULTY_RATES: &str = "rate() { echo 7; }\n";
const FAULTY_AMOUNTS: &str = "total() { echo $(($1 + $2)); }\n";

fn project() -> Repo {
    let repo = Repo::with(&[
        ("billing/rates.sh", FAULTY_RATES),
        ("billing/amounts.sh", FAULTY_AMOUNTS),
        (
            "tests/run.sh",
            ". billing/rates.sh\n. billing/amounts.sh\n\
             test \"$(rate)\" = 19 && test \"$(total 2 3)\" = 6\n",
        ),
        ("notes.txt", "one\n"),
        ("README", "read me\n"),
    ]);
    repo.sh("sh tests/run.sh").fails(1);
    repo
}

fn three_edits(repo: &Repo) {
    repo.agent_writes("billing/rates.sh", "rate() { echo 19; }\n");
    repo.agent_writes("billing/amounts.sh", "total() { echo broken; }\n");
    repo.agent_writes("billing/amounts.sh", "total() { echo $(($1 * $2)); }\n");
    repo.sh("sh tests/run.sh").ok();
}

/// What `git log` and `git branch` show.
fn history(repo: &Repo) -> [String; 2] {
    ["log --oneline", "branch -vv"].map(|command| repo.git(command).ok().out())
}

#[track_caller]
fn teach(repo: &Repo, lane: &str) {
    let start = (repo.disk(), history(repo), repo.fingerprint());
    three_edits(repo);

    let list = repo.git("checkpoint list").ok().silent().lines();
    assert_eq!(list.len(), 3, "{list:?}");
    for (line, (number, path)) in list.iter().zip([
        ("001", "billing/rates.sh"),
        ("002", "billing/amounts.sh"),
        ("003", "billing/amounts.sh"),
    ]) {
        let fields: Vec<&str> = line.splitn(4, "  ").collect();
        assert_eq!(fields[0], number, "{line}");
        let commit = repo.oid(&format!("refs/harness/checkpoints/{lane}/{number}"));
        assert_eq!(fields[1], &commit[..10], "{line}");
        assert_eq!(fields[3], format!("before edit_file {path}"), "{line}");
    }

    let told = repo.git("checkpoint undo --to 2").ok();
    assert_eq!(
        told.out(),
        "restored 002 (before edit_file billing/amounts.sh); files: billing/amounts.sh"
    );
    assert_eq!(repo.read("billing/amounts.sh"), FAULTY_AMOUNTS);
    assert_eq!(repo.read("billing/rates.sh"), "rate() { echo 19; }\n");

    let told = repo.git("checkpoint undo --to 1").ok();
    assert_eq!(
        told.out(),
        "restored 001 (before edit_file billing/rates.sh); files: billing/rates.sh"
    );
    assert_eq!((repo.disk(), history(repo), repo.fingerprint()), start);
    repo.fsck();
}

#[test]
fn three_edits_go_back_to_the_exact_start() {
    let repo = project();
    teach(&repo, "main");
    repo.git("status --porcelain").ok().prints("");
}

#[test]
fn the_same_in_a_linked_worktree() {
    let repo = project();
    let linked = repo.worktree("task");
    let main_before = (repo.disk(), repo.fingerprint());
    teach(&linked, "task");
    linked.git("status --porcelain").ok().prints("");
    assert_eq!((repo.disk(), repo.fingerprint()), main_before);
    repo.git("checkpoint list").ok().prints("");
}

/// The developer has work of their own under way, staged and not, where the agent does not write.
fn with_work_under_way(repo: &Repo) {
    repo.write("README", "read me, staged\n");
    repo.git("add README").ok();
    repo.write("README", "read me, staged and edited\n");
    repo.write("notes.txt", "one\ntwo\n");
    repo.write("draft.txt", "mine\n");
}

#[test]
fn the_developers_work_under_way_is_as_before() {
    let repo = project();
    with_work_under_way(&repo);
    let looks = ["status --porcelain", "diff --cached", "diff"];
    let before = looks.map(|look| repo.git(&format!("--no-optional-locks {look}")).ok().out());
    teach(&repo, "main");
    let after = looks.map(|look| repo.git(&format!("--no-optional-locks {look}")).ok().out());
    assert_eq!(after, before);
}

#[test]
fn work_done_meanwhile_elsewhere_stays() {
    let repo = project();
    three_edits(&repo);
    with_work_under_way(&repo);
    let index = repo.fingerprint();
    // What the developer did after the first checkpoint is not the agent's.
    repo.git("checkpoint undo --to 1").fails(1);
    repo.git("checkpoint undo --to 1 --others=keep").ok();
    assert_eq!(repo.read("billing/rates.sh"), FAULTY_RATES);
    assert_eq!(repo.read("billing/amounts.sh"), FAULTY_AMOUNTS);
    assert_eq!(repo.read("README"), "read me, staged and edited\n");
    assert_eq!(repo.read("notes.txt"), "one\ntwo\n");
    assert_eq!(repo.read("draft.txt"), "mine\n");
    assert_eq!(repo.fingerprint(), index);
}
