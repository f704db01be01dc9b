//! TOML with places: what serde found wrong, and what a reader finds wrong later, by line and column.

use serde::Deserialize;

use crate::FormatError;

/// A text with the name it came under.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    file: &'a str,
    text: &'a str,
}

impl<'a> Place<'a> {
    /// The text of a file.
    pub const fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, text }
    }

    /// An error at a byte of the text.
    pub fn error(&self, at: usize, what: impl Into<String>, mend: &str) -> FormatError {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = 1 + before.bytes().filter(|&byte| byte == b'\n').count();
        let column = 1 + before.len() - before.rfind('\n').map_or(0, |end| end + 1);
        FormatError::at(self.file, line as u32, column as u32, what.into(), mend)
    }

    /// Takes the text apart as TOML; `keys` says which keys there are.
    pub fn parse<T: Deserialize<'a>>(&self, keys: &str) -> Result<T, FormatError> {
        toml::from_str(self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            self.error(at, error.message().lines().next().unwrap_or("not valid TOML"), keys)
        })
    }
}
