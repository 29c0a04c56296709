//! `cargo bench`: `git checkpoint save` beside git itself, on the same
//! repository, alternating in random order, as ratios of the wall clock.
//!
//! ```text
//! cargo bench                     1k and 10k files
//! cargo bench -- 1k 10k 100k      these sizes
//! cargo bench -- 1k history wide lane  one size, and the parts named
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

use measure::pairs;
use place::Place;

/// Something to time, or to do before that.
type Act<'a> = &'a dyn Fn();

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
    let any_part = wanted("wide") || wanted("history") || wanted("lane");
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
    let lane =
        (wanted("lane") || arguments.is_empty()).then(|| [Place::new(1_000), Place::new(1_000)]);

    // What was just made is still on its way to disk, and each of our syncs would wait for it.
    rustix::fs::sync();
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
    if let Some([short, long]) = &lane {
        long_lane(short, long);
    }
}

/// One size against everything it is measured by: clean; dirty (10 files modified and
/// 5 untracked, as they were at the save before); edited (the same, but anew before
/// each turn, so that there are 15 blobs to write, and for us to sync).
fn against_git(size: &str, rounds: usize, place: &Place) {
    let large = size != "1k";
    let as_it_is = || {};
    let edit = || place.edit_some();
    let states: [(&str, Act<'_>, Option<f64>, f64); 3] = [
        (
            "clean",
            &as_it_is,
            Some(if large { 0.55 } else { 0.40 }),
            1.1,
        ),
        (
            "dirty",
            &as_it_is,
            Some(if large { 0.45 } else { 0.40 }),
            1.2,
        ),
        ("edited", &edit, None, 1.2),
    ];
    for (state, ready, five, floor) in states {
        if state == "dirty" {
            place.edit_some();
        }
        let bars = state != "edited";
        let status = bars.then_some(if large { 1.0 } else { 1.3 });
        let floor = (bars && size == "100k").then_some(floor);
        let others: [(&str, Option<f64>, Act<'_>); 4] = [
            ("five commands", five, &|| place.five_commands()),
            ("status", status, &|| place.git(&["status", "--porcelain"])),
            ("stash create", None, &|| place.git(&["stash", "create"])),
            ("floor", floor, &|| place.floor()),
        ];
        let state = format!("{size} {state}");
        for (name, bar, other) in others {
            pairs(rounds, ready, &|| place.save(), other).print(&state, "save", name, bar);
        }
    }
    if let Some(peak) = place.peak_of_save() {
        let bar = if size == "100k" { " (bar 30)" } else { "" };
        let peak = peak as f64 / 1024.0;
        println!("{size:<12} peak memory of save, sampled: {peak:.1} MiB{bar}");
    }
}

/// A hundred checkpoints in a row over 200 modified files; then over 5,000, of which
/// the second has nothing new to read.
fn second_of_many(clean: &Place, modified: &Place) {
    modified.edit(200);
    modified.save();
    clean.save();
    pairs(100, &|| {}, &|| modified.save(), &|| clean.save()).print(
        "10k, 200 mod.",
        "save",
        "clean save",
        Some(1.2),
    );
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
    for state in ["2k checkp.", "after git gc"] {
        let hidden = ["-c", "fetch.hideRefs=refs/harness", "fetch", "-q"];
        let commands: [(&str, &[&str], Act<'_>); 4] = [
            ("fetch", &["fetch", "-q"], &fetch),
            // As the manual page has it for many checkpoints.
            ("fetch, hidden", &hidden, &fetch),
            ("log", &["log", "-1"], &|| {}),
            ("status", &["status", "--porcelain"], &|| {}),
        ];
        for (name, command, ready) in commands {
            pairs(31, ready, &|| with.git(command), &|| without.git(command)).print(
                state,
                name,
                "none",
                Some(1.3),
            );
        }
        for place in [with, without] {
            place.git(&["gc", "-q"]);
        }
    }
}

/// Ten thousand checkpoints in one lane, against twenty.
fn long_lane(short: &Place, long: &Place) {
    for place in [short, long] {
        for _ in 0..20 {
            place.edit(1);
            place.save();
        }
    }
    long.lengthen_lane(10_000);
    let edit = || {
        short.edit(1);
        long.edit(1);
    };
    for state in ["10k in lane", "refs packed"] {
        let commands: [(&str, &[&str], Act<'_>); 4] = [
            ("save", &["save", "-q"], &edit),
            ("list -n 20", &["list", "-n", "20"], &|| {}),
            ("status", &["status"], &|| {}),
            ("undo -n", &["undo", "-n"], &edit),
        ];
        for (name, command, ready) in commands {
            let bar = matches!(name, "save" | "list -n 20").then_some(1.5);
            pairs(31, ready, &|| long.ours(command), &|| short.ours(command)).print(
                state,
                name,
                "20 in lane",
                bar,
            );
        }
        for place in [short, long] {
            place.git(&["pack-refs", "--all"]);
        }
    }
}
