//! A line of text and a place in it: what the readers of tool output walk along.

/// The lines of a text with their numbers from 1, without line ends, terminals' carriage returns and blanks after
/// the last character.
pub fn numbered(text: &str) -> impl Iterator<Item = (u32, &str)> {
    text.split('\n').enumerate().map(|(index, line)| (index as u32 + 1, trim(line)))
}

fn trim(line: &str) -> &str {
    line.trim_end_matches(['\r', ' ', '\t']).trim_start_matches('\r')
}

/// A place within one line.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    line: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(line: &'a str) -> Self {
        Self { line, at: 0 }
    }

    /// The column from 1.
    pub fn column(&self) -> u32 {
        self.at as u32 + 1
    }

    /// What is left of the line.
    pub fn rest(&self) -> &'a str {
        self.line.get(self.at..).unwrap_or("")
    }

    pub fn peek(&self) -> Option<u8> {
        self.line.as_bytes().get(self.at).copied()
    }

    pub fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    /// Goes past `text` where it stands here.
    pub fn take(&mut self, text: &str) -> bool {
        let here = self.rest().starts_with(text);
        if here {
            self.at += text.len();
        }
        here
    }

    /// A run of characters that `wanted` accepts (ASCII only), which may be empty.
    pub fn take_while(&mut self, wanted: impl Fn(u8) -> bool) -> &'a str {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii() && wanted(byte)) {
            self.at += 1;
        }
        self.line.get(start..self.at).unwrap_or("")
    }

    /// A number in decimal digits.
    pub fn number(&mut self) -> Option<u32> {
        self.take_while(|byte| byte.is_ascii_digit()).parse().ok()
    }

    /// All up to `end`, and past it.
    pub fn until(&mut self, end: char) -> Option<&'a str> {
        let rest = self.rest();
        let length = rest.find(end)?;
        self.at += length + end.len_utf8();
        Some(&rest[..length])
    }

    /// A word: all up to the next blank.
    pub fn word(&mut self) -> &'a str {
        self.skip_blanks();
        let rest = self.rest();
        let length = rest.find([' ', '\t']).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }
}

/// The text without the blanks and line ends that surround it.
pub fn tidy(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\r'])
}
