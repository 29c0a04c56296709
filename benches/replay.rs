//! `cargo bench --bench replay`: a recorded run rebuilt by `git-replay`, beside
//! git's own ways of doing it, as ratios of the wall clock.
//!
//! ```text
//! cargo bench --bench replay               all parts
//! cargo bench --bench replay -- recipe     one part: import, recipe, foreign, test, memory
//! ```
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measuring program prints, starts programs, and may panic"
)]

#[path = "compare/measure.rs"]
mod measure;
#[path = "replay/run.rs"]
mod run;

use std::env;
use std::time::Instant;

use measure::pairs;
use run::Run;

/// What a bar allows.
const IMPORT: f64 = 1.5;
const RECIPE: f64 = 1.0 / 20.0;
const FOREIGN: f64 = 1.0 / 10.0;
const GATE_SECONDS: f64 = 5.0;
const MEMORY: f64 = 3.0;

fn main() {
    let arguments: Vec<String> = env::args()
        .skip(1)
        .filter(|a| !a.starts_with("--"))
        .collect();
    let wanted = |name: &str| arguments.is_empty() || arguments.iter().any(|a| a == name);
    println!("{}", run::machine());
    if wanted("import") || wanted("recipe") {
        let run = Run::new(10_000, 1_000, 4);
        measure::heading();
        if wanted("import") {
            let pair = pairs(9, &|| run.renew(), &|| run.replay(), &|| run.fast_import());
            pair.print("1000 x 4", "replay", "fast-import", Some(IMPORT));
        }
        if wanted("recipe") {
            let pair = pairs(2, &|| run.renew(), &|| run.replay(), &|| run.recipe());
            pair.print("1000 x 4", "replay", "apply recipe", Some(RECIPE));
        }
    }
    if wanted("foreign") {
        // Patches that only git can apply.
        let run = Run::new(10_000, 1_000, 4);
        run.make_foreign();
        if !(wanted("import") || wanted("recipe")) {
            measure::heading();
        }
        let pair = pairs(2, &|| run.renew(), &|| run.replay(), &|| run.recipe());
        pair.print("1000 x 4 foreign", "replay", "apply recipe", Some(FOREIGN));
    }
    if wanted("test") {
        let run = Run::new(10_000, 5, 4);
        run.renew();
        run.journals(200);
        let start = Instant::now();
        run.test();
        let seconds = start.elapsed().as_secs_f64();
        let verdict = if seconds <= GATE_SECONDS {
            "ok"
        } else {
            "OVER"
        };
        println!("200 journals by 'test -j 2': {seconds:.2} s, <= {GATE_SECONDS} s {verdict}");
    }
    if wanted("memory") {
        let run = Run::large(10_000, 48 << 20);
        run.renew();
        let size = run.journal_size();
        match run.peak() {
            Some(peak) => {
                let ratio = peak as f64 / size as f64;
                let verdict = if ratio <= MEMORY { "ok" } else { "OVER" };
                let (peak, size) = (peak >> 20, size >> 20);
                println!(
                    "memory: {peak} MiB for a journal of {size} MiB, {ratio:.2}, <= {MEMORY} {verdict}"
                );
            }
            None => println!("memory: only measured on Linux"),
        }
    }
}
