//! In each of these states a checkpoint is the tree that git's own way makes
//! (`git add -A --ignore-errors` on a copied index, see `oracle_tree`), the
//! user's git is untouched, and undo brings every byte back. Where we differ
//! from git on purpose, `checkpoint_differs.rs` says so.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::common::Repo;

/// Files, folders, an executable and a link, committed.
pub(crate) fn base() -> Repo {
    let repo = Repo::new();
    for (path, content) in [
        ("a", "1\n"),
        ("b", "2\n"),
        ("dir/c", "3\n"),
        ("dir/sub/d", "4\n"),
        ("dir-x", "sorts between dir and dir/\n"),
        ("dir.x", "so does this\n"),
        ("run.sh", "#!/bin/sh\n"),
        ("empty", ""),
    ] {
        repo.write(path, content);
    }
    repo.chmod("run.sh", 0o755);
    repo.link("a", "link");
    repo.commit_all("base");
    repo
}

/// The same tree as git's, and nothing of the user's touched.
#[track_caller]
pub(crate) fn same_tree_as_git(repo: &Repo) {
    let oracle = repo.oracle_tree();
    let before = (repo.fingerprint(), repo.disk());
    let saved = repo.save("");
    if saved["tree"] != oracle.as_str() {
        let tree = saved["tree"].as_str().unwrap();
        let ours = repo.run(["ls-tree", "-rt", tree]).out();
        // Only now that the test has failed: git's own tree, to be shown beside ours.
        repo.git("add -A --ignore-errors");
        let gits = repo.sh("git ls-tree -rt $(git write-tree)").out();
        panic!("not git's tree: {saved}\n{ours}\ngit's {oracle}:\n{gits}");
    }
    assert_eq!((repo.fingerprint(), repo.disk()), before);
    assert_eq!(repo.save("")["tree"], oracle.as_str(), "the second time");
    repo.fsck();
}

/// Undo brings back what the newest checkpoint holds, byte for byte, after all of it was
/// spoilt: even paths removed, odd ones overwritten, one file made.
#[track_caller]
pub(crate) fn comes_back(repo: &Repo) {
    let before = (repo.fingerprint(), repo.disk());
    let refs = repo.checkpoints();
    let newest = refs.last().unwrap();
    let listed = repo.run(["ls-tree", "-r", "-z", newest]).ok().stdout;
    let mut spoilt = 0;
    for entry in listed.split(|b| *b == 0).filter(|entry| !entry.is_empty()) {
        let tab = entry.iter().position(|b| *b == b'\t').unwrap();
        let path = OsStr::from_bytes(&entry[tab + 1..]);
        if entry.starts_with(b"160000") || !repo.exists(path) {
            continue;
        }
        repo.remove(path);
        if spoilt % 2 == 1 {
            repo.write(path, "spoilt\n");
        }
        spoilt += 1;
    }
    repo.write("made-by-mistake", "x\n");
    repo.git("checkpoint undo --others=revert").ok();
    assert_eq!((repo.fingerprint(), repo.disk()), before);
    repo.fsck();
}

#[track_caller]
pub(crate) fn check(repo: &Repo) {
    same_tree_as_git(repo);
    comes_back(repo);
}

macro_rules! states {
    ($($name:ident: $change:expr;)*) => {
        $(
            #[test]
            fn $name() {
                let repo = base();
                let change: fn(&Repo) = $change;
                change(&repo);
                check(&repo);
            }
        )*
    };
}

states! {
    clean: |_| {};
    modified: |r| r.write("a", "one\n");
    same_size_at_once: |r| {
        for digit in ["2", "3", "4"] {
            r.write("a", format!("{digit}\n"));
            r.git("add a").ok();
        }
        r.write("a", "5\n");
    };
    touched_only: |r| { r.sh("touch -d '2001-02-03' a dir/c").ok(); };
    replaced_by_an_equal_file: |r| { r.sh("cp a t && mv t a").ok(); };
    untracked: |r| {
        r.write("new", "n\n");
        r.write("new-dir/deep/er/file", "n\n");
    };
    deleted: |r| r.remove("a");
    folder_deleted: |r| r.remove("dir");
    all_deleted: |r| { r.sh("git ls-files -z | xargs -0 rm").ok(); };
    empty_folder: |r| r.mkdir("nothing/in/here");
    renamed: |r| r.rename("a", "z");
    staged_new: |r| {
        r.write("new", "n\n");
        r.git("add new").ok();
    };
    staged_new_deleted_on_disk: |r| {
        r.write("new", "n\n");
        r.git("add new").ok();
        r.remove("new");
    };
    staged_deletion_with_file_on_disk: |r| { r.git("rm -q --cached a dir/c").ok(); };
    staged_deletion_of_all: |r| { r.git("rm -q -r --cached .").ok(); };
    staged_then_edited: |r| {
        r.write("a", "staged\n");
        r.git("add a").ok();
        r.write("a", "edited\n");
    };
    staged_then_edited_back: |r| {
        r.write("a", "staged\n");
        r.git("add a").ok();
        r.write("a", "1\n");
    };
    staged_rename: |r| { r.git("mv dir moved").ok(); };
    intent_to_add: |r| {
        r.write("new", "n\n");
        r.git("add -N new").ok();
    };
    intent_to_add_deleted: |r| {
        r.write("new", "n\n");
        r.git("add -N new").ok();
        r.remove("new");
    };
    made_executable: |r| r.chmod("a", 0o755);
    made_plain: |r| r.chmod("run.sh", 0o644);
    odd_permissions: |r| {
        r.chmod("a", 0o600);
        r.chmod("run.sh", 0o711);
        r.chmod("b", 0o654);
    };
    file_becomes_folder: |r| {
        r.remove("a");
        r.write("a/below/x", "x\n");
    };
    folder_becomes_file: |r| {
        r.remove("dir");
        r.write("dir", "file\n");
    };
    staged_file_becomes_folder: |r| {
        r.remove("a");
        r.write("a/x", "x\n");
        r.git("add -A").ok();
        r.remove("a");
        r.write("a", "file again\n");
    };
    file_becomes_link: |r| {
        r.remove("a");
        r.link("b", "a");
    };
    link_becomes_file: |r| {
        r.remove("link");
        r.write("link", "file\n");
    };
    link_becomes_folder: |r| {
        r.remove("link");
        r.write("link/x", "x\n");
    };
    folder_becomes_link: |r| {
        r.rename("dir", "moved");
        r.link("moved", "dir");
    };
    folder_becomes_link_outside: |r| {
        r.remove("dir");
        r.mkdir("../outside/sub");
        r.write("../outside/c", "not ours\n");
        r.link("../outside", "dir");
    };
    links_of_all_kinds: |r| {
        r.link("/nonexistent/absolute", "dangling");
        r.link(".", "loop");
        r.link("dir", "to-folder");
        r.link(OsStr::from_bytes(b"\xff\xfe"), "to-odd");
        r.remove("link");
        r.link("b", "link");
    };
    names_that_are_not_utf8: |r| {
        r.write(OsStr::from_bytes(b"latin-\xe9"), "1\n");
        r.write(OsStr::from_bytes(b"\xff\xfe/\x80"), "2\n");
        r.commit_all("odd");
        r.write(OsStr::from_bytes(b"latin-\xe9"), "3\n");
        r.write(OsStr::from_bytes(b"\xc3\x28"), "4\n");
    };
    names_with_odd_characters: |r| {
        for name in ["new\nline", "tab\t", "quote\"", "back\\slash", " blank ", "-dash", "*", "ü",
            "[a]", ":(top)x", "#", "!", "~", "a\rb", "\u{1}"] {
            r.write(name, name);
        }
    };
    names_that_look_like_ours: |r| {
        r.write("harness/id", "x\n");
        r.write(".gitignore-not", "x\n");
        r.write(".git-not/x", "x\n");
        r.write("dir/git", "x\n");
    };
    sort_order_of_files_and_folders: |r| {
        for path in ["x", "x-", "x.", "x0", "y-/1", "y/1", "y./1", "y0"] {
            r.write(path, path);
        }
    };
    many_in_one_folder: |r| {
        for number in 0..300 {
            r.write(format!("many/{number}"), format!("{number}\n"));
        }
    };
    deep_folders: |r| r.write(format!("{}x", "d/".repeat(60)), "deep\n");
    a_larger_file: |r| r.write("large", "0123456789abcdef".repeat(200_000));
    incompressible: |r| {
        let mut state = 1u32;
        let noise: Vec<u8> = (0..100_000)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            })
            .collect();
        r.write("noise", noise);
    };
    ignored: |r| {
        r.write(".gitignore", "*.log\n/build/\n");
        r.write("x.log", "no\n");
        r.write("build/out", "no\n");
        r.write("dir/build/out", "yes\n");
    };
    ignored_nested_and_negated: |r| {
        r.write(".gitignore", "*.tmp\n!keep.tmp\nlogs/*\n!logs/keep\n");
        r.write("dir/.gitignore", "!back.tmp\n/local\n");
        for path in ["x.tmp", "keep.tmp", "dir/back.tmp", "dir/x.tmp", "dir/local",
            "dir/sub/local", "logs/x", "logs/keep"] {
            r.write(path, "?\n");
        }
    };
    ignored_folder_hides_its_exceptions: |r| {
        r.write(".gitignore", "out/\n!out/keep\n");
        r.write("out/keep", "no\n");
    };
    ignored_by_info_exclude: |r| {
        r.write(".git/info/exclude", "secret*\n");
        r.write("secret.txt", "no\n");
    };
    ignored_by_the_users_own_file: |r| {
        r.write("../home/ignore", "*.swp\n");
        r.run(["config", "--global", "core.excludesFile", "~/ignore"]).ok();
        r.write("a.swp", "no\n");
    };
    tracked_although_ignored: |r| {
        r.write(".gitignore", "dir/\n*.sh\n");
        r.write("dir/c", "still captured\n");
        r.write("dir/new", "not\n");
        r.write("run.sh", "still captured\n");
    };
    tracked_in_an_ignored_folder_deleted: |r| {
        r.write(".gitignore", "dir/\n");
        r.remove("dir/c");
    };
    ignore_file_that_is_a_folder: |r| r.write(".gitignore/x", "x\n");
    conflicted: |r| conflict(r);
    conflicted_and_deleted: |r| {
        conflict(r);
        r.remove("a");
    };
    conflicted_and_resolved_on_disk: |r| {
        conflict(r);
        r.write("a", "resolved\n");
    };
    deleted_by_us: |r| {
        r.git("checkout -q -b other").ok();
        r.write("a", "theirs\n");
        r.commit_all("theirs");
        r.git("checkout -q main").ok();
        r.git("rm -q a").ok();
        r.commit_all("ours");
        r.git("merge other").fails(1);
    };
    in_the_middle_of_a_rebase: |r| {
        r.git("checkout -q -b other").ok();
        r.write("a", "theirs\n");
        r.commit_all("theirs");
        r.git("checkout -q main").ok();
        r.write("a", "ours\n");
        r.commit_all("ours");
        r.git("rebase other").fails(1);
    };
    without_an_index: |r| r.remove(".git/index");
    with_an_empty_index: |r| { r.git("read-tree --empty").ok(); };
    index_version_4: |r| { r.git("update-index --index-version 4").ok(); };
    split_index: |r| {
        r.git("update-index --split-index").ok();
        r.write("new", "n\n");
        r.git("add new").ok();
        r.git("rm -q --cached b").ok();
        r.write("a", "2\n");
    };
    fsmonitor: |r| {
        // A hook that always says that everything may have changed.
        let hook = r.script("fsmonitor", "printf 'token\\0/\\0'");
        r.run(["config", "core.fsmonitor", hook.to_str().unwrap()]).ok();
        r.run(["config", "core.fsmonitorHookVersion", "2"]).ok();
        r.git("update-index --fsmonitor").ok();
        r.git("status").ok();
        r.write("a", "one\n");
        r.write("new", "n\n");
    };
    untracked_cache: |r| {
        r.git("config core.untrackedCache true").ok();
        r.git("update-index --untracked-cache").ok();
        r.git("status").ok();
        r.write("dir/new", "n\n");
    };
    index_without_checksum: |r| {
        r.git("config index.skipHash true").ok();
        r.write("new", "n\n");
        r.git("add new").ok();
    };
    many_files_feature: |r| {
        r.git("config feature.manyFiles true").ok();
        r.write("new", "n\n");
        r.git("add new").ok();
        r.write("other", "o\n");
    };
    index_locked_by_another_process: |r| {
        r.write(".git/index.lock", "");
        r.write("a", "2\n");
    };
    cache_tree_missing: |r| {
        r.git("read-tree --empty").ok();
        r.git("add -A").ok();
    };
    times_not_trusted: |r| {
        r.git("config core.trustctime false").ok();
        r.git("config core.checkStat minimal").ok();
        r.write("a", "longer than before\n");
    };
    case_is_ignored: |r| {
        r.git("config core.ignoreCase true").ok();
        r.write("New", "n\n");
        r.write("a", "2\n");
    };
    links_as_files: |r| {
        r.git("config core.symlinks false").ok();
        r.remove("link");
        r.write("link", "b");
    };
    a_replaced_object_is_not_what_is_stored: |r| {
        let other = r.feed("hash-object -w --stdin", "replaced\n").ok().out();
        let name = r.oid("HEAD:a");
        r.run(["replace", &name, &other]).ok();
    };
    all_lines_end_in_crlf: |r| {
        r.write(".gitattributes", "*.txt text eol=crlf\n");
        r.write("x.txt", "1\r\n2\r\n");
        r.commit_all("crlf");
        r.write("x.txt", "1\r\n2\r\n3\r\n");
        r.write("y.txt", "1\r\n");
    };
    autocrlf_with_crlf_files: |r| {
        r.git("config core.autocrlf true").ok();
        r.write("windows", "1\r\n2\r\n");
        r.git("add windows").ok();
        r.write("windows", "1\r\n3\r\n");
        r.write("binary", "1\r\n\0\r\n");
    };
    no_text_attribute: |r| {
        r.git("config core.autocrlf input").ok();
        r.write(".gitattributes", "*.bin -text\n");
        r.write("x.bin", "1\r\n");
    };
    identification_not_expanded: |r| {
        r.write(".gitattributes", "id ident\n");
        r.write("id", "$Id$\n");
    };
    a_filter_that_comes_back: |r| {
        r.write(".gitattributes", "*.r filter=rot\n");
        r.run(["config", "filter.rot.clean", "tr a-z b-za"]).ok();
        r.run(["config", "filter.rot.smudge", "tr b-za a-z"]).ok();
        r.write("x.r", "abc\n");
        r.commit_all("filtered");
        r.write("x.r", "abcd\n");
        r.write("y.r", "xyz\n");
    };
    a_filter_for_one_way: |r| {
        r.write(".gitattributes", "*.r filter=cut\n");
        r.run(["config", "filter.cut.clean", "sed s/noise//"]).ok();
        r.write("x.r", "signal\n");
    };
    a_filter_that_is_switched_off: |r| {
        r.write(".gitattributes", "*.r filter=off\n*.s filter=half\n");
        r.run(["config", "filter.off.process", ""]).ok();
        r.run(["config", "filter.off.clean", ""]).ok();
        r.run(["config", "filter.half.process", ""]).ok();
        r.run(["config", "filter.half.clean", "tr a-z b-za"]).ok();
        r.run(["config", "filter.half.smudge", "tr b-za a-z"]).ok();
        r.write("x.r", "abc\n");
        r.write("y.s", "xyz\n");
    };
    an_encoded_file: |r| {
        r.write(
            ".gitattributes",
            "*.u text working-tree-encoding=UTF-16LE-BOM eol=lf\n*.j working-tree-encoding=SHIFT-JIS\n",
        );
        r.write("x.u", b"\xff\xfea\0\n\0");
        r.write("x.j", b"\x93\xfa\x96\x7b\n");
        r.commit_all("encoded");
        r.write("x.u", b"\xff\xfea\0b\0\n\0");
    };
    an_expanded_identification: |r| {
        r.write(".gitattributes", "id ident\n");
        r.write("id", "$Id$\n");
        r.commit_all("ident");
        r.remove("id");
        r.git("checkout -q id").ok();
        assert_ne!(r.read("id"), "$Id$\n");
    };
    a_filter_that_is_not_there: |r| {
        r.write(".gitattributes", "*.r filter=gone\n");
        r.git("config filter.gone.clean /nonexistent/program").ok();
        r.write("x.r", "abc\n");
    };
    a_filter_that_fails: |r| {
        r.write(".gitattributes", "*.r filter=fails\n");
        r.git("config filter.fails.clean false").ok();
        r.write("x.r", "abc\n");
    };
    a_filter_nobody_defined: |r| {
        r.write(".gitattributes", "*.r filter=undefined\n");
        r.write("x.r", "abc\n");
    };
    line_ends_checked_strictly: |r| {
        r.git("config core.safecrlf true").ok();
        r.write(".gitattributes", "*.txt text eol=crlf\n");
        r.write("x.txt", "1\r\n2\r\n");
    };
    nested_repository: |r| {
        nest(r, "inner");
        r.write("inner/dirty", "inside\n");
    };
    nested_repository_deeper: |r| nest(r, "dir/sub/inner");
    nested_repository_replaces_a_file: |r| {
        r.remove("a");
        nest(r, "a");
    };
    nested_repository_moved_on: |r| {
        nest(r, "inner");
        r.commit_all("gitlink");
        r.sh("git -C inner commit -q --allow-empty -m more").ok();
    };
    nested_repository_gone: |r| {
        nest(r, "inner");
        r.commit_all("gitlink");
        r.remove("inner");
    };
    nested_repository_emptied: |r| {
        nest(r, "inner");
        r.commit_all("gitlink");
        r.remove("inner");
        r.mkdir("inner");
    };
    sparse: |r| {
        r.git("sparse-checkout set --cone dir/sub").ok();
        r.write("dir/sub/d", "changed\n");
        r.write("new", "n\n");
    };
    sparse_index: |r| {
        r.write("far/away/x", "1\n");
        r.write("near/y", "2\n");
        r.commit_all("more");
        r.git("sparse-checkout set --cone --sparse-index near").ok();
        r.write("near/y", "changed\n");
        r.write("near/new", "n\n");
    };
    sparse_without_cone: |r| {
        r.git("sparse-checkout set --no-cone '/dir/' '!/dir/sub/'").ok();
        r.write("dir/c", "changed\n");
    };
    sparse_checkout_switched_off: |r| {
        r.git("sparse-checkout set --cone dir").ok();
        r.git("sparse-checkout disable").ok();
        r.write("b", "changed\n");
    };
}

fn conflict(repo: &Repo) {
    repo.git("checkout -q -b other").ok();
    repo.write("a", "theirs\n");
    repo.commit_all("theirs");
    repo.git("checkout -q main").ok();
    repo.write("a", "ours\n");
    repo.commit_all("ours");
    repo.git("merge other").fails(1);
}

/// A repository with one commit at `path`, inside this one.
pub(crate) fn nest(repo: &Repo, path: &str) {
    repo.mkdir(path);
    let inner = repo.in_dir(path);
    inner.git("init -q .").ok();
    inner.write("file", "inside\n");
    inner.sh("git add file && git commit -q -m inside").ok();
}
