//! How old a checkpoint must be: `30.days`, `2 weeks`, `12h`, `never`, `now`.

use std::time::Duration;

use crate::error::{Result, hinted};

/// An age as the user gave it. Of the units, a month is 30 days and a year 365.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Age {
    /// At least this old.
    Of(Duration),
    /// Nothing is ever old enough.
    Never,
}

const DAY: u64 = 86_400;

const UNITS: &[(&[&str], u64)] = &[
    (&["s", "sec", "secs", "second", "seconds"], 1),
    (&["m", "min", "mins", "minute", "minutes"], 60),
    (&["h", "hour", "hours"], 3_600),
    (&["d", "day", "days"], DAY),
    (&["w", "week", "weeks"], 7 * DAY),
    (&["month", "months"], 30 * DAY),
    (&["y", "year", "years"], 365 * DAY),
];

impl Age {
    /// Reads an age. Stricter than git's own reading of dates, which takes every
    /// word that it does not know for "now".
    ///
    /// # Errors
    /// When it is no age.
    pub fn parse(text: &str) -> Result<Self> {
        let clean = text.trim().to_ascii_lowercase();
        match clean.as_str() {
            "never" | "false" => return Ok(Age::Never),
            "now" | "all" => return Ok(Age::Of(Duration::ZERO)),
            _ => {}
        }
        let clean = clean.strip_suffix("ago").unwrap_or(&clean);
        let clean = clean.trim_end_matches(['.', ' ']);
        let end = clean.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = clean.split_at(end);
        let unit = unit.trim_start_matches(['.', ' ']);
        let seconds = UNITS
            .iter()
            .find(|(names, _)| names.contains(&unit))
            .and_then(|(_, seconds)| number.parse::<u64>().ok()?.checked_mul(*seconds));
        match seconds {
            Some(seconds) => Ok(Age::Of(Duration::from_secs(seconds))),
            None => Err(hinted(
                format!("'{text}' is no age"),
                "write it as '30.days', '2.weeks', '12.hours', 'now' or 'never'",
            )),
        }
    }

    /// The last moment, in seconds since the epoch, that is old enough at `now`.
    pub fn before(self, now: i64) -> Option<i64> {
        match self {
            Age::Of(age) => Some(now.saturating_sub_unsigned(age.as_secs())),
            Age::Never => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_a_number_and_a_unit() {
        let days = |n| Age::Of(Duration::from_secs(n * DAY));
        for (text, age) in [
            ("30.days", days(30)),
            ("30 days", days(30)),
            ("30d", days(30)),
            ("2.weeks.ago", days(14)),
            ("1.Month", days(30)),
            ("90.minutes", Age::Of(Duration::from_secs(5_400))),
            ("now", days(0)),
            ("never", Age::Never),
        ] {
            assert_eq!(Age::parse(text).expect(text), age, "{text}");
        }
    }

    #[test]
    fn what_git_would_take_for_now_is_refused() {
        for text in [
            "",
            "foo",
            "30",
            "days",
            "-1.days",
            "99999999999999999999.days",
            "3 fortnights",
        ] {
            assert!(Age::parse(text).is_err(), "{text}");
        }
    }
}
