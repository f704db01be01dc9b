//! Points in time as traces write them: seconds, or a date and a time of day.

/// Days from 1970-01-01 to the first of March of year 0 in the calendar of today, turned round.
const DAYS_TO_EPOCH: i64 = 719_468;

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

fn from_date(text: &str) -> Option<u64> {
    let (date, clock) = text.split_once([' ', 'T'])?;
    let mut parts = date.splitn(3, '-').map(number);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let mut parts = clock.splitn(3, ':').map(number);
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let possible = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    // Years begin in March: then the day that some have more stands last.
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let days =
        year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1 - DAYS_TO_EPOCH;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    possible.then(|| seconds as u64 * 1000)
}

fn number(text: &str) -> Option<i64> {
    (text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
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
        for wrong in ["", "NaN", "inf", "2020-13-01 00:00:00", "2020-01-01", "1e300", "2020-01-01 24:00:00"] {
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
