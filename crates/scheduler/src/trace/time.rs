//! Points in time as traces write them: seconds, or a date and a time of day.

use jiff::civil::DateTime;
use jiff::tz::Offset;

/// A time that is not before its epoch, in milliseconds: a number of seconds, or `2020-06-09 18:41:01` with a blank or a
/// `T` between.
pub(crate) fn parse_ms(text: &str) -> Result<u64, String> {
    if let Ok(seconds) = text.parse::<f64>() {
        return from_seconds(seconds).ok_or_else(|| match seconds {
            s if s < 0.0 => format!("is negative: {text}"),
            _ => format!("is no time: {text}"),
        });
    }
    from_date(text).ok_or_else(|| format!("is no time: {text:?}"))
}

/// Seconds as milliseconds, where they are not negative and not beyond a hundred thousand years.
pub(crate) fn from_seconds(seconds: f64) -> Option<u64> {
    (0.0..3.2e12).contains(&seconds).then(|| (seconds * 1000.0).round() as u64)
}

/// A date and a time of day, as if the trace's clock were that of Greenwich: only differences count.
fn from_date(text: &str) -> Option<u64> {
    let time = text.contains(':').then(|| text.parse::<DateTime>().ok())??;
    u64::try_from(Offset::UTC.to_timestamp(time).ok()?.as_millisecond()).ok()
}

/// A length of time as Slurm writes it: `[days-]hours:minutes:seconds`, in milliseconds.
pub(crate) fn parse_length_ms(text: &str) -> Option<u64> {
    let (days, clock) = match text.split_once('-') {
        Some((days, clock)) => (days.parse::<u64>().ok().filter(|&days| days < 1_000_000)?, clock),
        None => (0, text),
    };
    let mut seconds = 0;
    for part in clock.split(':') {
        let part: f64 = part.parse().ok().filter(|part| (0.0..1e9).contains(part))?;
        seconds = seconds * 60 + (part * 1000.0).round() as u64;
    }
    Some(days * 86_400_000 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_seconds_are_read() {
        assert_eq!(parse_ms("1970-01-01 00:00:00"), Ok(0));
        assert_eq!(parse_ms("2020-02-29T23:59:59"), Ok(1_583_020_799_000));
        assert_eq!(parse_ms("2020-06-09 18:41:01"), Ok(1_591_728_061_000));
        assert_eq!(parse_ms("12.5"), Ok(12_500));
        assert!(parse_ms("-1").unwrap_err().contains("negative"));
        for wrong in [
            "",
            "NaN",
            "inf",
            "2020-13-01 00:00:00",
            "2020-01-01",
            "1e300",
            "2020-01-01 24:00:00",
            "2020-02-30 00:00:00",
        ] {
            assert!(parse_ms(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn slurms_lengths_are_read() {
        assert_eq!(parse_length_ms("1-02:03:04"), Some(93_784_000));
        assert_eq!(parse_length_ms("02:03"), Some(123_000));
        assert_eq!(parse_length_ms("-1:00"), None);
        assert_eq!(parse_length_ms("UNLIMITED"), None);
    }
}
