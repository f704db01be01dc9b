//! Rows of fields with a head that names them: what the CSV readers share.

use super::{Gatherer, TraceError};

/// The fields of a line, quotes taken off.
pub(crate) fn fields(line: &str, separator: char) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                push(&mut fields, '"');
            }
            '"' => quoted = !quoted,
            _ if letter == separator && !quoted => fields.push(String::new()),
            _ => push(&mut fields, letter),
        }
    }
    fields
}

fn push(fields: &mut [String], letter: char) {
    if let Some(last) = fields.last_mut() {
        last.push(letter);
    }
}

/// A table's lines, after the head.
pub(crate) struct Table<'a> {
    /// The columns by name.
    pub(crate) head: Vec<String>,
    separator: char,
    lines: std::iter::Enumerate<std::str::Lines<'a>>,
}

/// A row of a table.
pub(crate) struct Row {
    /// Counted from 1.
    pub(crate) line: usize,
    fields: Vec<String>,
}

impl Row {
    /// A field; empty where the column or the field is not there.
    pub(crate) fn get(&self, column: Option<usize>) -> &str {
        column.and_then(|column| self.fields.get(column)).map_or("", |field| field.trim())
    }

    /// A whole number of a field; `absent` where the field is empty.
    pub(crate) fn whole(&self, column: Option<usize>, name: &str, absent: u64) -> Result<u64, String> {
        let text = self.get(column);
        if text.is_empty() {
            return Ok(absent);
        }
        text.parse().map_err(|_| format!("{name} is {text:?}, not a whole number from 0"))
    }

    /// A time in seconds as milliseconds; nothing where the field is empty.
    pub(crate) fn time_ms(&self, column: Option<usize>, name: &str) -> Result<Option<u64>, String> {
        let text = self.get(column);
        if text.is_empty() || text.eq_ignore_ascii_case("none") || text.eq_ignore_ascii_case("unknown") {
            return Ok(None);
        }
        super::time::parse_ms(text).map(Some).map_err(|what| format!("{name} {what}"))
    }
}

impl<'a> Table<'a> {
    /// Reads the head, which has to name these columns.
    pub(crate) fn new(
        text: &'a str,
        separator: char,
        wanted: &[&str],
        gatherer: &Gatherer<'_>,
    ) -> Result<Self, TraceError> {
        let mut lines = text.lines().enumerate();
        let first = lines.by_ref().map(|(_, line)| line).find(|line| !line.trim().is_empty());
        let head: Vec<String> = fields(first.unwrap_or(""), separator)
            .into_iter()
            .map(|name| name.trim().trim_start_matches('\u{feff}').to_owned())
            .collect();
        if let Some(lacking) = wanted.iter().find(|&&name| !head.iter().any(|column| column == name)) {
            let what = format!("the first line names no column {lacking}");
            return Err(gatherer.error(1, what, format!("it has to name {}", wanted.join(", "))));
        }
        Ok(Self { head, separator, lines })
    }

    /// The place of a column.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.head.iter().position(|column| column == name)
    }
}

impl Iterator for Table<'_> {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        let (at, line) = self.lines.by_ref().find(|(_, line)| !line.trim().is_empty())?;
        Some(Row { line: at + 1, fields: fields(line, self.separator) })
    }
}

/// A number that has to fit into a smaller one.
pub(crate) fn small<T: TryFrom<u64>>(number: u64, name: &str) -> Result<T, String> {
    T::try_from(number).map_err(|_| format!("{name} is {number}, which is too many"))
}
