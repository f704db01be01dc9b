//! Colours where a person looks: on a terminal, unless `NO_COLOR` is set or the terminal is a dumb one.

use std::io::IsTerminal;

use fabric::check::Severity;

/// Whether and how text is coloured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    coloured: bool,
}

impl Style {
    /// For standard output.
    pub fn stdout() -> Self {
        Self { coloured: std::io::stdout().is_terminal() && wanted() }
    }

    /// For standard error.
    pub fn stderr() -> Self {
        Self { coloured: std::io::stderr().is_terminal() && wanted() }
    }

    /// Without colours.
    pub const fn plain() -> Self {
        Self { coloured: false }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.coloured { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Something that need not be read.
    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// All is well.
    pub fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// All is well, and that is the news.
    pub fn green_bold(self, text: &str) -> String {
        self.paint("1;32", text)
    }

    /// Something to look at.
    pub fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    /// Something is wrong.
    pub fn red_bold(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    /// A place.
    pub fn blue(self, text: &str) -> String {
        self.paint("34", text)
    }

    /// How much a finding matters, in a word.
    pub fn severity(self, severity: Severity) -> String {
        match severity {
            Severity::Critical => self.red_bold("critical"),
            Severity::Warning => self.yellow("warning"),
            Severity::Info => self.blue("info"),
        }
    }
}

fn wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// A number with commas between thousands.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with its noun, in the plural where it is not one.
pub fn count(number: u64, noun: &str) -> String {
    let plural = match noun {
        _ if number == 1 => noun.to_owned(),
        _ if noun.ends_with("ry") => format!("{}ies", &noun[..noun.len() - 1]),
        _ if noun.ends_with("ch") || noun.ends_with('s') => format!("{noun}es"),
        _ => format!("{noun}s"),
    };
    format!("{} {plural}", thousands(number))
}

/// A time in seconds with three digits that matter.
pub fn seconds(time: f64) -> String {
    match time {
        0.0 => "0 s".to_owned(),
        t if t < 0.001 => format!("{:.0} µs", t * 1e6),
        t if t < 0.1 => format!("{:.1} ms", t * 1e3),
        t if t < 1.0 => format!("{:.0} ms", t * 1e3),
        t if t < 100.0 => format!("{t:.2} s"),
        t if t < 6000.0 => format!("{t:.0} s"),
        t if t < 360_000.0 => format!("{:.1} h", t / 3600.0),
        t => format!("{:.1} d", t / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([0, 999, 1000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [(1, "switch"), (2, "switch"), (3, "host"), (4, "table entry")].map(|(n, noun)| count(n, noun)),
            ["1 switch", "2 switches", "3 hosts", "4 table entries"]
        );
        assert_eq!(
            [0.000_02, 0.0123, 0.25, 2.345, 147.2].map(seconds),
            ["20 µs", "12.3 ms", "250 ms", "2.35 s", "147 s"]
        );
        assert_eq!([0.0, 9000.0, 864_000.0].map(seconds), ["0 s", "2.5 h", "10.0 d"]);
    }

    #[test]
    fn plain_is_plain() {
        assert_eq!(Style::plain().red_bold("x"), "x");
        assert_eq!(Style { coloured: true }.green("x"), "\x1b[32mx\x1b[0m");
    }
}
