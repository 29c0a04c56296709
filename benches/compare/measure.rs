//! Two ways of doing the same, in alternation, and the ratio of their times.

use std::time::{Duration, Instant};

/// The times of two commands that took turns.
pub(crate) struct Pair {
    ours: Vec<Duration>,
    other: Vec<Duration>,
}

/// Runs both `rounds` times after one warm-up, in random order within a round;
/// `ready` runs before each, untimed.
pub(crate) fn pairs(rounds: usize, ready: &dyn Fn(), ours: &dyn Fn(), other: &dyn Fn()) -> Pair {
    let mut pair = Pair {
        ours: Vec::new(),
        other: Vec::new(),
    };
    let mut coin = 0x2545_f491_4f6c_dd1d_u64;
    for round in 0..=rounds {
        coin ^= coin << 13;
        coin ^= coin >> 7;
        coin ^= coin << 17;
        let ours_first = coin & 1 == 0;
        for turn in [ours_first, !ours_first] {
            ready();
            let start = Instant::now();
            if turn {
                ours()
            } else {
                other()
            };
            let took = start.elapsed();
            if round > 0 {
                if turn {
                    &mut pair.ours
                } else {
                    &mut pair.other
                }
                .push(took);
            }
        }
    }
    pair
}

pub(crate) fn heading() {
    println!(
        "{:<12} {:<10} {:<14} {:>7} {:>13} {:>9} {:>9}  bar",
        "files", "ours", "against", "ratio", "(min-max)", "ours ms", "other ms"
    );
}

impl Pair {
    /// One line of the table: the median of the ratios, and how far they spread.
    pub(crate) fn print(&self, state: &str, ours: &str, other: &str, bar: Option<f64>) {
        let mut ratios: Vec<f64> = self
            .ours
            .iter()
            .zip(&self.other)
            .map(|(a, b)| a.as_secs_f64() / b.as_secs_f64())
            .collect();
        ratios.sort_by(f64::total_cmp);
        let ratio = ratios[ratios.len() / 2];
        let verdict = match bar {
            None => String::new(),
            Some(bar) if ratio <= bar => format!("<= {bar} ok"),
            Some(bar) => format!("<= {bar} OVER"),
        };
        println!(
            "{state:<12} {ours:<10} {other:<14} {ratio:>7.2} {:>13} {:>9.1} {:>9.1}  {verdict}",
            format!("({:.2}-{:.2})", ratios[0], ratios[ratios.len() - 1]),
            median_ms(&self.ours),
            median_ms(&self.other),
        );
    }
}

fn median_ms(times: &[Duration]) -> f64 {
    let mut times = times.to_vec();
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1000.0
}
