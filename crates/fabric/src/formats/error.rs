//! What is wrong with a file, where, and what would mend it.

use std::fmt;

/// Why a file is refused, or why a fabric cannot be written in a format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormatError {
    /// The file's name; empty where nothing was read.
    pub file: String,
    /// Line from 1; 0: the file as a whole.
    pub line: u32,
    /// Column from 1, counted in bytes; 0: the line as a whole.
    pub column: u32,
    /// What is wrong.
    pub what: String,
    /// What would mend it.
    pub mend: String,
}

impl FormatError {
    /// About one place of a file.
    pub fn at(file: &str, line: u32, column: u32, what: String, mend: &str) -> Self {
        Self { file: file.to_owned(), line, column, what, mend: mend.to_owned() }
    }

    /// About a file as a whole, or about none.
    pub fn whole(file: &str, what: String, mend: &str) -> Self {
        Self::at(file, 0, 0, what, mend)
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            f.write_str(&self.file)?;
            if self.line > 0 {
                write!(f, ":{}:{}", self.line, self.column.max(1))?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.what)?;
        if !self.mend.is_empty() {
            write!(f, "; {}", self.mend)?;
        }
        Ok(())
    }
}

impl std::error::Error for FormatError {}
