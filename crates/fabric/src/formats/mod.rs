//! Topology files: what tools, sites and Heddle itself write about a cabling.
//!
//! [`read()`] chooses by content, then by the file's ending. All readers of tool output feed one `assemble` step,
//! which joins the two ends of every cable and refuses what contradicts itself. [`write()`] gives the text of any
//! [`Format`]. No function here opens a file: bytes come in, text goes out.
//!
//! | format | read | written | file |
//! | --- | --- | --- | --- |
//! | Heddle's own TOML | yes | yes | `native` |
//! | ibsim net file, `ibnetdiscover` output | yes | yes | `net`, `ibsim`, `ibnetdiscover` |
//! | `ibnetdiscover -p` list of ports | yes | no | `ports` |
//! | OpenSM's `opensm-subnet.lst` | yes | yes | `subnet_list` |
//! | Graphviz DOT, Slurm `topology.conf`, `topology.yaml` | no | yes | `dot`, `slurm` |
//!
//! Invariant: reading never panics, whatever the bytes; memory is bounded by the size of the file, however many
//! ports it claims (`assemble::MAX_PORT_SLOTS`).

pub mod aggregation;
mod assemble;
mod comment;
mod detect;
mod dot;
mod error;
mod ibnetdiscover;
mod ibsim;
mod lines;
mod native;
mod net;
mod parts;
mod ports;
mod slurm;
mod subnet_list;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::Serialize;

pub use error::FormatError;

use crate::{Fabric, PortId};

/// A way of writing a fabric down.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Heddle's own, in TOML: all that a [`Fabric`] holds.
    Native,
    /// What ibsim loads.
    IbsimNet,
    /// What `ibnetdiscover` prints.
    Ibnetdiscover,
    /// What `ibnetdiscover -p` prints: a line a port.
    PortList,
    /// OpenSM's `opensm-subnet.lst`: a line a port that is cabled.
    SubnetList,
    /// Graphviz.
    Dot,
    /// Slurm's `topology.conf` for its tree plugin.
    SlurmConf,
    /// Slurm's `topology.yaml`, version 24.11 and later.
    SlurmYaml,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 8] = [
        Self::Native,
        Self::IbsimNet,
        Self::Ibnetdiscover,
        Self::PortList,
        Self::SubnetList,
        Self::Dot,
        Self::SlurmConf,
        Self::SlurmYaml,
    ];

    /// The name that a person gives to choose it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "toml",
            Self::IbsimNet => "net",
            Self::Ibnetdiscover => "ibnetdiscover",
            Self::PortList => "port-list",
            Self::SubnetList => "subnet-lst",
            Self::Dot => "dot",
            Self::SlurmConf => "topology.conf",
            Self::SlurmYaml => "topology.yaml",
        }
    }

    /// Whether [`read()`] takes it.
    pub const fn is_readable(self) -> bool {
        matches!(
            self,
            Self::Native | Self::IbsimNet | Self::Ibnetdiscover | Self::PortList | Self::SubnetList
        )
    }

    /// Whether [`write()`] gives it.
    pub const fn is_writable(self) -> bool {
        !matches!(self, Self::PortList)
    }

    /// The format that a path's ending stands for.
    pub fn from_path_ending(path: &str) -> Option<Self> {
        let file = path.rsplit(['/', '\\']).next().unwrap_or(path).to_ascii_lowercase();
        let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
        match ending {
            "toml" => Some(Self::Native),
            "net" => Some(Self::IbsimNet),
            "ibnetdiscover" | "ibnet" | "topo" => Some(Self::Ibnetdiscover),
            "lst" => Some(Self::SubnetList),
            "dot" | "gv" => Some(Self::Dot),
            "conf" => Some(Self::SlurmConf),
            "yaml" | "yml" => Some(Self::SlurmYaml),
            _ if file.starts_with("ibnetdiscover") || file.starts_with("ibnet.") => Some(Self::Ibnetdiscover),
            _ => None,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no format has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "\"{0}\" is no format: write toml, net, ibnetdiscover, subnet-lst, dot, topology.conf or topology.yaml"
)]
pub struct UnknownFormat(pub String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        Self::ALL
            .into_iter()
            .find(|format| format.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| UnknownFormat(text.to_owned()))
    }
}

/// What a reader saw that is no error but that a person may want to know.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoteKind {
    /// Only one end of the cable names the other.
    OneSided,
    /// The two ends give different rates; the slower is taken.
    RateDisagrees,
    /// A node is named as a neighbour, but has no record of its own.
    Undescribed,
    /// A record stands in the file twice, word for word.
    Repeated,
    /// A LID that no port can have; taken as none.
    NoLid,
    /// Lines that are no topology; left out.
    Skipped,
}

/// One thing that a reader wants to tell.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Note {
    /// The line of the file, from 1.
    pub line: u32,
    /// What it is.
    pub kind: NoteKind,
    /// It in words.
    pub message: String,
    /// The cable's ends, the one that was written down first; `None` where it is not about one cable.
    pub ends: Option<(PortId, PortId)>,
}

/// A fabric as it was read.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The graph.
    pub fabric: Fabric,
    /// What the file turned out to be.
    pub format: Format,
    /// What the reader has to tell, in the order of lines.
    pub notes: Vec<Note>,
}

impl Loaded {
    /// A fabric that no file was read for, so that it can be checked.
    pub fn from_fabric(fabric: Fabric) -> Self {
        Self { fabric, format: Format::Native, notes: Vec::new() }
    }
}

/// The largest file that is read, bytes. A fabric of 130,000 nodes takes about 60 MB in the wordiest format.
pub const MAX_FILE_BYTES: usize = 1 << 30;

/// Reads a topology file. `name` is the file's name: for messages, and for its ending where the content does not
/// tell the format.
///
/// # Errors
/// Where the bytes are no topology, are cut off, or contradict themselves: file, line, column, what is wrong and
/// what would mend it.
pub fn read(name: &str, bytes: &[u8]) -> Result<Loaded, FormatError> {
    if bytes.len() > MAX_FILE_BYTES {
        return Err(FormatError::whole(
            name,
            format!("the file has {} bytes", bytes.len()),
            "files of up to 1 GiB are read: leave out what is no topology",
        ));
    }
    let text = decode(name, bytes)?;
    let format = detect::format_of(name, &text)?;
    match format {
        Format::Native => native::read(name, &text),
        Format::PortList => ports::read(name, &text),
        Format::SubnetList => subnet_list::read(name, &text),
        _ => net::read(name, &text, format),
    }
}

/// Terminals write names in other encodings than UTF-8, so a stray byte becomes the replacement character; but a
/// zero byte or many stray ones are no text at all.
fn decode<'a>(name: &str, bytes: &'a [u8]) -> Result<Cow<'a, str>, FormatError> {
    let binary = |at: usize| {
        let line = 1 + bytes[..at].iter().filter(|&&byte| byte == b'\n').count();
        FormatError::at(
            name,
            line as u32,
            1,
            "binary data, not text".to_owned(),
            "give a topology as text: ibnetdiscover output, an ibsim net file, opensm-subnet.lst or TOML",
        )
    };
    if let Some(at) = bytes.iter().position(|&byte| byte == 0) {
        return Err(binary(at));
    }
    let text = String::from_utf8_lossy(bytes);
    if let Cow::Owned(text) = &text {
        let stray = text.chars().filter(|&c| c == char::REPLACEMENT_CHARACTER).count();
        if stray > 16 + bytes.len() / 64 {
            return Err(binary(bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or(0)));
        }
    }
    Ok(match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.strip_prefix('\u{feff}').unwrap_or(text)),
        owned => owned,
    })
}

/// Writes a fabric down.
///
/// # Errors
/// Where the format cannot hold the fabric; the message says why and names a format that can.
pub fn write(fabric: &Fabric, format: Format) -> Result<String, FormatError> {
    match format {
        Format::Native => Ok(native::write(fabric)),
        Format::IbsimNet => ibsim::write(fabric),
        Format::Ibnetdiscover => ibnetdiscover::write(fabric),
        Format::SubnetList => subnet_list::write(fabric),
        Format::Dot => Ok(dot::write(fabric)),
        Format::SlurmConf => slurm::write_conf(fabric),
        Format::SlurmYaml => slurm::write_yaml(fabric),
        Format::PortList => Err(FormatError::whole(
            "",
            "a list of ports is read, not written".to_owned(),
            "write ibnetdiscover, net, subnet-lst or toml",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_and_names_choose_formats() {
        assert_eq!(Format::from_path_ending("a/b.net"), Some(Format::IbsimNet));
        assert_eq!(Format::from_path_ending("b.c/ibnetdiscover.out"), Some(Format::Ibnetdiscover));
        assert_eq!(Format::from_path_ending("topology.YAML"), Some(Format::SlurmYaml));
        assert_eq!(Format::from_path_ending("noending"), None);
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(format));
        }
        assert!("xml".parse::<Format>().unwrap_err().to_string().contains("toml"));
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_in_words() {
        let error = read("a.bin", b"Switch\n\x00\x01").unwrap_err();
        assert!(error.to_string().starts_with("a.bin:2:1: binary data"), "{error}");
        let noise: Vec<u8> = (0..2000u32).map(|i| (i.wrapping_mul(97) % 255 + 1) as u8).collect();
        assert!(read("noise", &noise).unwrap_err().to_string().contains("binary"));
        let error = read("empty", b"").unwrap_err();
        assert!(error.to_string().starts_with("empty:"), "{error}");
    }
}
