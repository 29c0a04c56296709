//! The shape of the source, held by a test: who may know whom, where a process
//! starts, where anything is printed, how long a file may be, and what we
//! depend on.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

/// The modules from the ground up. Each may use those on a lower floor, none on its own.
const FLOORS: &[&[&str]] = &[
    &["error"],
    &["ui"],
    &["cli"],
    &["state"],
    &["git"],
    &["snapshot", "events"],
    &["lane"],
    &["checkpoint", "shadow", "replay", "trajectory"],
];

const LONGEST_FILE: usize = 600;
const LONGEST_MOD: usize = 150;
/// A table of cases is long before it is hard to read.
const LONGEST_TEST: usize = 700;

#[test]
fn modules_know_only_those_below_them() {
    let mut wrong = Vec::new();
    for (path, text) in sources("src") {
        let Some(module) = module_of(&path) else {
            continue;
        };
        let floor = floor(&module);
        for (number, used) in uses(&text) {
            if used != module && FLOORS[..floor].iter().all(|below| !below.contains(&&*used)) {
                wrong.push(format!("{path}:{number}: '{module}' uses '{used}'"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn processes_start_in_one_place_and_only_ui_prints() {
    let rules: &[(&str, &[&str])] = &[
        // The second is a test's own script, in debug builds only.
        (
            "Command::new",
            &["src/git/command.rs", "src/snapshot/restore/pause.rs"],
        ),
        ("println!", &[]),
        ("print!(", &[]),
        ("io::stdout()", &["src/ui.rs"]),
        ("io::stderr()", &["src/ui.rs"]),
        ("dialoguer", &["src/ui.rs"]),
        (".unwrap()", &[]),
        ("process::exit", &[]),
        ("process::abort", &[]),
        ("#[allow(", &[]),
        ("#![allow(", &[]),
        ("std::fs::write", &[]),
    ];
    let mut wrong = Vec::new();
    for (path, text) in sources("src") {
        for (number, line) in code(without_unit_tests(&text)) {
            for (word, allowed) in rules {
                if line.contains(word) && !allowed.contains(&&*path) {
                    wrong.push(format!("{path}:{number}: {}", line.trim()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn files_are_short_and_mod_files_only_declare() {
    let mut wrong = Vec::new();
    for (path, text) in sources("src") {
        let lines = text.lines().count();
        let name = Path::new(&path).file_name().unwrap().to_str().unwrap();
        if lines > LONGEST_FILE || (name == "mod.rs" && lines > LONGEST_MOD) {
            wrong.push(format!("{path}: {lines} lines"));
        }
        if [
            "utils", "util", "helpers", "helper", "manager", "misc", "common",
        ]
        .iter()
        .any(|vague| name == format!("{vague}.rs") || path.contains(&format!("/{vague}/")))
        {
            wrong.push(format!("{path}: the name says nothing"));
        }
    }
    for (path, text) in sources("tests").into_iter().chain(sources("benches")) {
        let lines = text.lines().count();
        if path.ends_with(".rs") && lines > LONGEST_TEST {
            wrong.push(format!("{path}: {lines} lines"));
        }
    }
    let lib = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    for (number, line) in code(&lib) {
        if !line.starts_with("pub mod ") && !line.is_empty() {
            wrong.push(format!(
                "src/lib.rs:{number}: only the map belongs here: {line}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn nothing_is_left_to_do_later() {
    // Put together, so that this file does not contain them.
    let words =
        ["TO DO", "FIX ME", "X XX", "un implemented!", "#[ig nore"].map(|w| w.replace(' ', ""));
    let mut wrong = Vec::new();
    for folder in ["src", "tests", "benches", "man", "completions"] {
        for (path, text) in sources(folder) {
            for (number, line) in text.lines().enumerate() {
                if words.iter().any(|word| line.contains(word)) {
                    wrong.push(format!("{path}:{}: {}", number + 1, line.trim()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_dependency_has_its_reason_and_gix_is_pinned() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let mut section = "";
    let mut wrong = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        }
        let names_one = section.contains("dependencies]") && line.contains(" = ");
        if names_one
            && line
                .split_once(" # ")
                .is_none_or(|(_, why)| why.trim().is_empty())
        {
            wrong.push(line);
        }
        if names_one && line.starts_with("gix ") && !line.contains("version = \"=") {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_dependency_needs_a_newer_rust_than_we_say() {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let output = Command::new(cargo)
        .args(["metadata", "--locked", "--offline", "--format-version", "1"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let ours = packages
        .iter()
        .find(|p| p["name"] == "git-harness")
        .unwrap();
    let ours = version(ours["rust_version"].as_str().unwrap());
    let newer: Vec<String> = packages
        .iter()
        .filter_map(|p| Some((p["name"].as_str()?, p["rust_version"].as_str()?)))
        .filter(|(_, needs)| version(needs) > ours)
        .map(|(name, needs)| format!("{name} needs {needs}"))
        .collect();
    assert!(newer.is_empty(), "{newer:#?}");
}

fn version(text: &str) -> Vec<u32> {
    let mut numbers: Vec<u32> = text.split('.').map(|part| part.parse().unwrap()).collect();
    numbers.resize(3, 0);
    numbers
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The text files below `folder`, with their paths from the package's root.
fn sources(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(folder) else {
            continue;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = fs::read_to_string(&path) {
                let name = path.strip_prefix(root()).unwrap();
                found.push((name.to_str().unwrap().to_owned(), text));
            }
        }
    }
    found.sort();
    found
}

/// The module of the library that `path` belongs to; `None` for the map and the programs.
fn module_of(path: &str) -> Option<String> {
    let below = path.strip_prefix("src/")?;
    let first = below.split('/').next()?;
    let name = first.strip_suffix(".rs").unwrap_or(first);
    (name != "lib" && name != "bin").then(|| name.to_owned())
}

fn floor(module: &str) -> usize {
    FLOORS
        .iter()
        .position(|floor| floor.contains(&module))
        .unwrap_or_else(|| panic!("'{module}' has no place in FLOORS"))
}

/// Lines that are not comments, numbered from 1.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(number, line)| (number + 1, line))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

fn without_unit_tests(text: &str) -> &str {
    text.split_once("#[cfg(test)]\nmod ")
        .map_or(text, |(before, _)| before)
}

/// The modules that a file names as `crate::x` or in `crate::{x, y::z}`.
fn uses(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let lines: Vec<(usize, &str)> = code(text).collect();
    for (at, (number, line)) in lines.iter().enumerate() {
        let mut rest = *line;
        while let Some(start) = rest.find("crate::") {
            let own = rest[..start].ends_with(|c: char| c == '_' || c.is_alphanumeric());
            rest = &rest[start + "crate::".len()..];
            if own {
                continue;
            }
            if let Some(group) = rest.strip_prefix('{') {
                let mut all = group.to_owned();
                for (_, more) in &lines[at + 1..] {
                    if all.contains("};") {
                        break;
                    }
                    all.push_str(more);
                }
                let all = all.split("};").next().unwrap_or_default();
                found.extend(top_names(all).into_iter().map(|name| (*number, name)));
            } else {
                found.push((*number, leading_name(rest)));
            }
        }
    }
    found.retain(|(_, name)| !name.is_empty());
    found
}

/// `a, b::{c, d}, e` → a, b, e.
fn top_names(group: &str) -> Vec<String> {
    let mut depth = 0;
    let mut names = vec![String::new()];
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(String::new()),
            _ if depth == 0 => names.last_mut().unwrap().push(c),
            _ => {}
        }
    }
    names.iter().map(|name| leading_name(name.trim())).collect()
}

fn leading_name(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

#[test]
fn the_reader_of_imports_sees_groups() {
    let text = "use crate::{git, lane::{a, b}, ui};\n// crate::no\nlet x = crate::state::file;\n";
    let names: Vec<String> = uses(text).into_iter().map(|(_, name)| name).collect();
    assert_eq!(names, ["git", "lane", "ui", "state"]);
}
