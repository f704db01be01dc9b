//! Histories of demand: CSV with a time and a column a queue.
//!
//! ```text
//! time,training,serving
//! 2026-11-02 00:00:00,318,12.5
//! 2026-11-02 01:00:00,316,11.0
//! ```
//!
//! Times are a site's own clock without a zone, evenly apart. The least distance is the step; rows that are missing are filled
//! with the last value and counted. Values are in whatever unit demand is counted in, and never negative.

use jiff::civil::DateTime;
use pool::FormatError;

/// A gap of more than this is no gap but another history, seconds.
const LONGEST_GAP_S: i64 = 7 * 86_400;
const FORM: &str = "the first line is time and a name for each queue, every other line a time as 2026-11-02 14:00:00 and a \
                    number for each queue";

/// The demand of one queue.
#[derive(Clone, PartialEq, Debug)]
pub struct Queue {
    /// Its name, from the head of the column.
    pub name: String,
    /// A value a step.
    pub values: Vec<f64>,
}

/// Demand of several queues at the same times.
#[derive(Clone, PartialEq, Debug)]
pub struct History {
    /// When the first value was.
    pub start: DateTime,
    /// Seconds between two values.
    pub step_s: u32,
    /// Values that were filled in, of each queue.
    pub filled: usize,
    /// The queues, in the order of columns; at least one.
    pub queues: Vec<Queue>,
}

impl History {
    /// How many steps.
    pub fn len(&self) -> usize {
        self.queues.first().map_or(0, |queue| queue.values.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The time of a step.
    pub fn time(&self, step: usize) -> DateTime {
        let seconds = i64::from(self.step_s).saturating_mul(i64::try_from(step).unwrap_or(i64::MAX));
        self.start.saturating_add(jiff::SignedDuration::from_secs(seconds))
    }

    /// The first step at or after a time.
    pub fn step_at(&self, time: DateTime) -> usize {
        let seconds = time.duration_since(self.start).as_secs().max(0);
        let step = i64::from(self.step_s.max(1));
        usize::try_from((seconds + step - 1) / step).unwrap_or(usize::MAX).min(self.len())
    }
}

/// Reads a history.
///
/// # Errors
/// Where a line is not as it should be, times go back or are uneven, or a value is no demand.
pub fn read(name: &str, text: &str) -> Result<History, FormatError> {
    let error =
        |line: usize, what: String, mend: &str| Err(FormatError::at(name, line as u32, 1, what, mend));
    let mut lines = text.trim_start_matches('\u{feff}').lines().enumerate();
    let Some((_, head)) = lines.next() else {
        return Err(FormatError::whole(name, "the file is empty".to_owned(), FORM));
    };
    let columns: Vec<&str> = head.split(',').map(str::trim).collect();
    if columns[0] != "time" || columns.len() < 2 {
        return error(1, format!("the first line is \"{}\"", head.trim_end()), FORM);
    }
    let mut rows: Vec<(usize, DateTime)> = Vec::new();
    let mut queues: Vec<Queue> =
        columns[1..].iter().map(|&name| Queue { name: name.to_owned(), values: Vec::new() }).collect();
    for (at, line) in lines {
        let number = at + 1;
        if line.trim().is_empty() {
            continue;
        }
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if cells.len() != columns.len() {
            return error(number, format!("{} cells under {} heads", cells.len(), columns.len()), FORM);
        }
        let Ok(time) = cells[0].parse::<DateTime>() else {
            return error(
                number,
                format!("\"{}\" is no time", cells[0]),
                "write times as 2026-11-02 14:00:00",
            );
        };
        if let Some(&(_, before)) = rows.last()
            && time <= before
        {
            let mend = "sort the lines by time and keep one of each";
            return error(number, format!("{time} does not come after {before}"), mend);
        }
        for (queue, cell) in queues.iter_mut().zip(&cells[1..]) {
            match cell.parse::<f64>() {
                Ok(value) if value.is_finite() && value >= 0.0 => queue.values.push(value),
                _ => {
                    let what = format!("\"{cell}\" is no demand of {}", queue.name);
                    return error(number, what, "demand is a number from 0 on");
                }
            }
        }
        rows.push((number, time));
    }
    even(name, &rows, queues)
}

/// Fills what is missing, and refuses times that lie between steps.
fn even(name: &str, rows: &[(usize, DateTime)], queues: Vec<Queue>) -> Result<History, FormatError> {
    let apart = |pair: &[(usize, DateTime)]| pair[1].1.duration_since(pair[0].1).as_secs();
    let step = rows.windows(2).map(apart).min().unwrap_or(0);
    let (Some(&(_, start)), Ok(step_s @ 1..)) = (rows.first(), u32::try_from(step)) else {
        let what = format!("{} lines of values", rows.len());
        return Err(FormatError::whole(name, what, "a history has at least two, a second or more apart"));
    };
    let mut filled = 0;
    let mut even: Vec<Queue> =
        queues.iter().map(|queue| Queue { name: queue.name.clone(), values: Vec::new() }).collect();
    for (at, &(line, time)) in rows.iter().enumerate() {
        if at > 0 {
            let seconds = apart(&rows[at - 1..=at]);
            if seconds % step != 0 || seconds > LONGEST_GAP_S.max(step) {
                let what = format!("{time} is {seconds} s after the line before, and the step is {step} s");
                let mend =
                    "times are whole steps apart, with gaps of up to a week: cut the history, or resample it";
                return Err(FormatError::at(name, line as u32, 1, what, mend));
            }
            for _ in 1..seconds / step {
                for (into, from) in even.iter_mut().zip(&queues) {
                    into.values.push(from.values[at - 1]);
                }
                filled += 1;
            }
        }
        for (into, from) in even.iter_mut().zip(&queues) {
            into.values.push(from.values[at]);
        }
    }
    Ok(History { start, step_s, filled, queues: even })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_filled_and_counted() {
        let text = "time,a,b\n2026-11-02 00:00:00,1,2\n2026-11-02T01:00:00,3,4\n\n2026-11-02 04:00:00,5,6\n";
        let history = read("h.csv", text).unwrap();
        assert_eq!((history.step_s, history.filled, history.len()), (3600, 2, 5));
        assert_eq!(history.queues[1].values, [2.0, 4.0, 4.0, 4.0, 6.0]);
        assert_eq!(history.time(4).to_string(), "2026-11-02T04:00:00");
        assert_eq!(history.step_at(history.time(3)), 3);
        assert_eq!(history.step_at("2027-01-01T00:00:00".parse().unwrap()), 5);
    }

    #[test]
    fn what_is_no_history_is_refused_by_line() {
        let refused = |text: &str| read("h.csv", text).unwrap_err().to_string();
        assert!(refused("").contains("empty"));
        assert!(refused("when,a\n").starts_with("h.csv:1:1"));
        assert!(refused("time,a\n2026-11-02 00:00:00,1\n").contains("at least two"));
        let head = "time,a\n2026-11-02 00:00:00,1\n";
        let at =
            |line: &str| refused(&format!("{head}{line}\n2026-11-02 02:00:00,2\n2026-11-02 03:00:00,2\n"));
        assert!(at("2026-11-02 00:00:00,1").contains("h.csv:3:1: 2026-11-02T00:00:00 does not come after"));
        assert!(at("2026-11-02 01:00:00,-1").contains("\"-1\" is no demand of a"));
        assert!(at("2026-11-02 01:00:00,NaN").contains("no demand"));
        assert!(at("2026-11-02 01:00:00").contains("1 cells under 2 heads"));
        assert!(at("yesterday,1").contains("no time"));
        assert!(at("2026-11-02 01:17:00,1").contains("the step is"));
    }
}
