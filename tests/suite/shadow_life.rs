//! The life of a task, as its user sees it.

use std::net::TcpListener;

use crate::common::{Repo, not_here};

#[test]
fn from_a_dirty_checkout_to_merged_and_gone() {
    let repo = Repo::with(&[
        ("src/main.rs", "fn main() {}\n"),
        ("package.json", "{\"name\": \"app\"}\n"),
        (".gitignore", "node_modules/\ntarget/\n.venv/\n.env.test\n"),
        (".worktreeinclude", ".env.test\n"),
    ]);
    repo.git("config shadow.portBase 23401").ok();
    repo.write(".env.test", "TOKEN=t\n");
    repo.chmod(".env.test", 0o600);
    repo.write("node_modules/left/index.js", "module.exports = 1\n");
    repo.write("target/debug/app", "binary\n");
    repo.write(".venv/pyvenv.cfg", "home = /usr\n");
    // The developer is in the middle of something.
    repo.write("src/main.rs", "fn main() { todo }\n");
    repo.write("notes", "mine\n");
    repo.git("add notes").ok();
    let server = TcpListener::bind("127.0.0.1:23401").unwrap();
    let (disk, status) = (repo.disk(), repo.git("status --porcelain").ok().out());

    let shadow = repo.shadow("task-42");
    assert_eq!(shadow.read("src/main.rs"), "fn main() {}\n");
    assert_eq!(shadow.read(".env.test"), "TOKEN=t\n");
    assert_eq!(
        shadow.read("node_modules/left/index.js"),
        "module.exports = 1\n"
    );
    shadow.git("status --porcelain").ok().prints("");

    let script =
        "echo \"$PORT\" >port.txt; echo 'fn helper() {}' >src/helper.rs; git status >/dev/null";
    repo.run(["shadow", "run", "task-42", "--", "sh", "-c", script])
        .ok();
    assert_eq!(shadow.read("port.txt"), "23411\n");
    let stat = repo.git("shadow diff task-42 --stat").ok().out();
    assert!(
        stat.contains("helper.rs") && stat.contains("port.txt"),
        "{stat}"
    );

    repo.git("shadow finish task-42 -m 'add a helper' --test 'test -e src/helper.rs'")
        .ok();
    assert!(!shadow.root().exists());
    assert_eq!(repo.worktrees(), [repo.root()]);
    repo.git("shadow merge task-42 --remove").ok();
    drop(server);

    assert_eq!(
        repo.git("log --format=%s").ok().lines(),
        ["add a helper", "base"]
    );
    assert_eq!(repo.git("status --porcelain").ok().out(), status);
    repo.remove("src/helper.rs");
    repo.remove("port.txt");
    assert_eq!(
        repo.disk(),
        disk,
        "all that is the developer's is as it was"
    );
    repo.has_no_trace_of_shadows();
}

/// A project with packages that npm has installed (`.ci/run` does that), as a repository.
fn npm_project(name: &str) -> Option<Repo> {
    let fixture = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("target/npm-fixture")
        .join(name);
    if !fixture.join("node_modules/ms").exists() {
        not_here("what npm installs ('.ci/run' does that)");
        return None;
    }
    let repo = Repo::new();
    repo.sh(&format!("cp -a '{}/.' .", fixture.display())).ok();
    repo.write(".gitignore", "node_modules/\n");
    repo.commit_all("base");
    Some(repo)
}

#[test]
fn real_packages_work_in_the_shadow() {
    let Some(repo) = npm_project("plain") else {
        return;
    };
    let shadow = repo.shadow("t");
    repo.git("shadow run -q t -- node -e 'console.log(require(\"ms\")(60000))'")
        .ok()
        .prints("1m");
    shadow.git("add -A").ok();
    shadow.git("status --porcelain").ok().prints("");
    repo.git("shadow remove t").ok();
    assert!(repo.exists("node_modules/ms/index.js"));
    repo.has_no_trace_of_shadows();
}

#[test]
fn a_real_workspace_never_runs_on_the_wrong_tree() {
    let Some(repo) = npm_project("workspace") else {
        return;
    };
    let shadow = repo.shadow("t");
    let how = repo.shown("t")["deps"][0]["how"].clone();
    if how == "cloned" {
        repo.git("shadow run -q t -- node -p 'require(\"one\")'")
            .ok()
            .prints(shadow.path("packages/one/index.js").to_str().unwrap());
    } else {
        assert_eq!(how, "left out");
        repo.git("shadow run -q t -- node -p 'require(\"one\")'")
            .fails(1);
    }
}
