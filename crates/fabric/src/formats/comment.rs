//! The comments of `ibnetdiscover`, which hold names, LIDs and rates.

use ib::{LinkRate, LinkWidth};

use super::lines::Cursor;

/// What stands behind the `#`.
#[derive(Clone, Copy, Default)]
pub struct Comment<'a> {
    pub name: Option<&'a str>,
    pub enhanced: bool,
    pub lid: Option<u32>,
    pub lmc: u8,
    pub peer_lid: Option<u32>,
    pub rate: Option<LinkRate>,
}

impl<'a> Comment<'a> {
    /// `# "name" enhanced port 0 lid 13 lmc 0`, quotes or none.
    pub fn of_header(rest: &'a str) -> Self {
        let Some((_, text)) = rest.split_once('#') else { return Self::default() };
        let text = text.trim_start_matches([' ', '\t']);
        let (name, tail) = quoted(text).unwrap_or_else(|| {
            let marks = [" enhanced port ", " base port ", " lid ", " lmc "];
            let end = marks.iter().filter_map(|mark| text.find(mark)).min().unwrap_or(text.len());
            text.split_at(end)
        });
        Self {
            name: Some(name),
            enhanced: tail.contains("enhanced port 0"),
            lid: number_after(tail, "lid "),
            lmc: number_after(tail, "lmc ").unwrap_or(0).min(7) as u8,
            ..Self::default()
        }
    }

    /// `# "name" lid 69 4xEDR` on a switch, `# lid 28 lmc 0 "name" lid 13 4xEDR` on an adapter, quotes or none.
    pub fn of_port(text: &'a str) -> Self {
        let mut comment = Self::default();
        let mut cursor = Cursor::new(text);
        cursor.skip_blanks();
        if cursor.take("lid ") {
            comment.lid = cursor.number();
            cursor.skip_blanks();
            if cursor.take("lmc ") {
                comment.lmc = cursor.number().unwrap_or(0).min(7) as u8;
            }
            cursor.skip_blanks();
        }
        let rest = cursor.rest();
        let tail = match quoted(rest) {
            Some((name, tail)) => {
                comment.name = Some(name);
                tail
            }
            None => match rest.rfind(" lid ") {
                Some(end) => {
                    comment.name = Some(&rest[..end]);
                    &rest[end..]
                }
                None => rest,
            },
        };
        comment.peer_lid = number_after(tail, "lid ");
        comment.rate = rate_in(tail);
        comment
    }
}

/// The text between the first and the last quote, which may hold quotes itself, and what follows.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('"')?;
    let end = inner.rfind('"')?;
    Some((&inner[..end], &inner[end + 1..]))
}

fn number_after(text: &str, mark: &str) -> Option<u32> {
    let mut cursor = Cursor::new(&text[text.find(mark)? + mark.len()..]);
    cursor.number()
}

/// The first rate among the words: `4xEDR` or `4x EDR`; `4x ???` is none.
pub fn rate_in(text: &str) -> Option<LinkRate> {
    let mut words = text.split([' ', '\t']).filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        let digits = word.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 || word.as_bytes().get(digits) != Some(&b'x') {
            continue;
        }
        if word.len() > digits + 1 {
            return word.parse().ok();
        }
        let lanes: u8 = word[..digits].parse().ok()?;
        let width = LinkWidth::ALL.into_iter().find(|width| width.lanes() == lanes)?;
        let speed = words.next()?.parse().ok()?;
        return Some(LinkRate { width, speed });
    }
    None
}
