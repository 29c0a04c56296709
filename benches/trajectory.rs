//! What recording costs: masking, appending, mirroring; a hook against `true`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::time::Instant;

use git_harness::events::mask::Masked;

fn main() {
    masking();
}

fn masking() {
    let source: String = include_str!("../src/git/command.rs")
        .repeat(1 + (8 << 20) / include_str!("../src/git/command.rs").len());
    let mut best = f64::MAX;
    for _ in 0..15 {
        let text = source.clone();
        let start = Instant::now();
        let masked = Masked::from_string(text);
        best = best.min(start.elapsed().as_secs_f64());
        assert_eq!(masked.as_str(), source);
    }
    println!("masking\t{:.2} GB/s", source.len() as f64 / best / 1e9);
}
