//! Many datagrams a system call: buffers made once, used for every call.

use std::io;
use std::os::fd::RawFd;

use ib::Packet;

use super::protocol::{DATA_LENGTH, emit_data, parse_data};

/// Datagrams in one call.
const COUNT: usize = 64;

/// Buffers for one call each way.
pub(super) struct Batch {
    messages: Box<[[u8; DATA_LENGTH]; COUNT]>,
}

impl Batch {
    pub(super) fn new() -> Self {
        Self { messages: Box::new([[0; DATA_LENGTH]; COUNT]) }
    }

    /// The headers that point at the first `count` buffers.
    fn headers(&mut self, count: usize, pieces: &mut [libc::iovec; COUNT]) -> [libc::mmsghdr; COUNT] {
        // SAFETY: a message header of zeros says: no name, no pieces, no ancillary data.
        let mut headers: [libc::mmsghdr; COUNT] = unsafe { std::mem::zeroed() };
        for (at, message) in self.messages.iter_mut().enumerate().take(count) {
            pieces[at] = libc::iovec { iov_base: message.as_mut_ptr().cast(), iov_len: DATA_LENGTH };
            headers[at].msg_hdr.msg_iov = &raw mut pieces[at];
            headers[at].msg_hdr.msg_iovlen = 1;
        }
        headers
    }

    /// Sends the first packets, up to a batch of them; returns how many went.
    pub(super) fn send(&mut self, descriptor: RawFd, packets: &[Packet]) -> io::Result<usize> {
        let count = packets.len().min(COUNT);
        for (packet, message) in packets.iter().zip(self.messages.iter_mut()) {
            emit_data(packet, message);
        }
        let mut pieces = NO_PIECES;
        let mut headers = self.headers(count, &mut pieces);
        // SAFETY: `count` headers, each with one piece in a buffer of `self` that lives through the call.
        let sent = unsafe {
            libc::sendmmsg(descriptor, headers.as_mut_ptr(), count as libc::c_uint, libc::MSG_DONTWAIT)
        };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }

    /// Adds all packets that wait, and returns how many there were. Datagrams that are no packets are skipped.
    pub(super) fn receive(&mut self, descriptor: RawFd, packets: &mut Vec<Packet>) -> io::Result<usize> {
        let before = packets.len();
        loop {
            let mut pieces = NO_PIECES;
            let mut headers = self.headers(COUNT, &mut pieces);
            // SAFETY: `COUNT` headers, each with one piece in a buffer of `self` that lives through the call; no
            // timeout.
            let received = unsafe {
                libc::recvmmsg(
                    descriptor,
                    headers.as_mut_ptr(),
                    COUNT as libc::c_uint,
                    libc::MSG_DONTWAIT,
                    std::ptr::null_mut(),
                )
            };
            let Ok(received) = usize::try_from(received) else {
                return match io::Error::last_os_error() {
                    error
                        if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) =>
                    {
                        Ok(packets.len() - before)
                    }
                    error => Err(error),
                };
            };
            for (message, header) in self.messages.iter().zip(&headers).take(received) {
                let length = (header.msg_len as usize).min(DATA_LENGTH);
                packets.extend(parse_data(&message[..length]));
            }
            if received < COUNT {
                return Ok(packets.len() - before);
            }
        }
    }
}

const NO_PIECES: [libc::iovec; COUNT] = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; COUNT];
