//! LIDs that outlive a restart: a text file of port GUIDs and their LIDs.
//!
//! ```text
//! # heddle lids 1
//! 0x0002c903000e0b72 17
//! ```
//!
//! A line a port: its GUID, its base LID in decimal. `#` begins a comment. The file is replaced whole: what is read is
//! never half of it. OpenSM's `guid2lid` (`0xGUID 0xFIRST 0xLAST`) is read too, never written.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use ib::{Guid, Lid};

/// LIDs by port GUID.
pub type Lids = BTreeMap<Guid, Lid>;

/// Why a file of LIDs is refused.
#[derive(Debug, thiserror::Error)]
pub enum LidsError {
    /// The file cannot be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A line is no GUID with its LIDs.
    #[error("line {line} is no {expected}")]
    Line {
        /// The line's number, from 1.
        line: usize,
        /// What should stand there.
        expected: &'static str,
    },
}

const OWN: &str = "port GUID and LID, as in `0x0002c903000e0b72 17`";
const OPENSM: &str = "port GUID with its first and last LID, as in `0x0002c903000e0b72 0x0011 0x0011`";

/// Reads Heddle's own file. One that is not there holds no LIDs: the first start writes it.
pub fn read(path: &Path) -> Result<Lids, LidsError> {
    match fs::read_to_string(path) {
        Ok(text) => parse(&text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Lids::new()),
        Err(error) => Err(error.into()),
    }
}

/// Reads OpenSM's `guid2lid`.
pub fn read_opensm(path: &Path) -> Result<Lids, LidsError> {
    parse_opensm(&fs::read_to_string(path)?)
}

/// The lines that say something, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter_map(|(at, line)| {
        let line = line.split('#').next().unwrap_or_default().trim();
        (!line.is_empty()).then_some((at + 1, line))
    })
}

fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

fn parse(text: &str) -> Result<Lids, LidsError> {
    let entry = |line: &str| {
        let (guid, lid) = line.split_once(char::is_whitespace)?;
        Some((Guid(hex(guid)?), Lid(lid.trim().parse().ok()?)))
    };
    lines(text)
        .map(|(number, line)| {
            entry(line)
                .filter(|(_, lid)| *lid >= Lid::UNICAST_MIN && *lid <= Lid::WIDE_UNICAST_MAX)
                .ok_or(LidsError::Line { line: number, expected: OWN })
        })
        .collect()
}

fn parse_opensm(text: &str) -> Result<Lids, LidsError> {
    let entry = |line: &str| {
        let mut words = line.split_whitespace();
        let (guid, first, last) = (hex(words.next()?)?, hex(words.next()?)?, hex(words.next()?)?);
        let lid = Lid(u32::try_from(first).ok()?);
        (words.next().is_none() && first <= last && lid.is_unicast()).then_some((Guid(guid), lid))
    };
    lines(text)
        .map(|(number, line)| entry(line).ok_or(LidsError::Line { line: number, expected: OPENSM }))
        .collect()
}

/// Replaces the file: a temporary one beside it is written, flushed to the disk, and then takes its name.
pub fn write(path: &Path, lids: &Lids) -> Result<(), LidsError> {
    let mut text = String::from("# heddle lids 1\n");
    for (guid, lid) in lids {
        let _ = writeln!(text, "{:#018x} {}", guid.0, lid.0);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".heddle-lids-").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    // The name itself is on the disk once its folder is.
    File::open(folder)?.sync_all()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lids");
        assert!(read(&path).unwrap().is_empty());
        let lids: Lids = [(Guid(0x2c9), Lid(1)), (Guid(u64::MAX), Lid(0x1_dfff))].into();
        write(&path, &lids).unwrap();
        write(&path, &lids).unwrap();
        assert_eq!(read(&path).unwrap(), lids);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn opensms_file_is_read() {
        let text = "\n0x0000000000100003 0x0003 0x0003\n\n0x0000000000200000 0x0002 0x0002\n\n";
        let lids = parse_opensm(text).unwrap();
        assert_eq!(lids, [(Guid(0x10_0003), Lid(3)), (Guid(0x20_0000), Lid(2))].into());
    }

    #[test]
    fn a_bad_line_is_named() {
        for text in ["# x\n0x1 1\n0x2 0\n", "0x1 1\n\n2 7\n", "0x1 1\n\n0x2\n"] {
            assert_eq!(parse(text).unwrap_err().to_string(), format!("line 3 is no {OWN}"));
        }
        assert!(parse_opensm("0x1 0x3 0x2").is_err() && parse_opensm("0x1 0xc000 0xc000").is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = parse(&text);
            let _ = parse_opensm(&text);
        }
    }
}
