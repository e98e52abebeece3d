//! A point in time on the command line: a day, a time, or an age.
//!
//! Ages are relative to the system's current time. Days are never in the local time zone, so that the same files are selected
//! everywhere.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// `7d`, `24h`, `90m`, `2w`; `2026-11-01` (in UTC); `2026-11-01T12:00:00Z`.
pub(super) fn since(text: &str) -> Result<SystemTime, String> {
    before(SystemTime::now(), text)
        .ok_or_else(|| "how long ago, like 7d or 24h, or a day like 2026-11-01".to_owned())
}

fn before(now: SystemTime, text: &str) -> Option<SystemTime> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time.into());
    }
    if let Ok(day) = text.parse::<Date>() {
        let midnight = day.to_zoned(TimeZone::UTC).ok()?;
        return Some(midnight.timestamp().into());
    }
    let unit = text.chars().last()?;
    let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
    let seconds = match unit {
        'm' => 60,
        'h' => 3_600,
        'd' => 24 * 3_600,
        'w' => 7 * 24 * 3_600,
        _ => return None,
    };
    let ago = Duration::from_secs(number.checked_mul(seconds)?);
    // An age that reaches back beyond the earliest time means the earliest time.
    Some(now.checked_sub(ago).unwrap_or(SystemTime::UNIX_EPOCH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_days_or_durations() {
        let day = Duration::from_secs(24 * 3_600);
        let now = SystemTime::UNIX_EPOCH + day * 20_000;
        for (text, expected) in [
            ("7d", Some(now - day * 7)),
            ("48h", Some(now - day * 2)),
            ("1w", Some(now - day * 7)),
            ("1970-01-03", Some(SystemTime::UNIX_EPOCH + day * 2)),
            ("1970-01-02T00:00:00Z", Some(SystemTime::UNIX_EPOCH + day)),
            ("7", None),
            ("d", None),
            ("7y", None),
            ("-7d", None),
            ("", None),
            ("yesterday", None),
        ] {
            assert_eq!(before(now, text), expected, "{text}");
        }
    }
}
