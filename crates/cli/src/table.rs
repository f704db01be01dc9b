//! Rows of cells in columns, as wide as they need to be.

/// Which side of its column a cell keeps to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table of text without lines around it.
#[derive(Clone, Debug)]
pub struct Table {
    sides: Vec<Side>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new(sides: impl Into<Vec<Side>>) -> Self {
        Self { sides: sides.into(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) -> &mut Self {
        self.rows.push(cells.into_iter().map(Into::into).collect());
        self
    }

    /// The text, every row indented by `indent` and without blanks at its end.
    pub fn render(&self, indent: usize) -> String {
        let mut widths = vec![0; self.sides.len()];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(visible_width(cell));
            }
        }
        let mut text = String::new();
        for row in &self.rows {
            let mut line = " ".repeat(indent);
            for (at, cell) in row.iter().enumerate() {
                let side = self.sides.get(at).copied().unwrap_or(Side::Left);
                let pad =
                    " ".repeat(widths.get(at).copied().unwrap_or(0).saturating_sub(visible_width(cell)));
                if at > 0 {
                    line.push_str("  ");
                }
                match side {
                    Side::Left => line.extend([cell.as_str(), &pad]),
                    Side::Right => line.extend([&pad, cell.as_str()]),
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// How many columns a cell takes, colour codes left out.
fn visible_width(text: &str) -> usize {
    let mut width = 0;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter == '\x1b' {
            letters.by_ref().find(|&end| end == 'm');
        } else {
            width += 1;
        }
    }
    width
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new([Side::Left, Side::Right]);
        table.row(["switches", "48"]).row(["\x1b[1mhosts\x1b[0m", "1,024"]);
        assert_eq!(table.render(2), "  switches     48\n  \x1b[1mhosts\x1b[0m     1,024\n");
    }
}
