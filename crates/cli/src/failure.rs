//! Why a request cannot be carried out, as it is printed: what, where, help.

use std::fmt;
use std::io;

use crate::style::Style;

/// A request that was wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// What is wrong.
    pub what: String,
    /// Which file, line, device or option; empty where there is none.
    pub place: String,
    /// What would mend it; empty where that is not known.
    pub help: String,
}

impl Failure {
    /// A failure of three parts.
    pub fn new(what: impl Into<String>, place: impl Into<String>, help: impl Into<String>) -> Self {
        Self { what: what.into(), place: place.into(), help: help.into() }
    }

    /// A file that cannot be read or written.
    pub fn file(doing: &str, path: &str, error: &io::Error) -> Self {
        let help = match error.kind() {
            io::ErrorKind::NotFound => "is the path right?",
            io::ErrorKind::PermissionDenied => "who may use it? See `ls -l`",
            io::ErrorKind::IsADirectory => "name a file in it",
            io::ErrorKind::StorageFull => "make room on the disk",
            _ => "",
        };
        // The system's words without its number.
        let words = error.to_string();
        let words = words.split(" (os error").next().unwrap_or_default();
        Self::new(format!("cannot {doing}: {}", lower_first(words)), path, help)
    }

    /// Prints it to standard error, a line a part.
    pub fn print(&self) {
        let style = Style::stderr();
        eprint!("{}", self.render(&style));
    }

    fn render(&self, style: &Style) -> String {
        let mut text = format!("{} {}\n", style.red_bold("error:"), self.what);
        if !self.place.is_empty() {
            text.push_str(&format!("  {} {}\n", style.blue("at"), self.place));
        }
        if !self.help.is_empty() {
            text.push_str(&format!("  {} {}\n", style.green("help:"), self.help));
        }
        text
    }
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(&Style::plain()).trim_end())
    }
}

impl std::error::Error for Failure {}

impl From<fabric::formats::FormatError> for Failure {
    fn from(error: fabric::formats::FormatError) -> Self {
        let place = if error.line == 0 {
            error.file
        } else {
            format!("{}:{}:{}", error.file, error.line, error.column.max(1))
        };
        Self::new(error.what, place, error.mend)
    }
}

impl From<fabric::generate::GenerateError> for Failure {
    fn from(error: fabric::generate::GenerateError) -> Self {
        Self::new(error.problem, "", error.mend)
    }
}

impl From<transport::WireError> for Failure {
    fn from(error: transport::WireError) -> Self {
        Self::new(error.problem, error.place, error.mend)
    }
}

impl From<routing::RouteError> for Failure {
    fn from(error: routing::RouteError) -> Self {
        Self::new(error.to_string(), "", "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_three_lines() {
        let failure = Failure::new("port 3 is used twice", "a.net:7:1", "give one cable another port");
        assert_eq!(
            failure.to_string(),
            "error: port 3 is used twice\n  at a.net:7:1\n  help: give one cable another port"
        );
        assert_eq!(Failure::new("no", "", "").to_string(), "error: no");
    }

    #[test]
    fn the_systems_words_are_kept() {
        let error = io::Error::from_raw_os_error(libc::ENOENT);
        let failure = Failure::file("read", "x.net", &error);
        assert_eq!(
            (failure.what.as_str(), failure.place.as_str()),
            ("cannot read: no such file or directory", "x.net")
        );
    }
}
