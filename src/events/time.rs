//! Instants as the event line writes them: RFC 3339, UTC, milliseconds.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

/// Milliseconds since the epoch, now.
pub fn now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|d| i64::try_from(d.as_millis()).ok())
        .unwrap_or(0)
}

/// `ms` since the epoch as `2026-09-02T14:07:31.412Z`.
pub fn text(ms: i64) -> String {
    match Timestamp::from_millisecond(ms) {
        Ok(instant) => instant.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string(),
        Err(_) => "1970-01-01T00:00:00.000Z".to_owned(),
    }
}

/// The inverse of [`text`], also for other offsets and precisions.
pub fn parse(text: &str) -> Option<i64> {
    text.parse::<Timestamp>()
        .ok()
        .map(Timestamp::as_millisecond)
}

/// An age such as `30d`, `12h`, `45m`, `10s`, `2w`, in milliseconds.
pub fn age(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: i64 = text[..digits].parse().ok()?;
    let unit: i64 = match text[digits..].trim_start_matches('.').trim() {
        "s" | "second" | "seconds" | "sec" => 1_000,
        "m" | "min" | "minute" | "minutes" => 60_000,
        "h" | "hour" | "hours" => 3_600_000,
        "" | "d" | "day" | "days" | "days.ago" => 86_400_000,
        "w" | "week" | "weeks" => 7 * 86_400_000,
        _ => return None,
    };
    number.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_go_both_ways() {
        assert_eq!(text(1_788_358_051_412), "2026-09-02T14:07:31.412Z");
        assert_eq!(parse("2026-09-02T14:07:31.412Z"), Some(1_788_358_051_412));
        assert_eq!(
            parse("2026-09-02T16:07:31.412+02:00"),
            Some(1_788_358_051_412)
        );
        assert_eq!(parse("yesterday"), None);
    }

    #[test]
    fn ages_have_units() {
        assert_eq!(age("30d"), Some(30 * 86_400_000));
        assert_eq!(age("45 m"), Some(2_700_000));
        assert_eq!(age("soon"), None);
    }
}
