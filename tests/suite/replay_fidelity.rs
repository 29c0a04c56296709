//! The same ids, whatever the commits are: odd headers, odd changes, merges,
//! roots, signatures. For each odd commit it is also shown what a reader of
//! the plain fields gets by `git commit-tree`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use serde_json::Value;

use crate::common::Repo;
use crate::replay::Replay;

/// What the plain fields give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plain {
    Same,
    /// The same in newer versions of git, another id in older ones.
    Depends,
    Other,
    Refused,
    Unavailable,
}
use Plain::*;

struct Odd {
    name: &'static str,
    author: &'static [u8],
    committer: &'static [u8],
    /// Header lines after the committer.
    headers: &'static [u8],
    message: &'static [u8],
    plain: Plain,
}

const WHO: &[u8] = b"A U Thor <author@example.com> 1700000000 +0100";

const fn message(name: &'static str, message: &'static [u8], plain: Plain) -> Odd {
    Odd {
        name,
        author: WHO,
        committer: WHO,
        headers: b"",
        message,
        plain,
    }
}

const fn author(name: &'static str, author: &'static [u8], plain: Plain) -> Odd {
    Odd {
        name,
        author,
        committer: WHO,
        headers: b"",
        message: b"m\n",
        plain,
    }
}

const fn headers(name: &'static str, headers: &'static [u8], plain: Plain) -> Odd {
    Odd {
        name,
        author: WHO,
        committer: WHO,
        headers,
        message: b"m\n",
        plain,
    }
}

const ODD: &[Odd] = &[
    message("plain", b"m\n", Same),
    message("subject and body", b"subject\n\nbody\n", Same),
    message("brackets", b"[core] fix\n", Same),
    message("hash lines", b"m\n\n# not a comment\n", Same),
    message("empty message", b"", Same),
    author(
        "trailing dot",
        b"A. U. Thor Jr. <author@example.com> 1700000000 +0100",
        Depends,
    ),
    author("empty email", b"A U Thor <> 1700000000 +0100", Same),
    message("no final newline", b"m", Same),
    message("trailing blanks", b"m  \n\n\n", Same),
    message("leading blanks", b"\n\n  m\n", Same),
    message("CRLF", b"m\r\n\r\nbody\r\n", Same),
    message("dashes", b"m\n\n---\nnot a patch\n", Same),
    message("two-line subject", b"one\ntwo\n\nbody\n", Same),
    message(
        "diff in message",
        b"m\n\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n",
        Same,
    ),
    message("empty commit", b"nothing changes\n", Same),
    Odd {
        committer: b"C O Mitter <c@example.com> 1800000000 -0930",
        ..message("committer date differs", b"m\n", Same)
    },
    author(
        "zone -0000",
        b"A U Thor <author@example.com> 1700000000 -0000",
        Other,
    ),
    author("epoch 1", b"A U Thor <author@example.com> 1 +0000", Refused),
    author(
        "name in quotes",
        b"\"A U Thor\" <author@example.com> 1700000000 +0100",
        Other,
    ),
    author(
        "latin-1 name",
        b"J\xfcrgen <author@example.com> 1700000000 +0100",
        Other,
    ),
    author(
        "empty name",
        b" <author@example.com> 1700000000 +0100",
        Refused,
    ),
    headers("encoding", b"encoding ISO-8859-1\n", Unavailable),
    message("latin-1 message", b"gr\xfcn\n", Other),
    headers(
        "gpgsig",
        b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQEz\n -----END PGP SIGNATURE-----\n",
        Other,
    ),
    headers("unknown header", b"change-id zxyw\n", Other),
    author(
        "zone +051800",
        b"A U Thor <author@example.com> 1700000000 +051800",
        Unavailable,
    ),
];

impl Odd {
    /// Writes the commit of `tree` on `parent`; its id.
    #[track_caller]
    fn write(&self, repo: &Repo, tree: &str, parent: &str) -> String {
        let content = [
            format!("tree {tree}\nparent {parent}\nauthor ").as_bytes(),
            self.author,
            b"\ncommitter ",
            self.committer,
            b"\n",
            self.headers,
            b"\n",
            self.message,
        ]
        .concat();
        repo.feed("hash-object -t commit -w --literally --stdin", content)
            .ok()
            .out()
    }
}

/// A repository with the 26 on top of each other, on the branch `odd`, and their ids.
fn odd_history() -> (Repo, Vec<String>) {
    let repo = Repo::with(&[("f", "0\n")]);
    let mut parent = repo.oid("HEAD");
    let mut ids = Vec::new();
    for (number, odd) in ODD.iter().enumerate() {
        if odd.name != "empty commit" {
            repo.write("f", format!("{number}\n"));
            repo.git("add f").ok();
        }
        let tree = repo.git("write-tree").ok().out();
        parent = odd.write(&repo, &tree, &parent);
        ids.push(parent.clone());
    }
    repo.git(&format!("update-ref refs/heads/odd {parent}"))
        .ok();
    repo.git("reset -q --hard").ok();
    (repo, ids)
}

#[test]
fn twenty_six_of_twenty_six_odd_commits_get_their_ids() {
    let (repo, ids) = odd_history();
    assert_eq!(ids.len(), 26);
    for patches in ["binary", "text"] {
        let journal = format!("../{patches}.json");
        repo.replay(&format!(
            "record main..odd --no-prompt --patches={patches} -o {journal}"
        ))
        .ok()
        .says("26 commits, all rebuilt once");
        let clone = repo.fresh("main");
        let path = repo.path(&journal).display().to_string();
        let found = clone.replay(&format!("{path} --json")).ok().json();
        let rebuilt: Vec<&str> = found["commits"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| c["oid"].as_str().unwrap())
            .collect();
        assert_eq!(rebuilt, ids);
        assert_eq!(clone.oid(found["branch"].as_str().unwrap()), ids[25]);
        assert_eq!(
            found["fsck"],
            serde_json::json!([{"oid": ids[25], "complaint": "badTimezone"}])
        );
        clone.replay(&format!("{path} --check")).ok().says(&format!(
            "commit {} is as recorded, and git fsck calls it badTimezone",
            ids[25]
        ));
    }
}

#[test]
fn a_reader_of_the_plain_fields_gets_what_is_said() {
    let (repo, _) = odd_history();
    let parent = repo.oid("main");
    repo.write("f", "changed\n");
    repo.git("add f").ok();
    let tree = repo.git("write-tree").ok().out();
    for odd in ODD {
        let id = odd.write(&repo, &tree, &parent);
        repo.remove_if_there("one.json");
        let outcome = repo
            .replay(&format!("record {parent}..{id} --no-prompt -o one.json"))
            .ok()
            .says("1 commit, rebuilt once from it with the same tree and id");
        let said = outcome.err();
        let told = match odd.plain {
            Depends => said.contains("a reader of the plain fields with an older git"),
            Same => !said.contains("a reader of the plain fields"),
            Other => said.contains("a reader of the plain fields gets another id"),
            Refused => said.contains("a reader of the plain fields cannot make it"),
            Unavailable => said.contains("a reader of the plain fields rebuilds nothing"),
        };
        assert!(told, "{}: {said}", odd.name);
        let entry = workspace(&repo.journal("one.json"));
        let found = plain_reader(&repo, &entry, &parent, &tree, &id);
        let wanted = match odd.plain {
            Depends if found == Other => Other,
            Depends => Same,
            plain => plain,
        };
        assert_eq!(found, wanted, "{}", odd.name);
    }
}

/// Rebuilds as Outpost does: `git commit-tree` with six variables and the
/// message on standard input, after its own checks.
fn plain_reader(repo: &Repo, entry: &Value, parent: &str, tree: &str, id: &str) -> Plain {
    if entry.get("unavailable").is_some() {
        return Unavailable;
    }
    let commit = &entry["commits"][0];
    let mut with = repo.clone();
    for (variable, who, field) in [
        ("GIT_AUTHOR_NAME", "author", "name"),
        ("GIT_AUTHOR_EMAIL", "author", "email"),
        ("GIT_AUTHOR_DATE", "author", "date"),
        ("GIT_COMMITTER_NAME", "committer", "name"),
        ("GIT_COMMITTER_EMAIL", "committer", "email"),
        ("GIT_COMMITTER_DATE", "committer", "date"),
    ] {
        let value = commit[who][field].as_str().unwrap();
        with = with.env(variable, OsString::from_vec(value.into()));
    }
    let message = commit["message"].as_str().unwrap();
    let outcome = with.feed(&format!("commit-tree {tree} -p {parent}"), message);
    match outcome.code() {
        Some(0) if outcome.out() == id => Same,
        Some(0) => Other,
        _ => Refused,
    }
}

fn workspace(journal: &[Value]) -> Value {
    journal
        .iter()
        .find(|entry| entry["kind"] == "workspace-commits")
        .unwrap()
        .clone()
}

trait RemoveIfThere {
    fn remove_if_there(&self, path: &str);
}

impl RemoveIfThere for Repo {
    fn remove_if_there(&self, path: &str) {
        if self.exists(path) {
            self.remove(path);
        }
    }
}

/// A history of 23 commits, each another kind of change.
fn changes() -> Repo {
    let repo = Repo::with(&[
        ("a", "one\ntwo\nthree\n"),
        ("d/e/f", "deep\n"),
        ("crlf", "a\r\nb\r\n"),
    ]);
    repo.write("sub.attributes", "kept to have something\n");
    let commit = |message: &str| repo.commit_all(message);
    repo.write("a", "one\ntwo\nthree");
    commit("no newline at the end");
    repo.write("crlf", "a\r\nb\r\nc\r\n");
    commit("CRLF");
    repo.write("bin", b"\0\x01\xff binary \0");
    commit("binary");
    repo.chmod("a", 0o755);
    commit("mode only");
    repo.rename("a", "renamed");
    repo.chmod("renamed", 0o644);
    commit("rename and mode");
    repo.remove("renamed");
    repo.link("crlf", "renamed");
    commit("file to link");
    repo.remove("renamed");
    repo.write("renamed", "a file again\n");
    commit("link to file");
    repo.remove("renamed");
    repo.write("renamed/in/here", "below\n");
    commit("file to folder");
    repo.remove("renamed");
    repo.write("renamed", "and back\n");
    commit("folder to file");
    repo.write("empty", "");
    repo.write("empty2", "");
    commit("empty files");
    gitlink(&repo, Some("1111111111111111111111111111111111111111"));
    gitlink(&repo, Some("2222222222222222222222222222222222222222"));
    gitlink(&repo, None);
    for name in [&b"q\"uote"[..], b"t\tab", b"new\nline", b"latin\xff1"] {
        repo.write(OsString::from_vec(name.to_vec()), "odd name\n");
        commit("odd name");
    }
    repo.write("latin", b"gr\xfcn\n");
    commit("latin-1 content");
    repo.write("blanks", "trailing  \n\t\n   \n");
    commit("trailing blanks");
    repo.write(
        ".gitattributes",
        "*.id ident\n*.eol eol=crlf\n* diff=nonsense\n*.nodiff -diff\n",
    );
    repo.write("x.id", "$Id$\n");
    commit("ident");
    repo.write("x.eol", "a\r\nb\r\n");
    commit("eol=crlf");
    repo.remove("bin");
    repo.remove("d/e/f");
    commit("binary and folder gone");
    commit("empty commit");
    repo
}

/// A commit that puts a submodule entry at `sub`, or takes it away.
fn gitlink(repo: &Repo, commit: Option<&str>) {
    match commit {
        Some(id) => repo
            .git(&format!("update-index --add --cacheinfo 160000,{id},sub"))
            .ok(),
        None => repo.git("update-index --force-remove sub").ok(),
    };
    repo.git("commit -q -m submodule").ok();
}

#[test]
fn twenty_three_kinds_of_change_are_exact_in_both_forms() {
    let repo = changes();
    assert_eq!(repo.git("rev-list --count HEAD").ok().out(), "24");
    let root = repo.git("rev-list --max-parents=0 HEAD").ok().out();
    for patches in ["binary", "text"] {
        let journal = format!("../{patches}.json");
        repo.replay(&format!(
            "record {root}..main --no-prompt --patches={patches} -o {journal}"
        ))
        .ok()
        .says("23 commits, all rebuilt once from it");
        let path = repo.path(&journal).display().to_string();
        let clone = repo.fresh(&root);
        let branch = clone.replay(&path).ok().out();
        assert_eq!(clone.oid(&branch), repo.oid("main"));
        clone.git("fsck --strict").ok();
    }
}

#[test]
fn what_only_git_understands_is_applied_by_git() {
    let repo = changes();
    let root = repo.git("rev-list --max-parents=0 HEAD").ok().out();
    repo.replay(&format!(
        "record {root}..main --no-prompt --patches=text -o ../text.json"
    ))
    .ok();
    // Without its ids a text patch is nothing that is applied in process.
    let mut journal = repo.journal("../text.json");
    let entry = journal
        .iter_mut()
        .find(|e| e["kind"] == "workspace-commits")
        .unwrap();
    let mut changed = 0;
    for commit in entry["commits"].as_array_mut().unwrap() {
        let patch = commit["patch"].as_str().unwrap();
        if patch.contains("GIT binary patch") || !patch.contains("\n@@ ") {
            continue;
        }
        let bare: String = patch
            .split_inclusive('\n')
            .filter(|line| !line.starts_with("index ") || line.contains(" 160000"))
            .collect();
        changed += usize::from(bare != patch);
        commit["patch"] = bare.into();
    }
    assert!(changed > 10, "{changed}");
    repo.write("../bare.json", serde_json::to_vec(&journal).unwrap());
    let clone = repo.fresh(&root);
    let path = repo.path("../bare.json").display().to_string();
    let branch = clone.replay(&path).ok().out();
    assert_eq!(clone.oid(&branch), repo.oid("main"));
    clone.git("fsck --strict").ok();
}

#[test]
fn merges_and_roots_are_rebuilt_and_plain_readers_are_told() {
    let repo = Repo::with(&[("a", "a\n")]);
    repo.git("checkout -q -b side").ok();
    repo.write("s", "side\n");
    repo.commit_all("side");
    repo.git("checkout -q main").ok();
    repo.write("m", "main\n");
    repo.commit_all("on main");
    repo.git("merge -q --no-edit side").ok();
    repo.git("checkout -q --orphan other").ok();
    repo.write("o", "other\n");
    repo.commit_all("other root");
    repo.git("checkout -q main").ok();
    repo.git("merge -q --no-edit --allow-unrelated-histories other")
        .ok();
    repo.write("a", "b\n");
    repo.commit_all("after");
    repo.replay("record main --no-prompt -o ../all.json")
        .ok()
        .says("7 commits, all rebuilt once")
        .says(
            "a reader of the plain fields rebuilds nothing: the history begins with a root commit",
        );
    let path = repo.path("../all.json").display().to_string();
    let empty = Repo::new();
    let branch = empty.replay(&path).ok().out();
    assert_eq!(empty.oid(&branch), repo.oid("main"));
    assert_eq!(
        empty
            .git(&format!("rev-list --parents {branch}"))
            .ok()
            .out(),
        repo.git("rev-list --parents main").ok().out()
    );
    // A part of it: the other parent of the merge must be here.
    repo.replay("record main~1^2..main --no-prompt -o ../part.json")
        .ok();
    repo.replay("record main~1..main --no-prompt -o ../last.json")
        .ok();
    let path = repo.path("../last.json").display().to_string();
    let clone = repo.fresh("main~1");
    assert_eq!(clone.oid(&clone.replay(&path).ok().out()), repo.oid("main"));
    repo.replay("record main~2..main --no-prompt -o ../merge.json")
        .ok();
    let entry = workspace(&repo.journal("../merge.json"));
    assert_eq!(
        entry["unavailable"],
        "the history is not a straight line of commits"
    );
    // It stands on what was named, though a root commit comes first, and so --from counts.
    assert_eq!(entry["baseline"]["commit"], repo.oid("main~2"));
    let path = repo.path("../merge.json").display().to_string();
    let clone = repo.fresh("main~2");
    clone.git("commit -q --amend -m other").ok();
    let branch = clone.replay(&format!("{path} --from HEAD")).ok().out();
    assert_eq!(clone.oid(&format!("{branch}~2")), clone.oid("HEAD"));
    assert_eq!(clone.oid(&format!("{branch}~1^2")), repo.oid("other"));
    let all = repo.path("../all.json").display().to_string();
    clone
        .replay(&format!("{all} --from HEAD"))
        .fails(128)
        .says("the recorded history begins with a root commit");
    repo.replay("record main~2..main~1 --no-prompt -o ../outside.json")
        .ok();
    let mut journal = repo.journal("../outside.json");
    let entry = journal
        .iter_mut()
        .find(|e| e["kind"] == "workspace-commits")
        .unwrap();
    entry["commits"].as_array_mut().unwrap().remove(0);
    repo.write("../outside.json", serde_json::to_vec(&journal).unwrap());
    let path = repo.path("../outside.json").display().to_string();
    let clone = repo.fresh("main~2");
    clone
        .replay(&path)
        .fails(128)
        .says(&format!("its parent {}", repo.oid("other")))
        .says("neither in the journal nor in this repository");
}

#[test]
fn a_signature_of_gpg_stays_good() {
    let repo = Repo::with(&[("a", "a\n")]);
    if !repo.has_programs(&["gpg"]) {
        return;
    }
    let gpg = repo.home().join("g");
    std::fs::create_dir(&gpg).unwrap();
    repo.chmod(&gpg, 0o700);
    let repo = repo.env("GNUPGHOME", &gpg);
    let made =
        "gpg -q --batch --passphrase '' --quick-gen-key author@example.com ed25519 sign never";
    repo.sh(made).ok();
    let program = repo.sh("command -v gpg").ok().out();
    let clone = repo.fresh("main").env("GNUPGHOME", &gpg);
    let config = [
        ("user.signingKey", "author@example.com"),
        ("gpg.program", &program),
    ];
    stays_good(&repo, &clone, &config);
    repo.sh("gpgconf --kill all").ok();
}

#[test]
fn a_signature_of_ssh_stays_good() {
    let repo = Repo::with(&[("a", "a\n")]);
    let key = repo.home().join("key");
    repo.sh(&format!(
        "ssh-keygen -q -t ed25519 -N '' -f {}",
        key.display()
    ))
    .ok();
    let public = repo.read(key.with_extension("pub"));
    let signers = repo.home().join("signers");
    repo.write(&signers, format!("author@example.com {public}"));
    let clone = repo.fresh("main");
    let config = [
        ("gpg.format", "ssh"),
        ("user.signingKey", key.to_str().unwrap()),
        ("gpg.ssh.allowedSignersFile", signers.to_str().unwrap()),
    ];
    stays_good(&repo, &clone, &config);
}

/// Records a commit that is signed under `config`, and verifies it in `clone`.
#[track_caller]
fn stays_good(repo: &Repo, clone: &Repo, config: &[(&str, &str)]) {
    for (name, value) in config {
        repo.run(["config", name, value]).ok();
        clone.run(["config", name, value]).ok();
    }
    repo.git("checkout -q -b signed").ok();
    repo.write("a", "b\n");
    repo.git("add a").ok();
    repo.git("commit -q -S -m signed").ok();
    repo.git("verify-commit HEAD").ok();
    repo.replay("record main..signed --no-prompt -o ../s.json")
        .ok()
        .says("the signature is lost");
    let path = repo.path("../s.json").display().to_string();
    let branch = clone.replay(&path).ok().out();
    assert_eq!(clone.oid(&branch), repo.oid("signed"));
    clone.git(&format!("verify-commit {branch}")).ok();
    // On another base the signature would be a lie: it is left out, and said.
    clone.git("commit -q --amend -m other").ok();
    let branch = clone
        .replay(&format!("{path} --from HEAD"))
        .ok()
        .says("signatures of 1 commit left out: they sign other parents")
        .out();
    let commit = clone.git(&format!("cat-file commit {branch}")).ok().out();
    assert!(!commit.contains("gpgsig"));
}
