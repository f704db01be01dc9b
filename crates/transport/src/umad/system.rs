//! The libc calls that ibsim's preload library replaces, with their errors.

use std::ffi::{CStr, CString};
use std::io;

use super::header::{HEADER_LENGTH, OLD_HEADER_LENGTH};

/// An open file, closed by `libc::close`. Numbers of the preload library are no real descriptors, so `OwnedFd` will
/// not do.
#[derive(Debug)]
pub(super) struct Descriptor(libc::c_int);

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: this number was opened here and is closed once.
        unsafe { libc::close(self.0) };
    }
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn c_string(path: &str) -> io::Result<CString> {
    CString::new(path).map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn open_with(path: &str, flags: libc::c_int) -> io::Result<Descriptor> {
    let path = c_string(path)?;
    // SAFETY: a string with its zero.
    checked(unsafe { libc::open(path.as_ptr(), flags) }).map(Descriptor)
}

/// Opens a device for reading and writing, without waiting.
pub(super) fn open(path: &str) -> io::Result<Descriptor> {
    open_with(path, libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC)
}

/// Reads up to the buffer's length.
pub(super) fn read(descriptor: &Descriptor, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the buffer is as long as is said.
    let length = unsafe { libc::read(descriptor.0, buffer.as_mut_ptr().cast(), buffer.len()) };
    match length {
        0.. => Ok(length as usize),
        -1 => Err(io::Error::last_os_error()),
        // The preload library returns the error's number itself.
        _ => Err(io::Error::from_raw_os_error((-length) as i32)),
    }
}

/// Writes the whole buffer in one call.
pub(super) fn write(descriptor: &Descriptor, buffer: &[u8]) -> io::Result<()> {
    // SAFETY: the buffer is as long as is said.
    let length = unsafe { libc::write(descriptor.0, buffer.as_ptr().cast(), buffer.len()) };
    if length < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// How long the header in front of a MAD is. The kernel takes the new layout once it is asked to. ibsim's preload
/// library asks libibumad instead, which it brings along and which only its own callers switch to the new layout.
pub(super) fn header_length() -> usize {
    // SAFETY: a string with its zero; the default handle.
    let symbol = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"umad_size".as_ptr()) };
    if symbol.is_null() {
        return HEADER_LENGTH;
    }
    // SAFETY: libibumad's `size_t umad_size(void)`, which reads one variable.
    let length =
        unsafe { std::mem::transmute::<*mut libc::c_void, extern "C" fn() -> libc::size_t>(symbol)() };
    if length == OLD_HEADER_LENGTH { OLD_HEADER_LENGTH } else { HEADER_LENGTH }
}

/// An ioctl that carries nothing.
pub(super) fn ioctl_plain(descriptor: &Descriptor, request: libc::c_ulong) -> io::Result<()> {
    // SAFETY: this request takes no argument.
    checked(unsafe { libc::ioctl(descriptor.0, request as _, std::ptr::null_mut::<u8>()) }).map(drop)
}

/// An ioctl that reads and writes a structure, whose length is part of the request's number.
pub(super) fn ioctl_bytes<const N: usize>(
    descriptor: &Descriptor,
    request: libc::c_ulong,
    bytes: &mut [u8; N],
) -> io::Result<()> {
    debug_assert_eq!((request >> 16 & 0x3fff) as usize, N);
    // SAFETY: the structure is as long as the request's number says.
    checked(unsafe { libc::ioctl(descriptor.0, request as _, bytes.as_mut_ptr()) }).map(drop)
}

/// Why [`poll`] came back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Woken {
    /// The time is over, or something may have come.
    Look,
    /// A signal came.
    Signal,
}

/// Waits until something can be read, for so many milliseconds at most.
pub(super) fn poll(descriptor: &Descriptor, milliseconds: libc::c_int) -> io::Result<Woken> {
    let mut waiting = libc::pollfd { fd: descriptor.0, events: libc::POLLIN, revents: 0 };
    // SAFETY: one pollfd.
    if unsafe { libc::poll(&raw mut waiting, 1, milliseconds) } >= 0 {
        return Ok(Woken::Look);
    }
    match io::Error::last_os_error().raw_os_error() {
        Some(code @ (libc::EBADF | libc::EFAULT | libc::EINVAL | libc::ENOMEM)) => {
            Err(io::Error::from_raw_os_error(code))
        }
        Some(libc::EINTR) => Ok(Woken::Signal),
        // The preload library says -1 where it was woken for nothing.
        _ => Ok(Woken::Look),
    }
}

/// The names in a folder, in order.
pub(super) fn list(path: &str) -> io::Result<Vec<String>> {
    let path = c_string(path)?;
    // SAFETY: a string with its zero.
    let folder = unsafe { libc::opendir(path.as_ptr()) };
    if folder.is_null() {
        return Err(io::Error::last_os_error());
    }
    let mut names = Vec::new();
    loop {
        // SAFETY: the folder is open, and no other thread reads it.
        let entry = unsafe { libc::readdir(folder) };
        if entry.is_null() {
            break;
        }
        // SAFETY: an entry's name ends with a zero and lives until the next call.
        let name = unsafe { CStr::from_ptr((*entry).d_name.as_ptr()) };
        names.push(name.to_string_lossy().into_owned());
    }
    // SAFETY: the folder is open and closed once.
    unsafe { libc::closedir(folder) };
    names.retain(|name| name != "." && name != "..");
    names.sort();
    Ok(names)
}

/// A small text file without the white space around it.
pub(super) fn read_text(path: &str) -> io::Result<String> {
    let file = open_with(path, libc::O_RDONLY | libc::O_CLOEXEC)?;
    let mut buffer = [0; 256];
    let length = read(&file, &mut buffer)?;
    Ok(String::from_utf8_lossy(&buffer[..length]).trim().to_owned())
}

/// Who may use a file: the group's name (or number), whether the group may write, and the file's permissions.
pub(super) fn group_of(path: &str) -> Option<(String, bool)> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(path).ok()?;
    let number = metadata.gid();
    let may = metadata.mode() & 0o060 == 0o060;
    let name = std::fs::read_to_string("/etc/group").ok().and_then(|groups| {
        groups.lines().find_map(|line| {
            let mut words = line.split(':');
            let name = words.next()?;
            (words.nth(1)?.parse() == Ok(number)).then(|| name.to_owned())
        })
    });
    Some((name.unwrap_or_else(|| number.to_string()), may))
}
