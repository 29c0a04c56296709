//! `git shadow add`: what it makes, what it refuses, what it brings.

use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;

use crate::common::Repo;

fn simple() -> Repo {
    Repo::with(&[("a", "0\n"), ("dir/b", "0\n"), ("run", "#!/bin/sh\n")])
}

#[test]
fn it_is_a_clean_worktree_at_the_base_and_the_checkout_never_notices() {
    let repo = simple();
    repo.chmod("run", 0o755);
    repo.link("a", "link");
    repo.commit_all("more");
    repo.write("a", "dirty\n");
    repo.write("untracked", "x\n");
    repo.git("add untracked").ok();
    let (before, disk) = (repo.movable_fingerprint(), repo.disk());
    let shadow = repo.shadow("task-42");
    assert_eq!(repo.disk(), disk);
    assert_eq!(shadow.root(), repo.home().join(".worktrees/repo/task-42"));
    shadow.git("status --porcelain --ignored").ok().prints("");
    assert_eq!(shadow.read("a"), "0\n");
    assert_eq!(shadow.mode("run") & 0o100, 0o100);
    assert_eq!(shadow.oid("HEAD"), repo.oid("main"));
    assert_eq!(shadow.oracle_tree(), repo.oid("main^{tree}"));
    assert_eq!(repo.branches(), ["agent/task-42", "main"]);
    repo.git("config branch.agent/task-42.merge").fails(1);
    assert_eq!(shadow.git_dir().file_name().unwrap(), "task-42");
    assert!(!shadow.git_dir().join("locked").exists());
    repo.git("update-ref -d refs/heads/agent/task-42").ok();
    let mut after = repo.movable_fingerprint();
    let mut before = before;
    after.forget("reflogs");
    before.forget("reflogs");
    assert_eq!(after, before);
    repo.fsck();
}

#[test]
fn the_new_index_is_what_git_would_write() {
    let repo = simple();
    let shadow = repo.shadow("t");
    // git finds nothing to refresh: stat data are right.
    let stamp = shadow.stamp(shadow.git_dir().join("index"));
    shadow.git("diff-files --quiet").ok();
    shadow.git("update-index -q --refresh").ok();
    let entries = shadow.git("ls-files -s").ok().out();
    assert_eq!(
        entries,
        repo.git("ls-tree -r --format='%(objectmode) %(objectname) 0%x09%(path)' HEAD")
            .ok()
            .out()
    );
    // The trees are in it: git writes none anew.
    shadow
        .git("write-tree")
        .ok()
        .prints(&repo.oid("HEAD^{tree}"));
    let _ = stamp;
    let bytes = shadow.bytes(shadow.git_dir().join("index"));
    assert!(bytes.windows(4).any(|w| w == b"TREE"));
}

#[test]
fn json_says_what_there_is() {
    let repo = simple();
    repo.git("config shadow.ports 'web db'").ok();
    repo.git("config shadow.portBase 23001").ok();
    let added = repo.git("shadow add t --json").ok().json();
    assert_eq!(added, repo.shown("t"));
    for (field, value) in [
        ("task", serde_json::json!("t")),
        ("branch", serde_json::json!("agent/t")),
        ("base", serde_json::json!(repo.oid("main"))),
        ("head", serde_json::json!(repo.oid("main"))),
        ("state", serde_json::json!("clean")),
        ("ahead", serde_json::json!(0)),
        ("behind", serde_json::json!(0)),
        ("port", serde_json::json!(23001)),
        ("ports", serde_json::json!({"web": 23001, "db": 23002})),
        ("deps", serde_json::json!([])),
        ("copied", serde_json::json!([])),
        ("setup", serde_json::json!([])),
        ("owner", serde_json::Value::Null),
    ] {
        assert_eq!(added[field], value, "{field}");
    }
    let listed = repo.git("shadow list --json").ok().json();
    assert_eq!(listed[0]["task"], "t");
}

#[test]
fn several_shadows_of_one_base() {
    let repo = simple();
    let printed = repo.git("shadow add task --as a,b,c").ok().lines();
    assert_eq!(printed.len(), 3);
    assert_eq!(repo.shadows(), ["task-a", "task-b", "task-c"]);
    let mut ports = repo.ports();
    ports.dedup();
    assert_eq!(ports.len(), 3);
}

#[test]
fn uncommitted_work_can_come_along() {
    let repo = simple();
    repo.write("a", "dirty\n");
    repo.write("new/file", "n\n");
    repo.remove("dir");
    let (disk, user) = (repo.disk(), repo.fingerprint());
    repo.git("shadow add other --from-dirty --detach").ok();
    assert_eq!((repo.disk(), repo.fingerprint()), (disk, user));
    let shadow = repo.shadow("t --from-dirty");
    assert_eq!(shadow.disk(), repo.disk());
    let status = |repo: &Repo| repo.git("status --porcelain -uall").ok().out();
    assert_eq!(status(&shadow), status(&repo));
}

#[test]
fn what_cannot_be_is_refused_and_leaves_nothing() {
    let repo = simple();
    repo.git("branch taken").ok();
    repo.git("branch agent2").ok();
    repo.git("branch deep/er/x").ok();
    repo.write("../full/x", "x");
    let before = (repo.fingerprint(), repo.worktrees());
    for (arguments, word) in [
        ("t nowhere", "no commit"),
        ("t HEAD:a", "no commit"),
        ("t -b taken", "exists already"),
        ("t -b agent2/x", "in the way"),
        ("t -b deep/er", "in the way"),
        ("t --path ../full", "not an empty folder"),
        ("HEAD", "git's own"),
        ("x..y", "name of a branch"),
        ("'a b'", "name of a branch"),
        ("a,b", "shell"),
        ("'$(id)'", "shell"),
    ] {
        let outcome = repo
            .git(&format!("shadow add {arguments}"))
            .fails(128)
            .says(word);
        assert!(outcome.stdout.is_empty());
        assert_eq!(
            (repo.fingerprint(), repo.worktrees()),
            before,
            "{arguments}"
        );
        assert_eq!(repo.shadows(), [] as [&str; 0], "{arguments}");
        assert_eq!(repo.ports(), [] as [u64; 0], "{arguments}");
    }
}

#[test]
fn a_branch_called_agent_is_in_the_way_and_the_hint_helps() {
    let repo = simple();
    repo.git("branch agent").ok();
    repo.git("shadow add t")
        .fails(128)
        .says("'agent' is in the way")
        .says("shadow.branchPrefix");
    repo.git("config shadow.branchPrefix bot/").ok();
    repo.shadow("t");
    repo.shadow("u -b other");
    repo.shadow("v --detach");
    assert_eq!(repo.branches(), ["agent", "bot/t", "main", "other"]);
    assert_eq!(repo.shown("v")["branch"], serde_json::Value::Null);
}

#[test]
fn an_unborn_branch_is_explained() {
    Repo::new()
        .git("shadow add t")
        .fails(128)
        .says("no commit yet");
}

#[test]
fn twice_the_same_name() {
    let repo = simple();
    repo.shadow("t");
    repo.git("shadow add t").fails(128).says("already");
    assert_eq!(repo.shadows(), ["t"]);
}

#[test]
fn names_that_fall_together_get_folders_of_their_own() {
    let repo = simple();
    let a = repo.shadow("fix/login");
    let b = repo.shadow("fix-login");
    let c = repo.shadow("Fix-Login");
    let name = |shadow: &Repo| {
        shadow
            .root()
            .file_name()
            .unwrap()
            .to_string_lossy()
            .to_lowercase()
    };
    assert!(name(&a) != name(&b) && name(&b) != name(&c) && name(&a) != name(&c));
    assert_eq!(name(&b), "fix-login");
    assert!(repo.branches().contains(&"agent/fix/login".to_owned()));
    for task in ["fix/login", "fix-login", "Fix-Login"] {
        repo.git(&format!("shadow remove {task}")).ok();
    }
    repo.has_no_trace_of_shadows();
}

#[test]
fn where_case_does_not_count_no_two_branches_share_a_file_or_folder() {
    let repo = simple();
    repo.git("config core.ignoreCase true").ok();
    repo.shadow("sub/x");
    for name in ["sub/X", "SUB/x", "Sub/y", "SUB/y/z"] {
        repo.git(&format!("shadow add {name}"))
            .fails(128)
            .says("differs from")
            .says("only by case");
    }
    repo.shadow("sub/y");
    assert_eq!(repo.shadows(), ["sub/x", "sub/y"]);
    repo.git("shadow doctor").ok().prints("");
}

#[test]
fn two_repositories_of_one_name() {
    let one = simple();
    let two = one.seen_at(one.scene().join("other/repo"));
    std::fs::create_dir_all(two.root()).unwrap();
    two.git("init -q .").ok();
    two.write("x", "x\n");
    two.commit_all("base");
    let a = one.shadow("t");
    let b = two.shadow("t");
    assert_ne!(a.root().parent(), b.root().parent());
    assert_eq!(one.ports().len(), 2);
    assert!(b.exists("x") && !a.exists("x"));
}

#[test]
fn a_place_of_ones_own() {
    let repo = simple();
    let path = repo.scene().join("sp ace/{task}-{branch}");
    repo.git(&format!("config shadow.path '{}'", path.display()))
        .ok();
    assert_eq!(
        repo.shadow("t").root(),
        repo.scene().join("sp ace/t-agent-t")
    );
    let other = repo.shadow("u --path ../named/deep");
    assert_eq!(other.root(), repo.scene().join("named/deep"));
    assert_eq!(
        other.git_dir().file_name().unwrap(),
        "u",
        "the entry has the task's name"
    );
    other.git("status --porcelain").ok().prints("");
}

#[test]
fn never_inside_the_checkout_unasked() {
    let repo = simple();
    let inside = repo
        .env("HOME", repo.root())
        .env("XDG_CONFIG_HOME", repo.home());
    inside
        .git("shadow add t")
        .fails(128)
        .says("inside the checkout");
    repo.shadow("t --path in/side");
    assert!(repo.exists("in/side/a"));
}

#[test]
fn a_stale_base_is_said() {
    let origin = simple();
    let clone = origin.seen_at(origin.scene().join("clone"));
    origin.git("clone -q . ../clone").ok();
    origin.commit_all("newer");
    clone.git("fetch -q").ok();
    clone
        .git("shadow add t")
        .ok()
        .says("behind")
        .says("origin/main");
    clone.git("shadow add u origin/main").ok();
    assert_eq!(clone.shown("u")["base"], origin.oid("HEAD").as_str());
    origin.commit_all("newest");
    clone.git("shadow add v origin/main --fetch").ok();
    assert_eq!(clone.shown("v")["base"], origin.oid("HEAD").as_str());
    clone.git("config branch.agent/v.merge").fails(1);
}

#[test]
fn only_named_ignored_files_are_copied() {
    let repo = Repo::with(&[
        ("a", "0\n"),
        (".gitignore", ".env*\ncerts/\n*.db\nnode_modules/\n"),
        (
            ".worktreeinclude",
            "# data\n.env.test\ncerts/*\n!certs/private.pem\n",
        ),
    ]);
    repo.write(".env", "PRODUCTION=1\n");
    repo.write(".env.test", "TEST=1\n");
    repo.chmod(".env.test", 0o600);
    repo.write("certs/a.pem", "pem\n");
    repo.write("certs/private.pem", "pem\n");
    repo.write("certs/clone/.git/HEAD", "ref: refs/heads/x\n");
    repo.write("local.db", "db\n");
    repo.write("untracked.pem", "not ignored\n");
    repo.git("config --add shadow.include /local.db").ok();
    let shadow = repo.shadow("t");
    let mut copied: Vec<String> = repo.shown("t")["copied"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p.as_str().unwrap().to_owned())
        .collect();
    copied.sort();
    assert_eq!(copied, [".env.test", "certs/a.pem", "local.db"]);
    assert_eq!(shadow.mode(".env.test"), 0o600);
    let mtime = |repo: &Repo| repo.path(".env.test").metadata().unwrap().mtime();
    assert_eq!(mtime(&shadow), mtime(&repo));
    for absent in [".env", "certs/private.pem", "certs/clone", "untracked.pem"] {
        assert!(!shadow.exists(absent), "{absent}");
    }
    assert!(!repo.shadow("u --no-copy").exists(".env.test"));
}

#[test]
fn a_linked_dependency_cannot_be_committed() {
    let repo = Repo::with(&[
        ("a", "0\n"),
        (".gitignore", "node_modules/\ntarget/\nvendor/\n"),
    ]);
    repo.write("node_modules/left/index.js", "module\n");
    repo.write("target/debug/lock", "");
    repo.write("target/debug/app", "binary\n");
    repo.write("vendor/gem/x", "x\n");
    let before = repo.read(".git/info/exclude");
    let shadow = repo.shadow("t");
    let deps = repo.shown("t")["deps"].clone();
    let how = |path: &str| {
        let all = deps.as_array().unwrap();
        all.iter()
            .find(|d| d["path"] == path)
            .unwrap_or_else(|| panic!("{deps}"))["how"]
            .clone()
    };
    if how("node_modules") == "cloned" {
        // This file system clones: nothing is shared, nothing is excluded.
        assert!(!shadow.path("node_modules").is_symlink());
        return;
    }
    assert_eq!(
        (how("node_modules"), how("target"), how("vendor")),
        ("linked".into(), "left out".into(), "left out".into())
    );
    assert!(shadow.path("node_modules").is_symlink());
    shadow.git("add -A").ok();
    shadow.git("status --porcelain").ok().prints("");
    repo.git("status --porcelain").ok().prints("");
    repo.git("config shadow.link vendor").ok();
    let second = repo.shadow("u");
    assert!(second.path("vendor").is_symlink());
    repo.git("shadow remove t").ok();
    second.git("status --porcelain").ok().prints("");
    repo.git("shadow remove u").ok();
    assert_eq!(repo.read(".git/info/exclude"), before);
    assert!(!repo.shadow("v --no-deps").exists("node_modules"));
}

#[test]
fn a_workspace_that_points_back_is_left_out() {
    let repo = Repo::with(&[
        ("packages/one/index.js", "1\n"),
        (".gitignore", "node_modules/\n"),
    ]);
    repo.write("node_modules/left/index.js", "module\n");
    repo.link("../packages/one", "node_modules/one");
    let shadow = repo.shadow("t");
    let deps = repo.shown("t")["deps"].clone();
    if deps[0]["how"] == "cloned" {
        assert_eq!(
            shadow.path("node_modules/one").canonicalize().unwrap(),
            shadow.path("packages/one")
        );
    } else {
        assert_eq!(deps[0]["how"], "left out");
        assert!(!shadow.exists("node_modules"));
    }
}

#[test]
fn an_environment_that_imports_the_checkout_is_left_out() {
    let repo = Repo::with(&[("a", "0\n"), (".gitignore", ".venv\n")]);
    repo.write(".venv/pyvenv.cfg", "home = /usr\n");
    repo.write(
        ".venv/lib/python3/site-packages/__editable__.pth",
        format!("{}/src\n", repo.root().display()),
    );
    let shadow = repo.shadow("t");
    assert_eq!(repo.shown("t")["deps"][0]["how"], "left out");
    assert!(!shadow.exists(".venv"));
}

#[test]
fn setup_runs_in_the_shadow_with_its_environment() {
    let repo = simple();
    repo.git("config shadow.portBase 23101").ok();
    repo.git("config --add shadow.setup 'echo $SHADOW_TASK $PORT >made; echo told'")
        .ok();
    repo.git("config --add shadow.setup 'test -d \"$TMPDIR\"'")
        .ok();
    let outcome = repo.git("shadow add t").ok().says("told");
    assert_eq!(outcome.lines().len(), 1, "only the path");
    assert_eq!(repo.seen_at(outcome.out()).read("made"), "t 23101\n");
    repo.git("config --add shadow.setup 'exit 3'").ok();
    repo.git("shadow add u").fails(1).says("exit 3");
    assert_eq!(repo.shown("u")["setup"][2]["exit"], 3);
    assert_eq!(repo.shown("u")["state"], "dirty", "it stays");
    repo.git("shadow add v --no-setup").ok();
    assert_eq!(repo.shown("v")["setup"], serde_json::json!([]));
}

#[test]
fn nothing_of_the_repository_makes_us_run_a_command() {
    let repo = Repo::with(&[
        ("a", "0\n"),
        (
            ".worktreeinclude",
            "$(touch ran)\n`touch ran`\n!sh -c 'touch ran'\n",
        ),
        (".gitconfig", "[shadow]\n\tsetup = touch ran\n"),
        (".git-shadow", "setup = touch ran\n"),
        (".githooks/post-checkout", "#!/bin/sh\ntouch ran\n"),
        (
            "package.json",
            "{\"scripts\": {\"postinstall\": \"touch ran\"}}\n",
        ),
    ]);
    repo.chmod(".githooks/post-checkout", 0o755);
    repo.commit_all("executable");
    let shadow = repo.shadow("t");
    repo.git("shadow run t -- true").ok();
    repo.git("shadow diff t").ok();
    repo.git("shadow remove -y t").ok();
    repo.git("shadow restore t").ok();
    for place in [&repo, &shadow] {
        assert!(!place.exists("ran"));
    }
}

#[test]
fn the_users_hook_runs_and_its_failure_is_said() {
    let repo = simple();
    repo.write(
        ".git/hooks/post-checkout",
        "#!/bin/sh\necho \"$2 $3\" >hooked\nls a >>hooked\nexit $CODE\n",
    );
    repo.chmod(".git/hooks/post-checkout", 0o755);
    let added = repo
        .env("CODE", "0")
        .git("shadow add t")
        .ok()
        .says("post-checkout");
    let hooked = repo.seen_at(added.out()).read("hooked");
    assert_eq!(hooked, format!("{} 1\na\n", repo.oid("HEAD")));
    repo.env("CODE", "1")
        .git("shadow add u")
        .fails(1)
        .says("failed");
    assert_eq!(repo.shadows(), ["t", "u"]);
    repo.git("-c shadow.hooks=false shadow add v")
        .ok()
        .never_says("post-checkout");
    // A relative core.hooksPath starts at the new worktree.
    repo.write(".hooks/post-checkout", "#!/bin/sh\ntouch relative\n");
    repo.chmod(".hooks/post-checkout", 0o755);
    repo.commit_all("hooks");
    repo.git("config core.hooksPath .hooks").ok();
    assert!(repo.shadow("w").exists("relative"));
}

#[test]
fn ports_skip_what_is_taken_and_are_given_back() {
    let repo = simple();
    repo.git("config shadow.portBase 23201").ok();
    let taken = TcpListener::bind("127.0.0.1:23205").unwrap();
    repo.shadow("t");
    assert_eq!(repo.ports(), [23211]);
    drop(taken);
    repo.shadow("u");
    assert_eq!(repo.shown("u")["port"], 23201);
    repo.git("shadow remove t u").ok();
    assert_eq!(repo.ports(), [] as [u64; 0]);
}

#[test]
fn a_server_that_holds_the_base_port_is_left_alone() {
    let repo = simple();
    repo.git("config shadow.portBase 23301").ok();
    let server = TcpListener::bind("0.0.0.0:23301").unwrap();
    let shadow = repo.shadow("t");
    let output = repo
        .git("shadow run -q t -- sh -c 'echo $PORT $TMPDIR'")
        .ok()
        .out();
    let mut words = output.split(' ');
    assert_eq!(words.next(), Some("23311"));
    let folder = words.next().unwrap();
    assert!(std::path::Path::new(folder).is_dir() && folder.len() < 100);
    assert_ne!(folder, repo.scene().join("tmp").to_str().unwrap());
    drop((server, shadow));
}

#[test]
fn the_environment_in_three_formats() {
    let repo = simple();
    let shadow = repo.shadow("t");
    let json = repo.git("shadow env t --format=json").ok().json();
    assert_eq!(json["SHADOW_TASK"], "t");
    assert_eq!(json["SHADOW_PATH"], shadow.root().to_str().unwrap());
    let shell = repo.git("shadow env t").ok().out();
    let echoed = repo
        .sh(&format!("{shell}\necho $SHADOW_BRANCH $PORT"))
        .ok()
        .out();
    assert_eq!(
        echoed,
        format!("agent/t {}", json["PORT"].as_str().unwrap())
    );
    let dotenv = repo.git("shadow env t --format=dotenv").ok().out();
    assert!(dotenv.contains("SHADOW_TASK=t\n"), "{dotenv}");
}

#[test]
fn at_most_four_children_are_git() {
    let origin = simple();
    origin.git("clone -q . ../clone").ok();
    let repo = origin.seen_at(origin.scene().join("clone"));
    repo.write(".worktreeinclude", "*.env\n");
    repo.write(".git/hooks/post-checkout", "#!/bin/sh\n");
    repo.chmod(".git/hooks/post-checkout", 0o755);
    let (counted, log) = repo.noting_children();
    // A hook that fails costs nothing but the exit code.
    let added = counted.program("git-shadow", "add t main");
    let children = std::fs::read_to_string(log).unwrap();
    assert_eq!(repo.shadows(), ["t"], "{added:?}");
    assert!(
        (1..=4).contains(&children.lines().count()),
        "git was started for:\n{children}"
    );
}

#[test]
fn the_first_save_in_it_rebuilds_no_tree() {
    let repo = simple();
    let shadow = repo.shadow("t");
    let trees = |repo: &Repo| {
        let all =
            repo.git("cat-file --batch-all-objects --batch-check='%(objecttype) %(objectname)'");
        all.ok()
            .lines()
            .into_iter()
            .filter(|l| l.starts_with("tree"))
            .count()
    };
    let before = trees(&repo);
    let saved = shadow.save("");
    assert_eq!(saved["tree"], repo.oid("HEAD^{tree}").as_str());
    // That of the index state, which holds HEAD's tree as its only entry.
    assert!(trees(&repo) <= before + 1);
}
