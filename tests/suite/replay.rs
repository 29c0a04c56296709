//! `git-replay record` and `run` as a user goes through them.

use serde_json::Value;

use crate::common::{Outcome, Repo};

/// What the replay tests ask of a repository.
pub(crate) trait Replay {
    /// `git-replay <arguments>`.
    fn replay(&self, arguments: &str) -> Outcome;
    /// A fresh repository that has `revision` of this one, and nothing above it.
    fn fresh(&self, revision: &str) -> Repo;
    /// The journal `path`, as JSON.
    fn journal(&self, path: &str) -> Vec<Value>;
    /// All refs and their ids.
    fn refs(&self) -> String;
}

impl Replay for Repo {
    #[track_caller]
    fn replay(&self, arguments: &str) -> Outcome {
        self.program("git-replay", arguments)
    }

    #[track_caller]
    fn fresh(&self, revision: &str) -> Repo {
        let format = self.git("rev-parse --show-object-format").ok().out();
        let other = Repo::init(&format!("--object-format={format}"));
        let tip = self.oid(&format!("{revision}^{{commit}}"));
        self.run(["branch", "-q", "-f", "handed-out", &tip]).ok();
        let from = self.root().to_str().unwrap();
        other.run(["fetch", "-q", from, "handed-out"]).ok();
        self.git("branch -q -D handed-out").ok();
        other.git("reset -q --hard FETCH_HEAD").ok();
        other
    }

    #[track_caller]
    fn journal(&self, path: &str) -> Vec<Value> {
        serde_json::from_slice(&self.bytes(path)).unwrap()
    }

    #[track_caller]
    fn refs(&self) -> String {
        self.git("for-each-ref").ok().out()
    }
}

/// A repository with a branch `fix` of three commits on `main`, tagged
/// `parser-fix-base`, and its journal beside it.
fn parser_fix() -> Repo {
    let repo = Repo::with(&[("src/parser.c", "int parse;\n"), ("README", "read me\n")]);
    repo.git("tag parser-fix-base").ok();
    repo.git("checkout -q -b fix").ok();
    repo.write("src/parser.c", "int parse(void);\n");
    repo.commit_all("Fix the parser");
    repo.write("src/data.bin", b"\0\x01\x02\xff");
    repo.chmod("README", 0o755);
    repo.commit_all("Add data\n\nIt is binary.");
    repo.remove("src/parser.c");
    repo.commit_all("Drop the parser");
    repo.git("checkout -q main").ok();
    repo.write("../brief.txt", "Fix the parser.\n");
    repo.mkdir("../fixtures");
    repo.replay("record main..fix -o ../fixtures/parser-fix.json --prompt-file ../brief.txt")
        .ok()
        .says("3 commits, all rebuilt once from it with the same trees and ids");
    repo
}

fn journal_of(repo: &Repo) -> String {
    repo.scene()
        .join("fixtures/parser-fix.json")
        .display()
        .to_string()
}

#[test]
fn a_recorded_range_is_rebuilt_in_a_fresh_clone_with_the_same_ids() {
    let repo = parser_fix();
    let journal = journal_of(&repo);
    let clone = repo.fresh("main");
    clone.git("tag parser-fix-base").ok();
    let found = clone
        .replay(&format!("{journal} --from parser-fix-base --json"))
        .ok()
        .json();
    assert_eq!(found["remaining_turns"], 0);
    assert_eq!(found["same_ids"], true);
    assert_eq!(found["divergences"], serde_json::json!([]));
    let branch = found["branch"].as_str().unwrap();
    assert_eq!(clone.oid(branch), repo.oid("fix"));
    clone.git("fsck --strict").ok();
    // Again: it is there, and nothing piles up.
    let refs = clone.refs();
    clone
        .replay(&format!("{journal} --from parser-fix-base"))
        .ok()
        .says("already there")
        .prints(branch);
    assert_eq!(clone.refs(), refs);
}

#[test]
fn another_commit_with_the_same_tree_gives_the_same_trees_and_other_ids() {
    let repo = parser_fix();
    let clone = repo.fresh("main");
    clone.git("commit -q --amend -m other").ok();
    let outcome = clone
        .replay(&format!("{} --from HEAD", journal_of(&repo)))
        .ok();
    let branch = outcome.out();
    let outcome = outcome.says("other ids, since the base is another commit");
    assert_ne!(clone.oid(&branch), repo.oid("fix"), "{outcome:?}");
    let shape = "log --format=%T%n%B%n%an%ae%ad%cn%ce%cd -3";
    assert_eq!(
        clone.git(&format!("{shape} {branch}")).ok().out(),
        repo.git(&format!("{shape} fix")).ok().out()
    );
    assert_eq!(clone.oid(&format!("{branch}~3")), clone.oid("HEAD"));
}

#[test]
fn the_base_is_the_recorded_commit_or_the_tag_of_the_journal() {
    let repo = parser_fix();
    let journal = journal_of(&repo);
    let clone = repo.fresh("main");
    clone.git("commit -q --amend -m other").ok();
    clone.git("reflog expire --expire=now --all").ok();
    clone.remove(clone.git_dir().join("FETCH_HEAD"));
    clone.git("gc -q --prune=now").ok();
    clone
        .replay(&journal)
        .fails(128)
        .says("and there is no tag 'parser-fix-base'")
        .says("hint: fetch it");
    clone.git("tag parser-fix-base").ok();
    clone
        .replay(&journal)
        .ok()
        .says("branch 'replay/parser-fix-");
    repo.replay(&journal).ok().says("with the recorded ids");
}

#[test]
fn a_branch_is_made_only_where_nothing_is_lost() {
    let repo = parser_fix();
    let journal = journal_of(&repo);
    let clone = repo.fresh("main");
    clone
        .replay(&format!("{journal} --branch main"))
        .fails(128)
        .says("the branch 'main' is checked out in '")
        .says("git merge --ff-only");
    clone.git("branch other HEAD").ok();
    // A branch that is exactly the base is advanced.
    clone
        .replay(&format!("{journal} --branch other"))
        .ok()
        .prints("other");
    assert_eq!(clone.oid("other"), repo.oid("fix"));
    clone
        .replay(&format!("{journal} --branch other"))
        .ok()
        .says("already there");
    clone.git("branch -f other other~1").ok();
    clone.git("worktree add -q ../linked -b linked").ok();
    let refs = clone.refs();
    clone
        .replay(&format!("{journal} --branch other"))
        .fails(128)
        .says("is neither the base nor the result");
    clone
        .replay(&format!("{journal} --branch a..b"))
        .fails(128)
        .says("is no name for a branch");
    clone
        .replay(&format!("{journal} --branch linked"))
        .fails(128)
        .says("is checked out in");
    assert_eq!(clone.refs(), refs);
}

#[test]
fn the_command_line_is_checked() {
    let repo = parser_fix();
    repo.replay("record main..fix -o x.json")
        .fails(129)
        .says("hint: --no-prompt records an empty one");
    repo.replay("record -o x.json --no-prompt")
        .fails(129)
        .says("either a range or a command");
    repo.replay("record main...fix -o x.json --no-prompt")
        .fails(128)
        .says("has two ends");
    repo.replay("record nothing -o x.json --no-prompt")
        .fails(128)
        .says("neither a range");
    repo.replay("recrod main..fix").fails(129).says("'record'");
    repo.replay("missing.json")
        .fails(128)
        .says("cannot read the journal 'missing.json'");
    repo.replay("").fails(129);
    repo.replay("run").fails(129);
    assert!(!repo.exists("x.json"));
}

#[test]
fn a_journal_goes_through_a_fifo_a_device_and_a_link() {
    let repo = parser_fix();
    let record = "git-replay record main..fix --no-prompt -q -o";
    repo.replay("record main..fix --no-prompt -q -o ../plain.json")
        .ok();
    let plain = repo.read("../plain.json");
    repo.sh_ours(&format!(
        "mkfifo ../fifo && cat ../fifo >../read & while ! test -p ../fifo; do :; done; {record} ../fifo && wait"
    ))
    .ok();
    assert_eq!(repo.read("../read"), plain);
    repo.sh_ours("test -p ../fifo").ok();
    repo.sh_ours(&format!("{record} /dev/null && test -c /dev/null"))
        .ok();
    // A link that leads to nothing yet, from another folder.
    repo.mkdir("../links");
    repo.link("../target.json", "../links/out.json");
    repo.sh_ours(&format!("{record} ../links/out.json")).ok();
    assert_eq!(repo.read("../target.json"), plain);
    repo.write("../target.json", "mine");
    repo.sh_ours(&format!("{record} ../links/out.json"))
        .fails(1);
    assert_eq!(repo.read("../target.json"), "mine");
    repo.sh_ours(&format!("{record} ../links/out.json --yes"))
        .ok();
    assert_eq!(repo.read("../target.json"), plain);
    repo.sh_ours("test -L ../links/out.json").ok();
    // Links in a circle, and a folder.
    repo.link("two", "../links/one");
    repo.link("one", "../links/two");
    repo.sh_ours(&format!("{record} ../links/one")).fails(128);
    repo.replay("record main..fix --no-prompt -o ../links")
        .fails(128)
        .says("'../links' is a folder");
}

#[test]
fn a_journal_is_not_overwritten_unasked() {
    let repo = parser_fix();
    repo.write("x.json", "mine");
    repo.replay("record main..fix -o x.json --no-prompt")
        .fails(1)
        .says("exists already");
    assert_eq!(repo.read("x.json"), "mine");
    repo.chmod("x.json", 0o600);
    repo.replay("record main..fix -o x.json --no-prompt --yes")
        .ok();
    // What was private stays so.
    assert_eq!(repo.mode("x.json") & 0o777, 0o600);
    assert_eq!(repo.journal("x.json")[1]["x"]["prompt"]["absent"], true);
    repo.replay("record main..fix -o - --no-prompt --quiet")
        .ok()
        .silent();
}
