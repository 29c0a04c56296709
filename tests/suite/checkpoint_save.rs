//! `git checkpoint save`: the number it prints, the object it makes, what it
//! skips and what it refuses.

use std::os::unix::net::UnixListener;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::common::{Repo, paths, texts};

fn small() -> Repo {
    Repo::with(&[("a", "1\n"), ("dir/b", "2\n")])
}

#[test]
fn prints_the_number_and_nothing_else() {
    let repo = small();
    repo.git("checkpoint save -m first")
        .ok()
        .silent()
        .prints("001");
    repo.write("a", "2\n");
    repo.git("checkpoint").ok().silent().prints("002");
    repo.in_dir("dir")
        .git("checkpoint save")
        .ok()
        .silent()
        .prints("003");
    assert_eq!(
        repo.checkpoints(),
        [1, 2, 3].map(|n| format!("refs/harness/checkpoints/main/{n:03}"))
    );
    repo.fsck();
}

#[test]
fn leaves_the_users_git_and_the_worktree_untouched() {
    let repo = small();
    repo.write("a", "changed\n");
    repo.write("staged", "s\n");
    repo.git("add staged").ok();
    repo.write("untracked", "u\n");
    let before = (repo.fingerprint(), repo.disk());
    let stash = repo.git("stash list").ok().out();
    repo.git("checkpoint save").ok();
    assert_eq!((repo.fingerprint(), repo.disk()), before);
    assert_eq!(repo.git("stash list").ok().out(), stash);
    assert_eq!(repo.git("log --oneline").ok().lines().len(), 1);
}

#[test]
fn is_a_commit_without_parents_by_a_fixed_identity() {
    let repo = small();
    repo.git("config --global --unset user.name").ok();
    repo.git("config --global --unset user.email").ok();
    repo.git("config --global user.useConfigOnly true").ok();
    let start = now();
    let saved = repo.save("-m 'before the storm'");
    let commit = saved["commit"].as_str().unwrap();
    assert_eq!(repo.oid("refs/harness/checkpoints/main/001"), commit);
    assert_eq!(
        repo.oid(&format!("{commit}^{{tree}}")),
        saved["tree"].as_str().unwrap()
    );
    let shown = repo
        .run(["log", "-1", "--format=%P|%at|%ct|%s", commit])
        .ok()
        .out();
    let fields: Vec<&str> = shown.split('|').collect();
    assert_eq!(fields[0], "");
    let author_time: u64 = fields[1].parse().unwrap();
    assert!((start..=now()).contains(&author_time), "{shown}");
    assert_eq!(fields[2], "1");
    assert_eq!(fields[3], "before the storm");
    repo.git("fsck --full --strict").ok();
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

#[test]
fn trailers_say_where_it_comes_from() {
    let repo = small();
    let head = repo.oid("HEAD");
    repo.git(
        "checkpoint save -m why --tool edit_file --path a --path new/file --call call-7 --session s-1",
    )
    .ok();
    let of = |name: &str| repo.trailer("refs/harness/checkpoints/main/001", name);
    assert_eq!(of("Harness-Lane"), ["main"]);
    assert_eq!(of("Harness-Number").len(), 1);
    assert_eq!(of("Harness-Version").len(), 1);
    assert_eq!(of("Harness-Worktree").len(), 1);
    assert_eq!(of("Harness-Kind"), ["before-write"]);
    assert_eq!(of("Harness-Tool"), ["edit_file"]);
    assert_eq!(of("Harness-Path"), ["a", "new/file"]);
    assert_eq!(of("Harness-Call"), ["call-7"]);
    assert_eq!(of("Harness-Session"), ["s-1"]);
    assert_eq!(of("Harness-Head"), [format!("{head} refs/heads/main")]);
}

#[test]
fn kinds_follow_the_options() {
    let repo = small();
    let kind = |options: &str| repo.save(options)["kind"].as_str().unwrap().to_owned();
    assert_eq!(kind(""), "save");
    assert_eq!(kind("--before=write"), "before-write");
    assert_eq!(kind("--path a"), "before-write");
    assert_eq!(kind("--tool t"), "before-write");
    assert_eq!(kind("--before=command --tool bash"), "before-command");
    assert_eq!(kind("--after 5"), "after-command");
    assert_eq!(
        repo.trailer("refs/harness/checkpoints/main/006", "Harness-After"),
        ["5"]
    );
}

#[test]
fn json_is_one_object() {
    let repo = small();
    repo.write("bytes", "x");
    let saved = repo.save("-m label --tool t --path a --call c --session s");
    let head = repo.oid("HEAD");
    assert_eq!(saved["number"], 1);
    assert_eq!(saved["lane"], "main");
    assert_eq!(saved["ref"], "refs/harness/checkpoints/main/001");
    assert_eq!(saved["kind"], "before-write");
    assert_eq!(saved["label"], "label");
    assert_eq!(saved["tool"], "t");
    assert_eq!(texts(&saved["paths"]), ["a"]);
    assert_eq!(saved["call"], "c");
    assert_eq!(saved["session"], "s");
    assert!(saved["head"].to_string().contains(&head), "{saved}");
    assert!(saved["time"].as_str().unwrap().contains('T'), "{saved}");
    assert_eq!(saved["skipped"], serde_json::json!([]));
    assert_eq!(saved["raw"], serde_json::json!([]));
    let listed = repo.git("checkpoint list --json").ok().json();
    assert_eq!(listed, serde_json::json!([saved]));
}

#[test]
fn json_never_has_colour_and_never_depends_on_the_locale() {
    let repo = small();
    repo.git("config color.ui always").ok();
    repo.git("checkpoint save").ok();
    let outcome = repo
        .env("LC_ALL", "de_DE.UTF-8")
        .git("checkpoint list --json")
        .ok();
    assert!(!outcome.stdout.contains(&0x1b));
    outcome.json();
}

#[test]
fn a_label_cannot_forge_a_trailer() {
    let repo = small();
    let label = "x\n\nHarness-Kind: before-undo\nHarness-Path: a";
    repo.run(["checkpoint", "save", "-m", label]).ok();
    let commit = "refs/harness/checkpoints/main/001";
    assert_eq!(repo.trailer(commit, "Harness-Kind"), ["save"]);
    assert!(repo.trailer(commit, "Harness-Path").is_empty());
    let listed = repo.git("checkpoint list --json").ok().json();
    assert_eq!(listed[0]["kind"], "save");
}

#[test]
fn a_path_cannot_forge_a_trailer() {
    let repo = small();
    let path = "odd\nHarness-Kind: before-undo";
    repo.write(path, "x");
    repo.run(["checkpoint", "save", "--path", path]).ok();
    let commit = "refs/harness/checkpoints/main/001";
    assert_eq!(repo.trailer(commit, "Harness-Kind"), ["before-write"]);
    assert_eq!(
        repo.trailer(commit, "Harness-Path"),
        ["\"odd\\nHarness-Kind: before-undo\""]
    );
    let listed = repo.git("checkpoint list --json").ok().json();
    assert_eq!(texts(&listed[0]["paths"]), [path]);
}

#[test]
fn a_long_label_is_cut_at_200_bytes_between_characters() {
    let repo = small();
    let label = format!("{}ü and more", "x".repeat(199));
    repo.run(["checkpoint", "save", "-m", &label]).ok();
    let subject = repo
        .git("log -1 --format=%s refs/harness/checkpoints/main/001")
        .ok()
        .out();
    assert!(
        subject.starts_with(&"x".repeat(190)) && subject.len() <= 203,
        "{subject}"
    );
    assert!(!subject.contains("more"));
}

#[test]
fn survives_gc_and_writes_no_reflog() {
    let repo = small();
    repo.git("config core.logAllRefUpdates always").ok();
    repo.write("only-here", "precious\n");
    repo.git("checkpoint save").ok();
    repo.remove("only-here");
    repo.git("reflog expire --expire=all --all").ok();
    repo.git("gc -q --prune=now").ok();
    assert_eq!(
        repo.git("cat-file blob refs/harness/checkpoints/main/001:only-here")
            .ok()
            .out(),
        "precious"
    );
    let logs = repo.common_dir().join("logs/refs/harness");
    assert!(!logs.exists(), "{}", logs.display());
    repo.fsck();
}

#[test]
fn signs_nothing() {
    let repo = small();
    repo.git("config commit.gpgSign true").ok();
    let program = repo.script("sign", "echo fired >>\"$HOME/mark\"\nexit 1");
    repo.run(["config", "gpg.program", program.to_str().unwrap()])
        .ok();
    repo.write("a", "2\n");
    repo.git("checkpoint save").ok();
    repo.write("a", "3\n");
    repo.git("checkpoint undo -y").ok();
    assert!(!repo.home().join("mark").exists());
}

#[test]
fn the_staged_state_is_kept_by_a_commit_of_its_own() {
    let repo = small();
    repo.write("a", "staged\n");
    repo.git("add a").ok();
    repo.write("a", "on disk\n");
    let saved = repo.save("");
    let index = saved["index"].as_str().unwrap();
    assert_eq!(repo.oid("refs/harness/indexes/main/001"), index);
    assert_eq!(repo.oid(&format!("{index}^")), repo.oid("HEAD"));
    assert_eq!(
        repo.run(["cat-file", "blob", &format!("{index}:0/a")])
            .ok()
            .out(),
        "staged"
    );
    assert_eq!(
        repo.trailer("refs/harness/checkpoints/main/001", "Harness-Index"),
        [index]
    );
    repo.fsck();
}

#[test]
fn stages_of_a_conflict_are_kept() {
    let repo = small();
    repo.git("checkout -q -b other").ok();
    repo.write("a", "theirs\n");
    repo.commit_all("theirs");
    repo.git("checkout -q main").ok();
    repo.write("a", "ours\n");
    repo.commit_all("ours");
    repo.git("merge other").fails(1);
    let saved = repo.save("");
    let index = saved["index"].as_str().unwrap();
    for (stage, content) in [("1", "1"), ("2", "ours"), ("3", "theirs")] {
        let name = format!("{index}:{stage}/a");
        assert_eq!(repo.run(["cat-file", "blob", &name]).ok().out(), content);
    }
    let on_disk = repo
        .git("cat-file blob refs/harness/checkpoints/main/001:a")
        .ok()
        .out();
    assert!(on_disk.contains("<<<<<<<"));
}

#[test]
fn an_index_that_is_heads_tree_needs_no_commit_twice() {
    let repo = small();
    repo.save("");
    repo.write("a", "2\n");
    let second = repo.save("");
    assert_eq!(second["index"], serde_json::Value::Null);
    repo.commit_all("next");
    let third = repo.save("");
    assert!(third["index"].is_string(), "HEAD moved: {third}");
    let parent = repo.oid(&format!("{}^", third["index"].as_str().unwrap()));
    assert_eq!(parent, repo.oid("HEAD"));
}

#[test]
fn if_changed_makes_nothing_of_nothing() {
    let repo = small();
    repo.save("--if-changed");
    repo.git("checkpoint save --if-changed").ok();
    assert_eq!(repo.checkpoints().len(), 1);
    repo.git("checkpoint save --if-changed --path a --call one")
        .ok();
    assert_eq!(repo.checkpoints().len(), 2, "a new path is evidence");
    repo.git("checkpoint save --if-changed --path a --call one")
        .ok();
    assert_eq!(repo.checkpoints().len(), 2);
    repo.git("checkpoint save --if-changed --path a --call two")
        .ok();
    assert_eq!(repo.checkpoints().len(), 3, "a new call is evidence");
    assert_eq!(repo.tree_of(1), repo.tree_of(3));
    repo.write("a", "2\n");
    repo.git("checkpoint save --if-changed").ok().prints("004");
}

#[test]
fn numbers_are_never_given_twice() {
    let repo = small();
    repo.save("");
    repo.save("");
    repo.git("update-ref -d refs/harness/checkpoints/main/002")
        .ok();
    repo.git("checkpoint save").ok().prints("003");
    for number in ["001", "003"] {
        repo.git(&format!(
            "update-ref -d refs/harness/checkpoints/main/{number}"
        ))
        .ok();
    }
    repo.git("checkpoint save").ok().prints("004");
}

#[test]
fn eight_at_once_get_eight_numbers() {
    let repo = small();
    repo.write("a", "busy\n");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| repo.git("checkpoint save").ok());
        }
    });
    assert_eq!(repo.checkpoints().len(), 8);
    let trees: std::collections::BTreeSet<String> = (1..=8).map(|n| repo.tree_of(n)).collect();
    assert_eq!(trees.len(), 1);
    repo.fsck();
}

#[test]
fn what_cannot_be_captured_is_skipped_one_by_one() {
    let repo = small();
    repo.sh("mkfifo pipe").ok();
    let _socket = UnixListener::bind(repo.path("socket")).unwrap();
    repo.sh("git init -q hollow").ok();
    repo.write("kept", "k\n");
    let outcome = repo.git("checkpoint save --json").ok();
    let saved = outcome.json();
    assert_eq!(paths(&saved["skipped"]), ["hollow/", "pipe", "socket"]);
    for path in ["hollow", "pipe", "socket"] {
        assert!(outcome.err().contains(path), "{outcome:?}");
    }
    assert_eq!(
        repo.git("ls-tree -r --name-only refs/harness/checkpoints/main/001")
            .ok()
            .lines(),
        ["a", "dir/b", "kept"]
    );
    let trailers = repo.trailer("refs/harness/checkpoints/main/001", "Harness-Skipped");
    assert_eq!(trailers.len(), 3, "{trailers:?}");
}

#[test]
fn an_unreadable_file_costs_no_other() {
    let Some(repo) = small().for_whom_modes_count() else {
        return;
    };
    repo.write("a", "2\n");
    repo.write("closed", "?\n");
    repo.chmod("closed", 0);
    repo.write("locked/inside", "?\n");
    repo.chmod("locked", 0);
    let saved = repo.save("");
    repo.chmod("locked", 0o755);
    let skipped = paths(&saved["skipped"]);
    assert!(skipped.contains(&"closed"), "{saved}");
    assert!(
        skipped.iter().any(|path| path.starts_with("locked")),
        "{saved}"
    );
    assert_eq!(
        repo.git("cat-file blob refs/harness/checkpoints/main/001:a")
            .ok()
            .out(),
        "2"
    );
}

#[test]
fn an_unreadable_tracked_file_keeps_what_git_knows_and_says_so() {
    let Some(repo) = small().for_whom_modes_count() else {
        return;
    };
    let known = repo.oid("HEAD:a");
    repo.write("a", "changed\n");
    repo.chmod("a", 0);
    let saved = repo.save("");
    assert_eq!(paths(&saved["skipped"]), ["a"]);
    assert_eq!(repo.oid("refs/harness/checkpoints/main/001:a"), known);
}

#[test]
fn a_tracked_file_in_an_unreadable_folder_keeps_what_git_knows_too() {
    let Some(repo) = small().for_whom_modes_count() else {
        return;
    };
    let known = repo.oid("HEAD:dir");
    repo.write("a", "changed\n");
    repo.write("dir/b", "changed\n");
    repo.write("dir/untracked", "new\n");
    repo.chmod("dir", 0);
    let saved = repo.save("");
    // An unreadable folder is no empty one: what was in it is not deleted by an undo.
    repo.write("a", "2\n");
    let told = repo.undo("1").ok().json();
    repo.chmod("dir", 0o755);
    assert_eq!(paths(&saved["skipped"]), ["dir/"]);
    assert_eq!(repo.oid("refs/harness/checkpoints/main/001:dir"), known);
    assert_eq!(texts(&told["written"]), ["a"]);
    repo.undo("1 -y").ok();
    assert_eq!(repo.read("dir/b"), "changed\n");
    assert_eq!(repo.read("dir/untracked"), "new\n");
}

#[test]
fn files_above_the_limit_are_skipped_when_untracked() {
    let repo = small();
    repo.git("config checkpoint.maxFileSize 1k").ok();
    repo.write("big", "x".repeat(2000));
    repo.write("a", "y".repeat(2000));
    let saved = repo.save("");
    assert_eq!(paths(&saved["skipped"]), ["big"]);
    assert_eq!(
        repo.git("cat-file -s refs/harness/checkpoints/main/001:a")
            .ok()
            .out(),
        "2000"
    );
}

#[test]
fn the_largest_new_files_are_skipped_when_all_are_too_much() {
    let repo = small();
    repo.git("config checkpoint.maxNew 3k").ok();
    repo.write("large", "x".repeat(2500));
    repo.write("medium", "y".repeat(1000));
    repo.write("small", "z".repeat(100));
    let saved = repo.save("");
    assert_eq!(paths(&saved["skipped"]), ["large"]);
}

#[test]
fn a_shared_repository_shares_our_files() {
    let repo = Repo::init("--shared=group");
    repo.write("a", "1\n");
    repo.save("");
    let folder = repo.git_dir().join("harness");
    assert_eq!(repo.mode(&folder) & 0o770, 0o770);
    assert_eq!(repo.mode(folder.join("id")) & 0o660, 0o660);
}

#[test]
fn a_mirror_that_would_push_checkpoints_is_said_at_the_first_save() {
    let repo = small();
    repo.git("remote add --mirror=push backup ../backup").ok();
    let first = repo
        .git("checkpoint save")
        .ok()
        .says("backup")
        .says("refs/harness");
    first.prints("001");
    repo.git("checkpoint save").ok().silent();
}

#[test]
fn command_line_configuration_counts() {
    let repo = small();
    repo.write("big", "x".repeat(2000));
    let saved = repo
        .git("-c checkpoint.maxFileSize=1k checkpoint save --json")
        .ok()
        .json();
    assert_eq!(paths(&saved["skipped"]), ["big"]);
    let saved = repo.save("");
    assert_eq!(paths(&saved["skipped"]), [""; 0]);
}

#[test]
fn a_home_or_a_huge_tree_is_refused() {
    let repo = small();
    let at_home = repo.env("HOME", repo.root());
    at_home
        .git("checkpoint save")
        .fails(128)
        .says("fatal: ")
        .says("hint: ");
    assert!(repo.checkpoints().is_empty());
    repo.git("-c checkpoint.maxFiles=1 checkpoint save")
        .fails(128)
        .says("maxFiles");
    assert!(repo.checkpoints().is_empty());
    repo.git("-c checkpoint.maxFiles=2 checkpoint save").ok();
}

#[test]
fn a_bad_setting_is_fatal_before_anything() {
    let repo = small();
    repo.git("-c checkpoint.fsync=sometimes checkpoint save")
        .fails(128)
        .says("checkpoint.fsync");
    repo.git("-c checkpoint.maxFileSize=lots checkpoint save")
        .fails(128)
        .says("checkpoint.maxFileSize");
    assert!(repo.checkpoints().is_empty());
}

#[test]
fn every_setting_of_fsync_saves_soundly() {
    for setting in ["auto", "always", "never"] {
        let repo = small();
        for number in 0..20 {
            repo.write(format!("new/{number}"), format!("{number}\n"));
        }
        repo.run(["config", "checkpoint.fsync", setting]).ok();
        let oracle = repo.oracle_tree();
        assert_eq!(repo.save("")["tree"], oracle.as_str(), "{setting}");
        repo.fsck();
        let packs = repo.common_dir().join("objects/pack");
        let kept = std::fs::read_dir(packs).unwrap().any(|entry| {
            entry
                .unwrap()
                .path()
                .extension()
                .is_some_and(|e| e == "keep")
        });
        assert!(!kept, "{setting}: a .keep file stays behind");
    }
}

#[test]
fn remembered_ids_are_not_trusted_when_their_objects_may_be_gone() {
    let repo = small();
    repo.write("a", "dirty\n");
    repo.write("dir/new", "untracked\n");
    repo.save("");
    repo.sh("git for-each-ref --format='delete %(refname)' refs/harness | git update-ref --stdin")
        .ok();
    repo.git("prune --expire=now").ok();
    let oracle = repo.oracle_tree();
    assert_eq!(repo.save("")["tree"], oracle.as_str());
    repo.fsck();
}

#[test]
fn what_is_remembered_may_be_deleted_or_broken() {
    let repo = small();
    repo.write("a", "dirty\n");
    repo.save("");
    let id = std::fs::read(repo.git_dir().join("harness/id")).unwrap();
    let oracle = repo.oracle_tree();
    for garbage in [&b""[..], b"\0", b"garbage\n", &[0xff; 4096]] {
        for entry in std::fs::read_dir(repo.git_dir().join("harness")).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() && path.file_name().unwrap() != "id" {
                std::fs::write(path, garbage).unwrap();
            }
        }
        assert_eq!(repo.save("")["tree"], oracle.as_str(), "{garbage:?}");
    }
    assert_eq!(
        std::fs::read(repo.git_dir().join("harness/id")).unwrap(),
        id
    );
}

#[test]
fn our_files_are_private() {
    let repo = small();
    repo.write("a", "2\n");
    repo.save("");
    for folder in [
        repo.git_dir().join("harness"),
        repo.common_dir().join("harness/lanes"),
    ] {
        assert_eq!(repo.mode(&folder), 0o700, "{}", folder.display());
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                assert_eq!(repo.mode(&path), 0o600, "{}", path.display());
            }
        }
    }
}

#[test]
fn outside_a_repository_and_in_a_bare_one_is_fatal() {
    Repo::outside()
        .git("checkpoint save")
        .fails(128)
        .says("fatal: not a git repository");
    Repo::init("--bare")
        .git("checkpoint save")
        .fails(128)
        .says("fatal: ");
}

#[test]
fn an_unknown_extension_is_refused_before_anything() {
    let repo = small();
    repo.git("config core.repositoryFormatVersion 1").ok();
    repo.git("config extensions.fromTheFuture true").ok();
    repo.git("checkpoint save").fails(128).says("fatal: ");
    assert!(!repo.root().join(".git/refs/harness").exists());
}

#[test]
fn the_first_save_of_an_empty_index_writes_nothing_twice() {
    let repo = Repo::new();
    for number in 0..20 {
        repo.write(format!("{number}"), format!("{number}\n"));
    }
    repo.git("checkpoint save").ok();
    let counted = repo.git("count-objects -v").ok().out();
    assert!(counted.contains("packs: 1\n"), "{counted}");
    // 20 blobs, their tree, the checkpoint, its index state with two trees.
    assert!(counted.contains("in-pack: 25\n"), "{counted}");
    repo.fsck();
}
