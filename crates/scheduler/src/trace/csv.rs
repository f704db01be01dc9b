//! Rows of fields with a head that names them: what the CSV readers share.

use csv::{ReaderBuilder, StringRecord, StringRecordsIntoIter, Trim};
use pool::FormatError;

use super::Gatherer;

/// A table's lines, after the head.
pub(crate) struct Table<'a> {
    /// The columns by name.
    pub(crate) head: StringRecord,
    rows: StringRecordsIntoIter<&'a [u8]>,
}

/// A row of a table.
pub(crate) struct Row {
    /// Counted from 1.
    pub(crate) line: usize,
    fields: StringRecord,
}

impl Row {
    /// A field; empty where the column or the field is not there.
    pub(crate) fn get(&self, column: Option<usize>) -> &str {
        column.and_then(|column| self.fields.get(column)).unwrap_or("")
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
        separator: u8,
        wanted: &[&str],
        gatherer: &Gatherer<'_>,
    ) -> Result<Self, FormatError> {
        let mut reader = ReaderBuilder::new()
            .delimiter(separator)
            // Only commas stand with quotes: what Slurm writes between bars may hold any.
            .quoting(separator == b',')
            .flexible(true)
            .trim(Trim::All)
            .from_reader(text.trim_start_matches('\u{feff}').as_bytes());
        let head = reader.headers().cloned().unwrap_or_default();
        if let Some(lacking) = wanted.iter().find(|&&name| !head.iter().any(|column| column == name)) {
            let what = format!("the first line names no column {lacking}");
            return Err(gatherer.error(1, what, &format!("it has to name {}", wanted.join(", "))));
        }
        Ok(Self { head, rows: reader.into_records() })
    }

    /// The place of a column.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.head.iter().position(|column| column == name)
    }
}

impl Iterator for Table<'_> {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        // Text that is no more than bytes in a row of any length is always a record.
        let fields = self.rows.by_ref().find_map(Result::ok)?;
        let line = fields.position().map_or(0, |position| position.line() as usize);
        Some(Row { line, fields })
    }
}

/// A number that has to fit into a smaller one.
pub(crate) fn small<T: TryFrom<u64>>(number: u64, name: &str) -> Result<T, String> {
    T::try_from(number).map_err(|_| format!("{name} is {number}, which is too many"))
}
