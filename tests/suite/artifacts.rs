//! Manual pages, completions and README say what the programs do: the same
//! subcommands, the same options, no warning from the tools that read them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Repo, missing};

/// The programs that have a page and completions.
const PROGRAMS: &[&str] = &["checkpoint", "replay", "shadow", "trajectory"];

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(file(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// A program's subcommands, from its own help.
fn subcommands(repo: &Repo, program: &str) -> Vec<String> {
    let help = repo.program(&format!("git-{program}"), "-h").out();
    let list = help
        .split("Commands:\n")
        .nth(1)
        .unwrap_or_else(|| panic!("{help}"));
    list.lines()
        .take_while(|line| line.starts_with("  "))
        .filter_map(|line| Some(line.split_whitespace().next()?.to_owned()))
        .collect()
}

/// The options (`-x`, `--long`) of one subcommand, from its own help; without `-h` and `--help`.
fn options(repo: &Repo, program: &str, subcommand: &str) -> BTreeSet<String> {
    if (program, subcommand) == ("trajectory", "replay") {
        // It hands everything on to git-replay, `-h` too.
        return BTreeSet::new();
    }
    let help = repo
        .program(&format!("git-{program}"), &format!("{subcommand} -h"))
        .out();
    let list = help.split("Options:\n").nth(1).unwrap_or_default();
    list.lines()
        .filter(|line| line.trim_start().starts_with('-'))
        .flat_map(|line| {
            // The description begins after two blanks.
            let flags = line.trim_start().split("  ").next().unwrap_or_default();
            flags
                .split([' ', ',', '=', '['])
                .filter(|word| word.starts_with('-'))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .filter(|option| option != "-h" && option != "--help")
        .collect()
}

/// The options that `text` names in bold, or anywhere as a word.
fn named_options(text: &str) -> BTreeSet<String> {
    let plain = text
        .replace("\\-", "-")
        .replace("\\fB", " ")
        .replace("\\fR", " ")
        .replace("\\fI", " ");
    plain
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
        .filter(|word| {
            let name = word.trim_start_matches('-');
            let dashes = word.len() - name.len();
            !name.is_empty() && (dashes == 2 || (dashes == 1 && name.len() == 1))
        })
        .map(str::to_owned)
        .collect()
}

/// The part of a page that describes `subcommand`.
fn section<'a>(page: &'a str, subcommand: &str) -> &'a str {
    page.split(&format!("\n.SS {subcommand}\n"))
        .nth(1)
        .and_then(|rest| rest.split("\n.S").next())
        .unwrap_or_else(|| panic!("the page has no section '{subcommand}'"))
}

#[test]
fn a_page_names_exactly_the_options_that_exist() {
    let repo = Repo::new();
    for program in PROGRAMS {
        let page = text(&format!("man/git-{program}.1"));
        let synopsis = page
            .split(".SH SYNOPSIS")
            .nth(1)
            .unwrap()
            .split(".SH ")
            .next()
            .unwrap();
        let synopsis = named_options(synopsis);
        let mut all = BTreeSet::new();
        for subcommand in subcommands(&repo, program) {
            let exist = options(&repo, program, &subcommand);
            all.extend(exist.iter().cloned());
            // `redo` takes the options of `undo`.
            let described = match section(&page, &subcommand) {
                text if text.contains("Takes the options of\n") => continue,
                text => named_options(text),
            };
            let missing: Vec<_> = exist.difference(&described).collect();
            assert!(
                missing.is_empty(),
                "{program} {subcommand}: the page lacks {missing:?}"
            );
        }
        // git's own options are named in prose, too.
        let foreign = ["--all", "--mirror", "--exclude"].map(String::from);
        let named: BTreeSet<String> = named_options(&page).into_iter().collect();
        let unknown: Vec<_> = named
            .difference(&all)
            .filter(|option| !foreign.contains(option))
            .collect();
        assert!(
            unknown.is_empty(),
            "git-{program}.1 describes {unknown:?}, which do not exist"
        );
        let long: BTreeSet<_> = all.iter().filter(|o| o.starts_with("--")).collect();
        for option in long {
            let short = [
                "--message",
                "--quiet",
                "--dry-run",
                "--yes",
                "--patch",
                "--output",
            ];
            assert!(
                synopsis.contains(option) || short.contains(&option.as_str()),
                "the synopsis of git-{program}.1 lacks {option}"
            );
        }
    }
}

#[test]
fn a_page_names_exactly_the_settings_that_are_read() {
    for program in PROGRAMS {
        let page = text(&format!("man/git-{program}.1"));
        // `replay.*` is git's own.
        let program = match *program {
            "replay" => "journal",
            program => program,
        };
        let mut read = BTreeSet::new();
        let mut folders = vec![file("src")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let source = fs::read_to_string(path).unwrap();
                for quoted in source.split('"').skip(1).step_by(1) {
                    let key = quoted.strip_prefix(&format!("{program}."));
                    if let Some(key) = key.filter(|k| k.bytes().all(|b| b.is_ascii_alphanumeric()))
                    {
                        read.insert(format!("{program}.{key}"));
                    }
                }
            }
        }
        let described: BTreeSet<String> = page
            .lines()
            .filter_map(|line| line.strip_prefix(".B "))
            .filter(|word| word.starts_with(&format!("{program}.")))
            .map(str::to_owned)
            .collect();
        assert_eq!(described, read);
    }
}

#[test]
fn pages_are_read_without_a_warning() {
    let repo = Repo::outside();
    for program in PROGRAMS {
        let page = file(&format!("man/git-{program}.1"));
        let page = page.display();
        if repo.has_programs(&["groff"]) {
            let outcome = repo.sh(&format!("groff -man -ww -Tutf8 -z '{page}'")).ok();
            assert!(outcome.stderr.is_empty(), "{outcome:?}");
        }
        if repo.has_programs(&["man"]) {
            let utf8 = repo
                .env("LC_ALL", "C.UTF-8")
                .env("MANPAGER", "cat")
                .env("MANWIDTH", "80");
            let outcome = utf8.sh(&format!("man --warnings -l '{page}'")).ok();
            assert!(outcome.stderr.is_empty(), "{outcome:?}");
            assert!(outcome.out().contains("NAME"), "{outcome:?}");
        }
    }
}

#[test]
fn completions_name_exactly_the_options_that_exist() {
    let repo = Repo::new();
    for program in PROGRAMS {
        let bash = text(&format!("completions/git-{program}.bash"));
        let zsh = text(&format!("completions/git-{program}.zsh"));
        let fish = text(&format!("completions/git-{program}.fish"));
        let mut all = BTreeSet::new();
        for subcommand in subcommands(&repo, program) {
            for (shell, script) in [("bash", &bash), ("zsh", &zsh), ("fish", &fish)] {
                let known = script
                    .split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
                    .any(|word| word == subcommand);
                assert!(known, "{shell} does not know 'git {program} {subcommand}'");
            }
            all.extend(options(&repo, program, &subcommand));
        }
        let long: BTreeSet<String> = all
            .iter()
            .filter(|o| o.starts_with("--"))
            .cloned()
            .collect();
        // Options of what the scripts themselves call.
        let calls = [
            "git for-each-ref",
            "git --list-cmds",
            "_call_program",
            "git config",
        ];
        let of = |script: &str| -> BTreeSet<String> {
            let code: String = script
                .lines()
                .filter(|line| !line.starts_with('#'))
                .filter(|line| !calls.iter().any(|call| line.contains(call)))
                .collect::<Vec<_>>()
                .join("\n");
            named_options(&code)
                .into_iter()
                .filter(|o| o.starts_with("--"))
                .collect()
        };
        assert_eq!(of(&bash), long, "bash");
        assert_eq!(of(&zsh), long, "zsh");
        let in_fish: BTreeSet<String> = fish
            .lines()
            .filter(|line| line.starts_with("complete "))
            .flat_map(str::split_whitespace)
            .collect::<Vec<_>>()
            .windows(2)
            .filter(|pair| pair[0] == "-l")
            .map(|pair| format!("--{}", pair[1]))
            .collect();
        assert_eq!(in_fish, long, "fish");
    }
}

/// What bash offers after `line`, with git's own completion and ours loaded.
fn bash_offers(repo: &Repo, line: &str) -> Option<Vec<String>> {
    let gits_own = [
        "/usr/share/bash-completion/completions/git",
        "/etc/bash_completion.d/git",
        "/usr/share/git/completion/git-completion.bash",
        "/opt/homebrew/etc/bash_completion.d/git-completion.bash",
    ];
    let Some(gits_own) = gits_own.iter().find(|path| Path::new(path).exists()) else {
        missing("git's completion for bash");
        return None;
    };
    let ours = |program: &str| file(&format!("completions/git-{program}.bash"));
    let script = format!(
        "source '{gits_own}'; source '{}'; source '{}'
         COMP_LINE='{line}' COMP_POINT=${{#COMP_LINE}}
         read -ra COMP_WORDS <<<\"$COMP_LINE\"
         case \"$COMP_LINE\" in *' ') COMP_WORDS+=('') ;; esac
         COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
         __git_wrap__git_main
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        ours("checkpoint").display(),
        ours("shadow").display()
    );
    repo.write("../complete.bash", script);
    let offered = repo.sh_ours("bash ../complete.bash").ok().lines();
    Some(
        offered
            .iter()
            .map(|word| word.trim_end().to_owned())
            .filter(|w| !w.is_empty())
            .collect(),
    )
}

#[test]
fn bash_completes_through_gits_own_completion() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.save("");
    repo.save("");
    let cases: &[(&str, &[&str])] = &[
        ("git checkpoint un", &["undo"]),
        ("git checkpoint s", &["save", "show", "status"]),
        ("git checkpoint undo --ot", &["--others="]),
        ("git checkpoint undo 00", &["001", "002"]),
        ("git checkpoint undo --to ", &["001", "002"]),
        ("git checkpoint list --lane ma", &["main"]),
        ("git checkpoint save --be", &["--before="]),
        ("git checkpoint --mes", &["--message"]),
    ];
    for (line, expected) in cases {
        let Some(offered) = bash_offers(&repo, line) else {
            return;
        };
        assert_eq!(&offered, expected, "{line}<TAB>");
    }
}

#[test]
fn bash_completes_git_replay_by_its_own_name() {
    let repo = Repo::with(&[("a", "1\n")]);
    let gits_own = "/usr/share/bash-completion/completions/git";
    if !Path::new(gits_own).exists() {
        return missing("git's completion for bash");
    }
    let ours = file("completions/git-replay.bash");
    let offers = |line: &str| {
        let script = format!(
            "source '{gits_own}'; source '{}'
             COMP_LINE='{line}' COMP_POINT=${{#COMP_LINE}}
             read -ra COMP_WORDS <<<\"$COMP_LINE\"
             case \"$COMP_LINE\" in *' ') COMP_WORDS+=('') ;; esac
             COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
             how=\"$(complete -p git-replay)\" how=\"${{how#* -F }}\"
             \"${{how%% *}}\"
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            ours.display()
        );
        repo.write("../complete.bash", script);
        let offered = repo.sh_ours("bash ../complete.bash").ok().lines();
        let words = offered.iter().map(|word| word.trim_end().to_owned());
        words.filter(|word| !word.is_empty()).collect::<Vec<_>>()
    };
    assert_eq!(offers("git-replay rec"), ["record"]);
    assert_eq!(offers("git-replay --div"), ["--divergence="]);
    assert_eq!(offers("git-replay test --format=j"), ["json", "junit"]);
    assert_eq!(offers("git-replay record ma"), ["main"]);
    // Files are bash's own business.
    assert_eq!(offers("git-replay show "), [""; 0]);
}

#[test]
fn bash_completes_the_names_of_shadows() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.git("shadow add task --as one,two").ok();
    repo.git("shadow remove task-two").ok();
    let cases: &[(&str, &[&str])] = &[
        ("git shadow rem", &["remove"]),
        ("git shadow show ", &["task-one"]),
        ("git shadow remove ta", &["task-one"]),
        ("git shadow restore ", &["task-two"]),
        ("git shadow merge --sq", &["--squash"]),
        ("git shadow env --format=", &["shell", "dotenv", "json"]),
    ];
    for (line, expected) in cases {
        let Some(offered) = bash_offers(&repo, line) else {
            return;
        };
        assert_eq!(&offered, expected, "{line}<TAB>");
    }
}

#[test]
fn fish_completes() {
    let repo = Repo::with(&[("a", "1\n")]);
    if !repo.has_programs(&["fish"]) {
        return;
    }
    repo.save("");
    let ours = file("completions/git-checkpoint.fish");
    let offers = |line: &str| {
        let script = format!("source '{}'; complete -C '{line}'", ours.display());
        repo.write("../complete.fish", script);
        let offered = repo
            .sh_ours("fish --no-config ../complete.fish")
            .ok()
            .lines();
        offered
            .iter()
            .map(|l| l.split('\t').next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(offers("git checkpoint un"), ["undo"]);
    assert_eq!(offers("git checkpoint undo --ag"), ["--agent-only"]);
    assert_eq!(offers("git checkpoint undo 0"), ["001"]);
}

#[test]
fn zsh_reads_its_completion() {
    let repo = Repo::outside();
    if !repo.has_programs(&["zsh"]) {
        return;
    }
    for program in PROGRAMS {
        let script = file(&format!("completions/git-{program}.zsh"));
        repo.sh(&format!("zsh -f -n '{}'", script.display()))
            .ok()
            .silent();
        let first = text(&format!("completions/git-{program}.zsh"));
        assert!(first.starts_with(&format!("#compdef git-{program}\n")));
    }
}

#[test]
fn the_readme_names_commands_that_exist() {
    let repo = Repo::new();
    let readme = text("README.md");
    let mut seen = 0;
    for program in PROGRAMS {
        let known = subcommands(&repo, program);
        for line in readme.lines() {
            let Some(rest) = line
                .trim_start()
                .strip_prefix("$ ")
                .unwrap_or(line)
                .strip_prefix(&format!("git {program}"))
            else {
                continue;
            };
            let word = rest.split_whitespace().next().unwrap_or("save");
            if word.starts_with('-') || word.starts_with('#') {
                continue;
            }
            assert!(
                known.iter().any(|k| k == word),
                "README: git {program} {word}"
            );
            let exist = options(&repo, program, word);
            for option in named_options(rest.split(" #").next().unwrap()) {
                assert!(
                    exist.contains(&option),
                    "README: git {program} {word} {option}"
                );
            }
            seen += 1;
        }
    }
    assert!(seen >= 4, "the README shows a session");
    for command in ["cargo install --locked --path .", "cargo test --locked"] {
        assert!(readme.contains(command), "README: {command}");
    }
}
