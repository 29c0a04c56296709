//! Nobody's configuration, environment, hooks, filters or working tree has a
//! say in what is recorded and rebuilt; and a replay that must not leave a
//! trace leaves none.

use crate::common::Repo;
use crate::replay::Replay;
use crate::replay_journal::bytes_below;

/// A repository, its branch `run`, and the journal `../j.json`, recorded in peace.
fn recorded() -> Repo {
    let repo = base();
    record(&repo, "../j.json");
    repo
}

fn base() -> Repo {
    let repo = Repo::with(&[
        ("dir/a", "a\nb\nc\n"),
        ("keep", "k\n"),
        ("dir/x.txt", "x\r\n"),
    ]);
    run(&repo);
    repo
}

fn run(repo: &Repo) {
    repo.git("checkout -q -b run").ok();
    repo.write("dir/a", "a\nB  \nc\n");
    repo.commit_all("first");
    repo.write("dir/x.txt", "x\r\ny\r\n");
    repo.write("bin", b"\0\x01");
    repo.commit_all("second");
    repo.git("checkout -q main").ok();
}

fn record(repo: &Repo, path: &str) {
    repo.replay(&format!("record main..run --no-prompt -o {path}"))
        .ok();
}

#[track_caller]
fn rebuilds(repo: &Repo) {
    rebuilds_by(repo, repo);
}

/// Replays as `caller` sees the repository, and looks at the result in peace.
#[track_caller]
fn rebuilds_by(caller: &Repo, repo: &Repo) {
    let journal = repo.scene().join("j.json").display().to_string();
    let branch = caller
        .replay(&format!("{journal} --branch rebuilt"))
        .ok()
        .out();
    assert_eq!(repo.oid(&branch), repo.oid("run"));
    repo.git("fsck --strict").ok();
}

#[test]
fn hostile_configuration_changes_no_byte() {
    let repo = recorded();
    let peace = repo.read("../j.json");
    let witness = repo.script("refuse", "echo \"$0 $*\" >>\"$HOME/fired\"; exit 1");
    let refuse = witness.display();
    for (key, value) in [
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.external", &refuse.to_string()),
        ("diff.submodule", "log"),
        ("diff.renames", "copies"),
        ("diff.context", "0"),
        ("diff.algorithm", "patience"),
        ("diff.orderFile", "/nonexistent"),
        ("color.ui", "always"),
        ("color.diff", "always"),
        ("core.autocrlf", "true"),
        ("core.eol", "crlf"),
        ("core.safecrlf", "true"),
        ("core.whitespace", "cr-at-eol"),
        ("core.quotePath", "false"),
        (
            "core.hooksPath",
            repo.scene().join("hooks").to_str().unwrap(),
        ),
        ("core.fsmonitor", &refuse.to_string()),
        ("core.pager", &refuse.to_string()),
        ("core.abbrev", "4"),
        (
            "core.attributesFile",
            repo.scene().join("attributes").to_str().unwrap(),
        ),
        ("apply.whitespace", "fix"),
        ("apply.ignoreWhitespace", "change"),
        ("commit.gpgSign", "true"),
        ("gpg.program", &refuse.to_string()),
        ("i18n.commitEncoding", "ISO-8859-1"),
        ("user.useConfigOnly", "true"),
        ("core.logAllRefUpdates", "always"),
        ("transfer.fsckObjects", "true"),
        ("receive.fsckObjects", "true"),
        ("fetch.fsckObjects", "true"),
        ("submodule.recurse", "true"),
        ("feature.manyFiles", "true"),
        ("core.ignoreCase", "true"),
        ("diff.wild.textconv", &refuse.to_string()),
        ("filter.wild.clean", &refuse.to_string()),
        ("filter.wild.smudge", &refuse.to_string()),
        ("filter.wild.required", "true"),
    ] {
        repo.run(["config", "--global", key, value]).ok();
    }
    repo.write("../attributes", "* diff=wild filter=wild text eol=crlf\n");
    repo.write(
        repo.git_dir().join("info/attributes"),
        "* diff=wild filter=wild\n",
    );
    for hook in [
        "reference-transaction",
        "post-index-change",
        "post-checkout",
        "post-commit",
    ] {
        repo.mkdir("../hooks");
        let path = repo.script(&format!("hooks/{hook}"), &format!("{refuse} {hook}"));
        assert!(path.exists());
    }
    let hostile = repo
        .env("GIT_EXTERNAL_DIFF", &witness)
        .env("GIT_DIFF_OPTS", "--unified=0")
        .env("GIT_AUTHOR_NAME", "wrong")
        .env("GIT_COMMITTER_DATE", "1999-12-31T23:59:59Z")
        .env("GIT_LITERAL_PATHSPECS", "1")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "diff.noprefix")
        .env("GIT_CONFIG_VALUE_0", "true")
        .env("GIT_CONFIG_PARAMETERS", "'diff.noprefix'='true'");
    record(&hostile, "../again.json");
    assert_eq!(repo.read("../again.json"), peace);
    let branch = hostile.replay("../j.json --branch rebuilt").ok().out();
    let ids =
        |name: &str| std::fs::read_to_string(repo.git_dir().join("refs/heads").join(name)).unwrap();
    assert_eq!(ids(&branch), ids("run"));
    assert!(
        !repo.exists(repo.home().join("fired")),
        "{}",
        repo.read(repo.home().join("fired"))
    );
}

#[test]
fn replacements_do_not_change_what_an_id_means() {
    let repo = recorded();
    let peace = repo.read("../j.json");
    repo.git("replace run main").ok();
    repo.git("replace main~0^{tree} run^{tree}").ok();
    record(&repo, "../again.json");
    assert_eq!(repo.read("../again.json"), peace);
    repo.replay("../j.json --branch rebuilt")
        .ok()
        .says("with the recorded ids");
}

#[test]
fn a_hook_a_sub_folder_and_a_foreign_index_do_not_matter() {
    let repo = recorded();
    rebuilds_by(&repo.in_dir("dir"), &repo);
    repo.git("branch -D rebuilt").ok();
    rebuilds_by(
        &repo.env("GIT_INDEX_FILE", repo.scene().join("nowhere/index")),
        &repo,
    );
    repo.git("branch -D rebuilt").ok();
    rebuilds_by(
        &repo.env("GIT_OBJECT_DIRECTORY", repo.scene().join("nowhere")),
        &repo,
    );
    repo.git("branch -D rebuilt").ok();
    // From a hook: git has set GIT_DIR and GIT_INDEX_FILE, and its own exec path is first on PATH.
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_git-replay")).display();
    let hooks = repo.git_dir().join("hooks");
    repo.mkdir(&hooks);
    let hook = hooks.join("pre-commit");
    repo.write(
        &hook,
        format!("#!/bin/sh\nexec {program} ../j.json --branch rebuilt\n"),
    );
    repo.chmod(&hook, 0o755);
    repo.write("new", "n\n");
    repo.git("add new").ok();
    repo.git("commit -q -m with-hook").ok();
    assert_eq!(repo.oid("rebuilt"), repo.oid("run"));
    assert_eq!(
        repo.git("show --stat --format=%s HEAD").ok().lines().len(),
        4
    );
}

#[test]
fn the_working_tree_and_the_index_are_not_touched() {
    let repo = recorded();
    repo.write("dir/a", "mine, uncommitted\n");
    repo.write("keep", "staged\n");
    repo.git("add keep").ok();
    repo.write("bin", "untracked, in the way\n");
    repo.remove("dir/x.txt");
    let before = bytes_below(repo.root());
    rebuilds(&repo);
    let mut after = bytes_below(repo.root());
    let git_dir = repo.git_dir();
    let mut before = before;
    before.retain(|path, _| !path.starts_with(&git_dir) || path.ends_with("index"));
    after.retain(|path, _| !path.starts_with(&git_dir) || path.ends_with("index"));
    assert_eq!(after, before);
}

#[test]
fn it_works_in_bare_linked_sparse_and_unborn_repositories() {
    let repo = recorded();
    let journal = repo.path("../j.json").display().to_string();
    let run = repo.oid("run");
    let source = repo.root().display().to_string();

    let bare = Repo::init("--bare");
    bare.run(["fetch", "-q", &source, "main:base"]).ok();
    let branch = bare.replay(&journal).ok().out();
    assert_eq!(bare.oid(&branch), run);
    bare.replay("record base..base --no-prompt -o ../none.json")
        .ok();

    let linked = repo.worktree("linked");
    let branch = linked.replay(&journal).ok().out();
    assert_eq!(linked.oid(&branch), run);

    let sparse = repo.fresh("main");
    sparse.git("sparse-checkout set --no-cone keep").ok();
    let branch = sparse.replay(&journal).ok().out();
    assert_eq!(sparse.oid(&branch), run);
    assert!(!sparse.exists("dir"));

    let unborn = Repo::new();
    unborn.run(["fetch", "-q", &source, "main:base"]).ok();
    let branch = unborn.replay(&journal).ok().out();
    assert_eq!(unborn.oid(&branch), run);
}

#[test]
fn a_shallow_clone_without_the_base_is_told_so() {
    let repo = recorded();
    let journal = repo.path("../j.json").display().to_string();
    let run = repo.oid("run");
    repo.write("later", "l\n");
    repo.commit_all("later");
    let shallow = Repo::new();
    let source = format!("file://{}", repo.root().display());
    shallow
        .run(["fetch", "-q", "--depth=1", &source, "main"])
        .ok();
    shallow.git("checkout -q FETCH_HEAD").ok();
    let before = bytes_below(shallow.root());
    shallow
        .replay(&journal)
        .fails(128)
        .says("is not in this repository")
        .says("hint: this clone is shallow; run 'git fetch --unshallow'");
    assert_eq!(bytes_below(shallow.root()), before);
    // With the base at the edge it is enough.
    let edge = Repo::new();
    edge.run(["fetch", "-q", "--depth=2", &source, "main"]).ok();
    let branch = edge.replay(&journal).ok().out();
    assert_eq!(edge.git(&format!("rev-parse {branch}")).ok().out(), run);
}

/// A bare clone of `branch` without what `filter` keeps out; the missing objects
/// come from `repo`.
#[track_caller]
fn partial(repo: &Repo, branch: &str, filter: &str) -> Repo {
    repo.git("config uploadpack.allowFilter true").ok();
    repo.git("config uploadpack.allowAnySHA1InWant true").ok();
    let source = format!("file://{}", repo.root().display());
    let partial = Repo::outside();
    let clone = [
        "clone",
        "-q",
        "--bare",
        "--single-branch",
        "-b",
        branch,
        filter,
    ];
    partial
        .run(clone.into_iter().chain([source.as_str(), "."]))
        .ok();
    partial
}

/// How often a noted git began to fetch.
fn fetches(log: &std::path::Path) -> usize {
    let log = std::fs::read_to_string(log).unwrap_or_default();
    log.lines().filter(|line| line.contains(" fetch ")).count()
}

#[test]
fn a_partial_clone_fetches_what_a_patch_changes() {
    for (filter, patches) in [
        ("--filter=blob:none", "--patches=binary"),
        ("--filter=blob:none", "--patches=text"),
        ("--filter=tree:0", "--patches=text"),
    ] {
        let repo = base();
        repo.replay(&format!(
            "record main..run --no-prompt {patches} -o ../j.json"
        ))
        .ok();
        let journal = repo.path("../j.json");
        let rebuilt = |journal: &std::path::Path, most: usize| {
            let clone = partial(&repo, "main", filter);
            let (noting, log) = clone.noting_children();
            let branch = noting.program("git-replay", &journal.display().to_string());
            assert_eq!(clone.oid(&branch.ok().out()), repo.oid("run"), "{filter}");
            assert!(filter.contains("tree") || fetches(&log) <= most, "{filter}");
        };
        rebuilt(&journal, 1);
        // What is left to git is fetched for it, too, at once where the paths are known.
        let bare = repo.read("../j.json");
        let bare: Vec<&str> = bare
            .split("\\n")
            .filter(|l| !l.starts_with("index ") || l.starts_with("index 000"))
            .collect();
        let plain = bare
            .join("\\n")
            .replace("diff --git a/dir/a ", "diff -u a/dir/a ");
        repo.write("../bare.json", bare.join("\\n"));
        repo.write("../plain.json", plain);
        if patches == "--patches=text" {
            rebuilt(&repo.path("../bare.json"), 2);
            rebuilt(&repo.path("../plain.json"), 2);
        }
    }
}

#[test]
fn a_partial_clone_records_as_a_whole_one() {
    let repo = base();
    for options in ["--patches=binary", "--patches=text"] {
        let whole = options.trim_start_matches("--patches=");
        let whole = format!("../{whole}.json");
        repo.replay(&format!(
            "record main..run --no-prompt {options} -o {whole}"
        ))
        .ok();
        for filter in ["--filter=blob:none", "--filter=tree:0"] {
            let clone = partial(&repo, "run", filter);
            let (noting, log) = clone.noting_children();
            let range = format!("{}..run", repo.oid("main"));
            noting
                .program(
                    "git-replay",
                    &format!("record {range} --no-prompt {options} -o j.json"),
                )
                .ok()
                .says("same tree");
            assert_eq!(clone.bytes("j.json"), repo.bytes(&whole), "{filter}");
            assert!(filter.contains("tree") || fetches(&log) == 1);
        }
    }
}

#[test]
fn sha256_repositories_work_the_same() {
    let repo = Repo::init("--object-format=sha256");
    repo.write("dir/a", "a\nb\nc\n");
    repo.write("dir/x.txt", "x\r\n");
    repo.commit_all("base");
    run(&repo);
    record(&repo, "../j.json");
    let clone = repo.fresh("main");
    let journal = repo.path("../j.json").display().to_string();
    let branch = clone.replay(&journal).ok().out();
    assert_eq!(clone.oid(&branch), repo.oid("run"));
    clone.git("fsck --strict").ok();
}

#[test]
fn reftable_repositories_work_the_same() {
    let Some(probe) = Repo::reftable() else {
        return;
    };
    probe.write("dir/a", "a\nb\nc\n");
    probe.write("dir/x.txt", "x\r\n");
    probe.commit_all("base");
    run(&probe);
    record(&probe, "../j.json");
    rebuilds(&probe);
}

#[test]
fn filters_and_lfs_pointers_stay_what_is_in_the_tree() {
    let repo = base();
    let witness = repo.script("smudge", "echo smudged >>\"$HOME/fired\"; exit 1");
    repo.write(
        ".gitattributes",
        "*.bin filter=lfs diff=lfs merge=lfs -text\n",
    );
    repo.write(
        "big.bin",
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
    );
    repo.git("checkout -q run").ok();
    repo.git("add -A").ok();
    repo.git("commit -q -m pointers").ok();
    repo.git("checkout -q main").ok();
    for side in ["clean", "smudge", "process"] {
        repo.run([
            "config",
            &format!("filter.lfs.{side}"),
            witness.to_str().unwrap(),
        ])
        .ok();
    }
    repo.git("config filter.lfs.required true").ok();
    record(&repo, "../j.json");
    rebuilds(&repo);
    assert!(!repo.exists(repo.home().join("fired")));
}

#[test]
fn a_check_in_a_partial_clone_writes_nothing() {
    for filter in ["--filter=blob:none", "--filter=tree:0"] {
        let repo = base();
        repo.replay("record main..run --no-prompt --patches=text -o ../j.json")
            .ok();
        let bare = repo.read("../j.json");
        let plain = bare.replace("diff --git a/dir/a ", "diff -u a/dir/a ");
        repo.write("../plain.json", plain);
        let clone = partial(&repo, "main", filter);
        let before = bytes_below(clone.root());
        for name in ["j", "plain"] {
            let journal = repo.path(format!("../{name}.json")).display().to_string();
            for command in ["--check", "--branch a..b", "--prompt a --prompt b"] {
                let outcome = clone.program("git-replay", &format!("{journal} {command}"));
                let code = match command {
                    "--check" => 0,
                    "--branch a..b" => 128,
                    _ => 1,
                };
                outcome.fails(code);
                assert!(
                    bytes_below(clone.root()) == before,
                    "{filter} {name} {command}"
                );
            }
            clone.program("git-replay", &format!("test {journal}")).ok();
            assert!(bytes_below(clone.root()) == before, "{filter} {name} test");
            clone
                .program("git-replay", &format!("show -p {journal}"))
                .ok();
            assert!(bytes_below(clone.root()) == before, "{filter} {name} show");
        }
        let branch = clone
            .program("git-replay", &repo.path("../j.json").display().to_string())
            .ok()
            .out();
        assert_eq!(clone.oid(&branch), repo.oid("run"));
        clone.git("fsck").ok();
    }
}

#[test]
fn objects_borrowed_by_a_relative_path_are_found() {
    // Text patches without ids are left to git, which reads through the room.
    let repo = base();
    repo.replay("record main..run --no-prompt --patches=text -o ../j.json")
        .ok();
    let bare: Vec<String> = repo
        .read("../j.json")
        .split("\\n")
        .filter(|line| !line.starts_with("index ") || line.starts_with("index 000"))
        .map(str::to_owned)
        .collect();
    repo.write("../j.json", bare.join("\\n"));
    let tip = repo.oid("run");
    repo.git("branch -q -D run").ok();
    repo.git("clone -q --shared . ../borrower").ok();
    let borrower = repo.in_dir("../borrower");
    let name = repo
        .root()
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    repo.write(
        "../borrower/.git/objects/info/alternates",
        format!("../../../{name}/.git/objects\n"),
    );
    let branch = borrower.replay("../j.json --branch rebuilt").ok().out();
    assert_eq!(borrower.oid(&branch), tip);
    borrower.git("fsck").ok();
}

#[test]
fn a_hook_sees_what_is_being_pushed() {
    let repo = recorded();
    // A journal of a run that stands on a commit which the push brings.
    repo.git("checkout -q -b more main").ok();
    repo.write("keep", "more\n");
    repo.commit_all("a base of its own");
    repo.write("keep", "and more\n");
    repo.commit_all("the run");
    repo.replay("record more~1..more --no-prompt -o ../more.json")
        .ok();
    repo.git("init -q --bare -b main ../server.git").ok();
    repo.git("push -q ../server.git main").ok();
    let journal = repo.path("../more.json");
    let program = env!("CARGO_BIN_EXE_git-replay");
    let hook = repo.path("../server.git/hooks/pre-receive");
    let decide = |options: &str| {
        let line = format!(
            "exec {program} {options}",
            options = options.replace("J", journal.to_str().unwrap())
        );
        repo.write(&hook, format!("#!/bin/sh\nread old new ref\n{line}\n"));
        repo.chmod(&hook, 0o755);
        repo.git("push -q ../server.git more~1:refs/heads/base")
    };
    decide("'J' --branch made")
        .fails(1)
        .says("no branch can be made while a push is in its quarantine")
        .says("'git-replay test' write nothing");
    decide("'J' --check --prompt a --prompt b").fails(1);
    let server = repo.in_dir("../server.git");
    assert_eq!(
        server.git("for-each-ref --format=%(refname)").ok().out(),
        "refs/heads/main"
    );
    decide("'J' --check --from \"$new\"").ok();
    server.git("update-ref -d refs/heads/base").ok();
    decide("test 'J'").ok();
}

#[test]
fn a_check_takes_no_session() {
    let repo = recorded();
    let before = bytes_below(repo.root());
    repo.replay("../j.json --check --events --session s")
        .fails(129)
        .says("--session");
    assert!(bytes_below(repo.root()) == before);
}

#[test]
fn a_check_and_every_failure_leave_no_trace() {
    let repo = recorded();
    let clone = repo.fresh("main");
    let journal = repo.path("../j.json").display().to_string();
    // Patches that only git applies write into the quarantine: that is no trace either.
    let mut entries = repo.journal("../j.json");
    for commit in entries[3]["commits"].as_array_mut().unwrap() {
        commit.as_object_mut().unwrap().remove("x");
        commit["patch"] = serde_json::json!(
            "diff --git a/keep b/keep\n--- a/keep\n+++ b/keep\n@@ -1 +1,2 @@\n k\n+more\n"
        );
    }
    repo.write("../other.json", serde_json::to_vec(&entries).unwrap());
    let other = repo.path("../other.json").display().to_string();
    let before = (
        bytes_below(clone.root()),
        bytes_below(&clone.scene().join("tmp")),
    );
    for (arguments, code) in [
        (format!("{journal} --check"), 0),
        (
            format!("{journal} --check --divergence=warn --prompt wrong"),
            0,
        ),
        (format!("{other} --check"), 1),
        (other.clone(), 1),
        (format!("{journal} --prompt a --prompt b"), 1),
        (format!("{journal} --branch main"), 128),
        (format!("{journal} --branch .."), 128),
        (format!("{journal} --from nothing"), 128),
        (format!("test {journal} {other}"), 1),
        (format!("show {journal} -p"), 0),
        (format!("bisect {journal} HEAD"), 1),
    ] {
        clone.replay(&arguments).fails(code);
        let after = (
            bytes_below(clone.root()),
            bytes_below(&clone.scene().join("tmp")),
        );
        assert!(after == before, "{arguments} left a trace");
    }
}

#[test]
fn what_a_killed_replay_leaves_is_removed_by_gc() {
    let repo = recorded();
    let left = repo.git_dir().join("objects/tmp_objdir-replay-killed");
    repo.write(left.join("objects/pack/tmp_pack"), "half");
    repo.git("count-objects -v").ok();
    repo.git("fsck --strict").ok();
    rebuilds(&repo);
    assert!(left.exists());
    repo.git("gc -q --prune=now").ok();
    assert!(!left.exists());
}

#[test]
fn only_one_of_two_replays_at_once_makes_the_branch() {
    let repo = recorded();
    let clone = repo.fresh("main");
    let journal = repo.path("../j.json").display().to_string();
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let (clone, journal) = (clone.clone(), journal.clone());
                scope.spawn(move || clone.replay(&format!("{journal} --branch one")))
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    for outcome in &outcomes {
        // The one that comes second is refused by the old value it had seen, or finds it done.
        assert!(matches!(outcome.code(), Some(0 | 128)), "{outcome:?}");
    }
    assert!(outcomes.iter().any(|outcome| outcome.code() == Some(0)));
    assert_eq!(clone.oid("one"), repo.oid("run"));
    clone.git("fsck --strict").ok();
}
