//! `cargo bench`: `git checkpoint save` beside git itself, on the same
//! repository, alternating in random order, as ratios of the wall clock.
//!
//! ```text
//! cargo bench                     1k and 10k files
//! cargo bench -- 1k 10k 100k      these sizes
//! cargo bench -- 1k history wide  one size, and the parts named
//! ```
//! Repositories are made first and removed last: ext4 makes new files slowly
//! for minutes after a large removal.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measuring program prints, starts programs, and may panic"
)]

#[path = "compare/floor.rs"]
mod floor;
#[path = "compare/measure.rs"]
mod measure;
#[path = "compare/place.rs"]
mod place;

use std::env;

use measure::{Pair, pairs};
use place::Place;

/// A part of the table and what it is called on the command line.
const SIZES: &[(&str, usize, usize)] = &[
    ("1k", 1_000, 41),
    ("10k", 10_000, 31),
    ("100k", 100_000, 15),
];

fn main() {
    let arguments: Vec<String> = env::args()
        .skip(1)
        .filter(|a| !a.starts_with("--"))
        .collect();
    if let Some(list) = env::var_os("COMPARE_FLOOR") {
        return floor::walk(list.as_ref());
    }
    let wanted = |name: &str| arguments.iter().any(|a| a == name);
    let any_size = SIZES.iter().any(|(name, ..)| wanted(name));
    let any_part = wanted("wide") || wanted("history");
    println!("{}", place::machine());
    let sizes: Vec<_> = SIZES
        .iter()
        .filter(|(name, ..)| wanted(name) || (!any_size && !any_part && *name != "100k"))
        .collect();
    let places: Vec<Place> = sizes
        .iter()
        .map(|(_, files, _)| Place::new(*files))
        .collect();
    let wide =
        (wanted("wide") || arguments.is_empty()).then(|| [Place::new(10_000), Place::new(10_000)]);
    let history =
        (wanted("history") || arguments.is_empty()).then(|| [Place::cloned(), Place::cloned()]);

    measure::heading();
    for ((name, _, rounds), place) in sizes.iter().zip(&places) {
        against_git(name, *rounds, place);
    }
    if let Some([clean, modified]) = &wide {
        second_of_many(clean, modified);
    }
    if let Some([without, with]) = &history {
        after_many(without, with);
    }
}

/// One size, clean and dirty, against everything it is measured by.
fn against_git(size: &str, rounds: usize, place: &Place) {
    let large = size != "1k";
    for dirty in [false, true] {
        let state = format!("{size} {}", if dirty { "dirty" } else { "clean" });
        let ready = || {
            if dirty {
                place.edit_some();
            }
        };
        let five = match (large, dirty) {
            (false, _) => 0.40,
            (true, true) => 0.45,
            (true, false) => 0.55,
        };
        let at_100k = (size == "100k").then_some(if dirty { 1.2 } else { 1.1 });
        let others: [(&str, Option<f64>, &dyn Fn()); 4] = [
            ("five commands", Some(five), &|| place.five_commands()),
            ("status", Some(if large { 1.0 } else { 1.3 }), &|| {
                place.git(&["status", "--porcelain"])
            }),
            ("stash create", None, &|| place.git(&["stash", "create"])),
            ("floor", at_100k, &|| place.floor()),
        ];
        for (name, bar, other) in others {
            pairs(rounds, &ready, &|| place.save(), other).print(&state, "save", name, bar);
        }
    }
    if let Some(peak) = place.peak_of_save() {
        let bar = if size == "100k" { " (bar 30)" } else { "" };
        println!(
            "{size:<12} peak memory of save, sampled: {:.1} MiB{bar}",
            peak as f64 / 1024.0
        );
    }
}

/// 5,000 modified files: the second checkpoint has nothing new to read.
fn second_of_many(clean: &Place, modified: &Place) {
    modified.edit(5_000);
    modified.save();
    clean.save();
    pairs(31, &|| {}, &|| modified.save(), &|| clean.save()).print(
        "10k, 5k mod.",
        "2nd save",
        "clean save",
        Some(1.3),
    );
}

/// What 2,000 checkpoints cost the user's own git.
fn after_many(without: &Place, with: &Place) {
    for _ in 0..2_000 {
        with.edit(1);
        with.save();
    }
    let fetch = || {
        without.grow_origin();
        with.grow_origin();
    };
    let pair: Pair = pairs(31, &fetch, &|| with.git(&["fetch", "-q"]), &|| {
        without.git(&["fetch", "-q"])
    });
    pair.print("2k checkp.", "fetch", "none", Some(1.3));
    let log = ["log", "-1"];
    pairs(41, &|| {}, &|| with.git(&log), &|| without.git(&log)).print(
        "2k checkp.",
        "log -1",
        "none",
        Some(1.3),
    );
    let push = ["status", "--porcelain"];
    pairs(41, &|| {}, &|| with.git(&push), &|| without.git(&push)).print(
        "2k checkp.",
        "status",
        "none",
        None,
    );
}
