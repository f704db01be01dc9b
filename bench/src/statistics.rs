//! The middle of a few measurements, and figures as people read them.

/// The median; of an even number the mean of the two in the middle. 0 of none.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

/// The value that a part of all, from 0 to 1, does not exceed. 0 of none.
pub fn percentile(values: &[f64], part: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    let at = (values.len() as f64 * part).ceil() as usize;
    values.get(at.clamp(1, values.len().max(1)) - 1).copied().unwrap_or(0.0)
}

/// The smallest and the largest.
pub fn range(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    values.into_iter().fold((f64::INFINITY, 0.0), |(low, high), value| (value.min(low), value.max(high)))
}

/// Three significant digits, as many as such measurements carry.
pub fn figure(value: f64) -> String {
    match value.abs() {
        v if v < 1.0 => format!("{value:.3}"),
        v if v < 10.0 => format!("{value:.2}"),
        v if v < 100.0 => format!("{value:.1}"),
        _ => grouped(value.round() as u64),
    }
}

/// A count with commas between thousands.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0]), 2.5);
        assert_eq!(median([]), 0.0);
        assert_eq!(range([3.0, 1.0, 2.0]), (1.0, 3.0));
    }

    #[test]
    fn figures_are_short() {
        assert_eq!(figure(0.1234), "0.123");
        assert_eq!(figure(19.74), "19.7");
        assert_eq!(figure(147.2), "147");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(120), "120");
    }
}
