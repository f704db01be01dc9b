//! Which format a text is in, by its first telling line.

use super::lines::{Cursor, numbered};
use super::{Format, FormatError};

/// How many lines that say nothing may come before the first that does.
const PATIENCE: usize = 4096;

/// The format of a text: by content, then by the ending of its name.
pub fn format_of(name: &str, text: &str) -> Result<Format, FormatError> {
    let mut seen_tool = false;
    for (_, line) in numbered(text).filter(|(_, line)| !line.is_empty()).take(PATIENCE) {
        if line.starts_with(super::ibsim::MARK) {
            return Ok(Format::IbsimNet);
        }
        if line.starts_with("# Topology file") || line.starts_with("# Initiated from node") {
            return Ok(Format::Ibnetdiscover);
        }
        seen_tool |= line.starts_with("vendid=") || line.starts_with("sysimgguid=");
        match telling(line) {
            Some(Format::IbsimNet) if seen_tool && has_tool_id(line) => return Ok(Format::Ibnetdiscover),
            Some(format) => return known(name, format),
            None => {}
        }
    }
    match Format::from_path_ending(name) {
        Some(format) if text.trim().is_empty() => Err(FormatError::whole(
            name,
            format!("the file is empty; its ending says {format}"),
            "give a file that holds a topology",
        )),
        Some(format) if !matches!(format, Format::SlurmConf | Format::SlurmYaml | Format::Dot) => Ok(format),
        _ => Err(FormatError::whole(
            name,
            "this is no topology that Heddle knows".to_owned(),
            "give ibnetdiscover output, an ibsim net file, opensm-subnet.lst or Heddle's own TOML",
        )),
    }
}

fn known(name: &str, format: Format) -> Result<Format, FormatError> {
    if format.is_readable() {
        return Ok(format);
    }
    Err(FormatError::whole(
        name,
        format!("this is {format}, which Heddle writes but does not read"),
        "give ibnetdiscover output, an ibsim net file, opensm-subnet.lst or Heddle's own TOML",
    ))
}

/// `Switch 36 "S-0002c9…"`: the identifier is a letter for the kind, then a GUID.
fn has_tool_id(line: &str) -> bool {
    let Some(id) = line.split('"').nth(1) else { return false };
    super::net::guid_in_id(id).is_some()
}

fn telling(line: &str) -> Option<Format> {
    let mut cursor = Cursor::new(line);
    cursor.skip_blanks();
    let rest = cursor.rest();
    if rest.starts_with(super::native::MARK) {
        return Some(Format::Native);
    }
    if rest.starts_with('{') && rest.contains("NodeGUID:") {
        return Some(Format::SubnetList);
    }
    if super::ports::is_port_line(rest) {
        return Some(Format::PortList);
    }
    if super::net::is_header(rest) {
        return Some(Format::IbsimNet);
    }
    let lower = rest.to_ascii_lowercase();
    if lower.starts_with("graph ") || lower.starts_with("digraph ") || lower.starts_with("strict graph") {
        return Some(Format::Dot);
    }
    if lower.starts_with("switchname=") || lower.starts_with("blockname=") {
        return Some(Format::SlurmConf);
    }
    rest.starts_with("- topology:").then_some(Format::SlurmYaml)
}
