//! Reading inputs and writing outputs whole: a file is there as it should be, or as it was.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use fabric::Fabric;
use fabric::formats::{self, Format, Loaded};

use crate::failure::Failure;

/// Reads a file; `-` is standard input.
pub fn read(path: &str) -> Result<Vec<u8>, Failure> {
    if path == "-" {
        let mut bytes = Vec::new();
        let mut limited = io::stdin().lock().take(formats::MAX_FILE_BYTES as u64 + 1);
        limited.read_to_end(&mut bytes).map_err(|error| Failure::file("read", "standard input", &error))?;
        return Ok(bytes);
    }
    let metadata = fs::metadata(path).map_err(|error| Failure::file("read", path, &error))?;
    if metadata.is_file() && metadata.len() > formats::MAX_FILE_BYTES as u64 {
        return Err(Failure::new(
            format!("the file has {} bytes", metadata.len()),
            path,
            "files of up to 1 GiB are read: is it the right one?",
        ));
    }
    fs::read(path).map_err(|error| Failure::file("read", path, &error))
}

/// Reads a topology file; `-` is standard input.
pub fn read_fabric(path: &str) -> Result<Loaded, Failure> {
    let name = if path == "-" { "standard input" } else { path };
    Ok(formats::read(name, &read(path)?)?)
}

/// Writes a file whole: to a temporary file beside it, which then takes its name. `-` is standard output.
pub fn write(path: &str, bytes: &[u8]) -> Result<(), Failure> {
    if path == "-" {
        let mut out = io::stdout().lock();
        return out
            .write_all(bytes)
            .and_then(|()| out.flush())
            .map_err(|error| Failure::file("write", "standard output", &error));
    }
    // What is no plain file (a device, a pipe) is written in place.
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return fs::write(path, bytes).map_err(|error| Failure::file("write", path, &error));
    }
    whole(Path::new(path), bytes).map_err(|error| Failure::file("write", path, &error))
}

fn whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link stays a link: what it leads to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file =
        tempfile::Builder::new().prefix(".heddle-").permissions(permissions(&target)).tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.persist(&target).map(drop).map_err(|error| error.error)
}

/// Those of the file that is replaced; else what the user's mask leaves of read and write.
fn permissions(path: &Path) -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).map_or_else(|_| fs::Permissions::from_mode(0o666), |metadata| metadata.permissions())
}

/// The format that an option names, else the one that the path's ending stands for, else Heddle's own.
pub fn format_for(path: &str, asked: Option<Format>) -> Result<Format, Failure> {
    let format = match asked {
        Some(format) => format,
        None if path == "-" => Format::Native,
        None => Format::from_path_ending(path).ok_or_else(|| {
            Failure::new(
                "the ending tells no format",
                path,
                "end it with .toml, .net, .ibnetdiscover, .lst, .dot, .conf or .yaml, or give --format",
            )
        })?,
    };
    if format.is_writable() {
        return Ok(format);
    }
    Err(Failure::new(format!("{format} is read, not written"), path, "give another --format"))
}

/// Writes a fabric in a format.
pub fn write_fabric(fabric: &Fabric, path: &str, format: Format) -> Result<(), Failure> {
    let text = formats::write(fabric, format).map_err(|mut error| {
        if error.file.is_empty() {
            error.file = if path == "-" { "standard output".to_owned() } else { path.to_owned() };
        }
        Failure::from(error)
    })?;
    write(path, text.as_bytes())
}

/// Prints a value as JSON.
pub fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::new(format!("cannot print as JSON: {error}"), "", ""))?;
    text.push('\n');
    write("-", text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_a_failed_write_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toml");
        let name = path.to_str().unwrap();
        write(name, b"one").unwrap();
        write(name, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let nowhere = folder.path().join("no/such/folder/a.toml");
        assert!(write(nowhere.to_str().unwrap(), b"x").unwrap_err().what.starts_with("cannot write"));
    }

    #[test]
    fn endings_choose_formats() {
        assert_eq!(format_for("-", None).unwrap(), Format::Native);
        assert_eq!(format_for("a.net", None).unwrap(), Format::IbsimNet);
        assert_eq!(format_for("a.net", Some(Format::Dot)).unwrap(), Format::Dot);
        assert!(format_for("a.xyz", None).is_err());
        assert!(format_for("a", Some(Format::PortList)).is_err());
    }
}
