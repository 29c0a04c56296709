//! Files that a program converts: git-lfs, and a filter that stays for a whole
//! command (gitattributes(5), "Long Running Filter Process").

use crate::common::{Repo, texts};

/// A repository with one file kept by git-lfs, committed and clean.
fn with_lfs() -> Option<Repo> {
    let repo = Repo::new();
    if !repo.has_programs(&["git-lfs"]) {
        return None;
    }
    repo.git("lfs install --local --skip-repo").ok();
    repo.write(
        ".gitattributes",
        "*.bin filter=lfs diff=lfs merge=lfs -text\n",
    );
    repo.write("data.bin", "one\0two\n".repeat(100));
    repo.write("a", "1\n");
    repo.commit_all("with lfs");
    // From here on nobody may run it: it may need the network.
    for key in ["clean", "smudge", "process"] {
        repo.git(&format!("config filter.lfs.{key} 'touch ran; false'"))
            .ok();
    }
    Some(repo)
}

#[test]
fn a_clean_lfs_file_keeps_its_pointer_and_comes_back_from_the_local_store() {
    let Some(repo) = with_lfs() else { return };
    let content = repo.bytes("data.bin");
    let saved = repo.save("");
    assert_eq!(saved["raw"], serde_json::json!([]));
    assert_eq!(
        repo.oid("refs/harness/checkpoints/main/001:data.bin"),
        repo.oid("HEAD:data.bin")
    );
    repo.write("data.bin", "spoilt");
    let told = repo.undo("--to 1 --others=revert").ok().json();
    assert_eq!(texts(&told["written"]), ["data.bin"]);
    assert_eq!(repo.bytes("data.bin"), content);
    assert!(!repo.exists("ran"), "git-lfs was not run");
}

#[test]
fn a_dirty_lfs_file_is_captured_as_it_is() {
    let Some(repo) = with_lfs() else { return };
    repo.write("data.bin", "work in progress\r\n");
    let saved = repo.save("");
    assert_eq!(saved["raw"], serde_json::json!(["data.bin"]));
    repo.write("data.bin", "spoilt");
    repo.git("checkpoint undo --others=revert").ok();
    assert_eq!(repo.read("data.bin"), "work in progress\r\n");
    assert!(!repo.exists("ran"), "git-lfs was not run");
}

#[test]
fn an_lfs_file_whose_content_is_not_here_is_left_alone() {
    let Some(repo) = with_lfs() else { return };
    repo.save("");
    repo.sh("rm -r .git/lfs/objects").ok();
    repo.write("data.bin", "mine\n");
    repo.write("a", "2\n");
    let told = repo.undo("--to 1 --others=revert").fails(1).json();
    assert_eq!(told["left_alone"][0]["path"], "data.bin");
    assert_eq!(repo.read("data.bin"), "mine\n");
    assert_eq!(repo.read("a"), "1\n", "it costs no other");
}

/// Turns letters around, both ways, in the protocol of a filter process.
const PROCESS: &str = r#"import sys
i, o = sys.stdin.buffer, sys.stdout.buffer
def read():
    n = int(i.read(4) or b'0', 16)
    return i.read(n - 4) if n else None
def lines():
    found = []
    while (line := read()) is not None:
        found.append(line)
    return found
def write(*packets):
    for p in packets:
        o.write(b'%04x' % (len(p) + 4) + p if p is not None else b'0000')
    o.flush()
lines(); write(b'git-filter-server\n', b'version=2\n', None)
lines(); write(b'capability=clean\n', b'capability=smudge\n', None)
turn = bytes.maketrans(bytes(range(97, 123)), bytes(range(122, 96, -1)))
while True:
    head = i.read(4)
    if not head:
        break
    first = i.read(int(head, 16) - 4)
    lines()
    content = b''.join(lines()).translate(turn)
    write(b'status=success\n', None)
    for at in range(0, len(content), 60000):
        write(content[at:at + 60000])
    write(None, None)
"#;

#[test]
fn a_filter_process_is_asked_for_every_file_and_turns_it_back() {
    let repo = Repo::with(&[("x.turn", "before\n")]);
    if !repo.has_programs(&["python3"]) {
        return;
    }
    let filter = repo.scene().join("turn.py");
    std::fs::write(&filter, PROCESS).unwrap();
    let start = format!("python3 {}", filter.display());
    repo.run(["config", "filter.turn.process", &start]).ok();
    repo.write(".gitattributes", "*.turn filter=turn\n");
    for number in 0..20 {
        repo.write(format!("{number}.turn"), "letters ".repeat(number * 2000));
    }
    let disk = repo.disk();
    let saved = repo.save("");
    assert_eq!(saved["tree"], repo.oracle_tree().as_str());
    assert_eq!(saved["raw"], serde_json::json!([]));
    for number in 0..20 {
        repo.write(format!("{number}.turn"), "spoilt");
    }
    repo.git("checkpoint undo --others=revert").ok();
    assert_eq!(repo.disk(), disk);
}

/// A repository where `*.r` goes through the filter `f`, and has the file `x.r`.
fn filtered(clean: &str, smudge: &str) -> Repo {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.write(".gitattributes", "*.r filter=f\n");
    repo.run(["config", "filter.f.clean", clean]).ok();
    repo.run(["config", "filter.f.smudge", smudge]).ok();
    repo.write("x.r", "abc\n");
    repo
}

#[track_caller]
fn is_raw(repo: &Repo) {
    let saved = repo.save("");
    assert_eq!(saved["raw"], serde_json::json!(["x.r"]));
    let content = repo.git("cat-file blob refs/harness/checkpoints/main/001:x.r");
    assert_eq!(content.ok().stdout, repo.bytes("x.r"));
}

#[test]
fn a_filter_that_does_not_end_is_stopped_with_all_it_started() {
    let hang = "echo $$ >>.git/pids; sleep 1000 & echo $! >>.git/pids; wait";
    for (clean, smudge) in [(hang, "cat"), ("cat", hang)] {
        let repo = filtered(clean, smudge);
        repo.write("y.r", "not asked again\n");
        repo.git("config checkpoint.filterTimeout 1").ok();
        let saved = repo.save("");
        assert_eq!(saved["raw"], serde_json::json!(["x.r", "y.r"]));
        let pids = repo.read(".git/pids");
        assert!(pids.lines().count() >= 2, "{pids}");
        for pid in pids.lines() {
            let state = repo.sh(&format!("ps -o stat= -p {pid} | grep -v Z"));
            assert_eq!(state.code(), Some(1), "{pid} lives");
        }
    }
}

#[test]
fn a_filter_that_does_not_end_costs_an_undo_only_its_own_files() {
    let repo = filtered("tr a-z b-za", "tr b-za a-z");
    assert_eq!(repo.save("")["raw"], serde_json::json!([]));
    repo.write("x.r", "mine\n");
    repo.write("a", "2\n");
    repo.git("config checkpoint.filterTimeout 1").ok();
    repo.run(["config", "filter.f.smudge", "sleep 1000"]).ok();
    let told = repo.undo("--to 1 --others=revert").fails(1).json();
    assert_eq!(told["left_alone"][0]["path"], "x.r");
    let reason = told["left_alone"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("the filter 'f'"), "{reason}");
    assert_eq!(
        (repo.read("x.r"), repo.read("a")),
        ("mine\n".into(), "1\n".into())
    );
}

#[test]
fn a_filter_named_from_the_root_is_found_from_everywhere() {
    let repo = filtered("sh .git/turn", "sh .git/back");
    repo.write(".git/turn", "tr a-z b-za\n");
    repo.write(".git/back", "tr b-za a-z\n");
    repo.mkdir("sub");
    let saved = repo.in_dir("sub").save("");
    assert_eq!(saved["tree"], repo.oracle_tree().as_str());
    repo.write("x.r", "spoilt\n");
    repo.remove(".gitattributes");
    let undone = repo.in_dir("sub").undo("--to 1 --others=revert");
    if repo.git("--attr-source=HEAD version").code() == Some(0) {
        undone.ok();
        assert_eq!(repo.read("x.r"), "abc\n");
    } else {
        // git before 2.41 reads attributes of a tree only where it is laid out.
        let told = undone.fails(1).json();
        assert_eq!(told["left_alone"][0]["path"], "x.r");
        assert_eq!(repo.read("x.r"), "spoilt\n");
    }
}

#[test]
fn a_filter_cannot_fetch() {
    let repo = filtered("git ls-remote -q \"file://$PWD\" && cat", "cat");
    repo.run([
        "ls-remote",
        "-q",
        &format!("file://{}", repo.root().display()),
    ])
    .ok();
    is_raw(&repo);
}

#[test]
fn what_a_failed_filter_let_through_is_not_taken_for_its_work() {
    let repo = filtered("false", "tr b-za a-z");
    is_raw(&repo);
    // Now it works: the bytes of then would come back as others.
    repo.run(["config", "filter.f.clean", "tr a-z b-za"]).ok();
    repo.write("x.r", "spoilt\n");
    repo.git("checkpoint undo --others=revert").ok();
    assert_eq!(repo.read("x.r"), "abc\n");
}

#[test]
fn rules_that_only_the_index_has_are_not_guessed() {
    let repo = filtered("tr a-z b-za", "tr b-za a-z");
    repo.write("far/.gitattributes", "*.r filter=f\n");
    repo.write("far/x", "x\n");
    repo.remove(".gitattributes");
    repo.remove("x.r");
    repo.commit_all("far");
    repo.git("sparse-checkout set --no-cone /a /far/y.r").ok();
    repo.write("far/y.r", "abc\n");
    let saved = repo.save("");
    assert_eq!(saved["raw"], serde_json::json!(["far/y.r"]));
    repo.write("far/y.r", "spoilt\n");
    repo.git("checkpoint undo --others=revert").ok();
    assert_eq!(repo.read("far/y.r"), "abc\n");
}

#[test]
fn a_hundred_files_cost_two_gits() {
    let repo = filtered("tr a-z b-za", "tr b-za a-z");
    for number in 0..100 {
        repo.write(format!("{number}.r"), format!("letters {number}\n"));
    }
    let disk = repo.disk();
    repo.save("");
    repo.sh("for f in *.r; do echo spoilt >$f; done").ok();
    let trace = repo.scene().join("trace");
    repo.mkdir("sub/folder");
    repo.in_dir("sub/folder")
        .env("GIT_TRACE2_EVENT", &trace)
        .git("checkpoint undo --others=revert")
        .ok();
    repo.remove("sub");
    assert_eq!(repo.disk(), disk);
    let gits = std::fs::read_to_string(&trace).unwrap();
    let gits = gits.matches("\"event\":\"start\"").count();
    assert!(gits < 20, "{gits} gits");
}
