//! `cargo bench --bench shadow`: shadows beside git's own worktrees, as ratios of
//! the wall clock.
//!
//! ```text
//! cargo bench --bench shadow             all parts
//! cargo bench --bench shadow -- add      one part: add, list, remove, clone
//! ```
//! Worktrees are made first and removed last: ext4 makes new files slowly for
//! minutes after a large removal.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measuring program prints, starts programs, and may panic"
)]

#[path = "shadow/disk.rs"]
mod disk;
#[path = "compare/measure.rs"]
mod measure;
#[path = "shadow/site.rs"]
mod site;

use std::env;

use disk::Disk;
use measure::pairs;
use site::Site;

/// What a bar allows.
const ADD: f64 = 0.75;
const LIST: f64 = 0.65;
const REMOVE: f64 = 0.4;
const CLONE_SECONDS: f64 = 0.5;

const FILES: usize = 10_000;
const SHADOWS: usize = 20;

fn main() {
    let arguments: Vec<String> = env::args()
        .skip(1)
        .filter(|a| !a.starts_with("--"))
        .collect();
    let wanted = |name: &str| arguments.is_empty() || arguments.iter().any(|a| a == name);
    println!("{}", site::machine());
    let site = Site::new(FILES);
    measure::heading();
    // One pair warms up; the rest make the twenty that are listed.
    let made = pairs(SHADOWS - 1, &|| {}, &|| site.add_shadow(), &|| {
        site.add_worktree()
    });
    if wanted("add") {
        made.print("10k", "add", "worktree add", Some(ADD));
    }
    if wanted("list") {
        site.settle();
        pairs(9, &|| {}, &|| site.list(), &|| site.status_in_each()).print(
            "20 x 10k",
            "list",
            "status in each",
            Some(LIST),
        );
        if site::found("wt") {
            pairs(9, &|| {}, &|| site.list(), &|| site.wt_list()).print(
                "20 x 10k",
                "list",
                "wt list",
                Some(1.0),
            );
        }
    }
    if wanted("clone") {
        // Here, or on a disk that is made for it.
        let cloned = site.clone_dependencies().or_else(|| {
            let disk = Disk::btrfs()?;
            Site::at(1, &disk.path()).clone_dependencies()
        });
        match cloned {
            Some(seconds) => {
                let verdict = if seconds <= CLONE_SECONDS {
                    "ok"
                } else {
                    "OVER"
                };
                println!(
                    "1 GB of dependencies cloned in {seconds:.2} s (bar {CLONE_SECONDS}) {verdict}"
                );
            }
            None => println!("dependencies: no file system here clones, not measured"),
        }
    }
    if wanted("remove") {
        pairs(9, &|| {}, &|| site.remove_shadow(), &|| {
            site.remove_worktree()
        })
        .print("10k", "remove", "worktree remove", Some(REMOVE));
    }
}
