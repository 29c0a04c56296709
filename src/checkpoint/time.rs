//! Moments for people (local time) and for scripts (RFC 3339, UTC).

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// `seconds` since the epoch as RFC 3339 in UTC.
pub(super) fn rfc3339(seconds: i64) -> String {
    Timestamp::from_second(seconds)
        .unwrap_or(Timestamp::UNIX_EPOCH)
        .to_string()
}

/// The local time of day, with the date before it when it is not today's.
pub(super) fn local(seconds: i64) -> String {
    let zone = TimeZone::system();
    let moment = Timestamp::from_second(seconds)
        .unwrap_or(Timestamp::UNIX_EPOCH)
        .to_zoned_datetime(zone.clone());
    let today = Timestamp::now().to_zoned_datetime(zone).date();
    let format = if moment.date() == today {
        "%H:%M:%S"
    } else {
        "%Y-%m-%d %H:%M:%S"
    };
    moment.strftime(format).to_string()
}
