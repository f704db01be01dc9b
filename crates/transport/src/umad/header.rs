//! The kernel's `ib_user_mad_hdr`, and the request that registers an agent (`ib_user_mad.h`).
//!
//! The header has two layouts: the new one ends with the partition key's index, the old one stops before it.

use ib::{Lid, Mad, ManagementClass, Method, Packet};

/// Length of the header in front of each MAD, in the new layout.
pub(super) const HEADER_LENGTH: usize = 64;
/// Its length in the old layout.
pub(super) const OLD_HEADER_LENGTH: usize = 56;
/// `_IOWR(0x1b, 1, struct ib_user_mad_reg_req)`.
pub(super) const REGISTER_AGENT: libc::c_ulong = 0xc01c_1b01;
/// `_IO(0x1b, 3)`: use the header with the partition key's index.
pub(super) const ENABLE_PKEY: libc::c_ulong = 0x1b03;
/// The key of queue pair 1.
const WELL_KNOWN_Q_KEY: u32 = 0x8001_0000;

/// `ib_user_mad_reg_req`: id, method mask of 128 bits, queue pair, class, class version, OUI, RMPP version.
pub(super) struct Registration([u8; 28]);

impl Registration {
    pub(super) fn new(qp: u8, class: ManagementClass, version: u8, methods: &[Method]) -> Self {
        let mut bytes = [0; 28];
        // The mask is an array of C longs: bit n of the whole stands for method n.
        let mask = methods.iter().fold(0u128, |mask, method| mask | 1 << (method.0 & 0x7f));
        for (at, long) in [mask as u64, (mask >> 64) as u64].into_iter().enumerate() {
            bytes[4 + 8 * at..12 + 8 * at].copy_from_slice(&long.to_ne_bytes());
        }
        bytes[20..23].copy_from_slice(&[qp, class.0, version]);
        Self(bytes)
    }

    pub(super) fn bytes(&mut self) -> &mut [u8; 28] {
        &mut self.0
    }

    /// The agent's number, once the kernel has filled it in.
    pub(super) fn id(&self) -> u32 {
        u32::from_ne_bytes([self.0[0], self.0[1], self.0[2], self.0[3]])
    }
}

/// Writes a header of `length` bytes and the MAD behind it; returns how long both are. `timeout_ms` 0: no answer is
/// waited for.
pub(super) fn emit(
    packet: &Packet,
    agent: u32,
    timeout_ms: u32,
    length: usize,
    buffer: &mut [u8; HEADER_LENGTH + 256],
) -> usize {
    let (header, mad) = buffer.split_at_mut(length.min(HEADER_LENGTH));
    header.fill(0);
    header[0..4].copy_from_slice(&agent.to_ne_bytes());
    header[8..12].copy_from_slice(&timeout_ms.to_ne_bytes());
    header[16..20].copy_from_slice(&((length + 256) as u32).to_ne_bytes());
    header[20..24].copy_from_slice(&packet.dest_qp.to_be_bytes());
    let q_key = if packet.dest_qp == 0 { 0 } else { WELL_KNOWN_Q_KEY };
    header[24..28].copy_from_slice(&q_key.to_be_bytes());
    header[28..30].copy_from_slice(&(packet.dlid.0 as u16).to_be_bytes());
    mad[..256].copy_from_slice(&packet.mad.0);
    length + 256
}

/// Reads a header of `length` bytes and the MAD behind it; `None` where they are not whole. The transaction number's
/// upper half is the kernel's and taken off where the MAD answers one of ours.
pub(super) fn parse(buffer: &[u8], length: usize) -> Option<Packet> {
    let (header, mad) = buffer.split_at_checked(length)?;
    let mut mad = Mad(*mad.first_chunk()?);
    let status = u32::from_ne_bytes(*header.get(4..)?.first_chunk()?);
    if status != 0 || mad.method().is_response() {
        mad.set_tid(mad.tid() & 0xffff_ffff);
    }
    let lid = Lid(u32::from(u16::from_be_bytes(*header.get(28..)?.first_chunk()?)));
    let directed = mad.is_directed();
    let qp = u32::from(!matches!(mad.class(), ManagementClass::SUBN_LID | ManagementClass::SUBN_DIRECTED));
    Some(Packet {
        // The kernel does not say which LID of the port it came to.
        dlid: if directed { Lid::PERMISSIVE } else { Lid::NONE },
        slid: lid,
        dest_qp: qp,
        source_qp: u32::from_be_bytes(*header.get(20..)?.first_chunk()?),
        status,
        mad,
    })
}

#[cfg(test)]
mod tests {
    use ib::AttributeId;

    use super::*;

    #[cfg(all(target_endian = "little", target_pointer_width = "64"))]
    #[test]
    fn a_registration_has_its_bytes_in_place() {
        let mut registration = Registration::new(
            0,
            ManagementClass::SUBN_DIRECTED,
            1,
            &[Method::GET, Method::SET, Method::TRAP],
        );
        let mut golden = [0; 28];
        golden[4] = 0b10_0110;
        golden[20..23].copy_from_slice(&[0, 0x81, 1]);
        assert_eq!(registration.bytes(), &golden);
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn a_request_has_its_bytes_in_place() {
        let mad = Mad::performance(Method::GET, AttributeId::PORT_COUNTERS, 9);
        let mut packet = Packet::to_lid(Lid(0x0102), mad);
        packet.dest_qp = 1;
        let mut buffer = [0xa5; HEADER_LENGTH + 256];
        assert_eq!(emit(&packet, 3, 200, HEADER_LENGTH, &mut buffer), 320);
        let mut golden = vec![3, 0, 0, 0, 0, 0, 0, 0, 200, 0, 0, 0, 0, 0, 0, 0, 64, 1, 0, 0];
        golden.extend([0, 0, 0, 1, 0x80, 1, 0, 0, 1, 2]);
        golden.resize(64, 0);
        golden.extend(mad.0);
        assert_eq!(buffer[..], golden[..]);
    }

    #[test]
    fn answers_lose_the_kernels_half_of_the_number() {
        let mut mad = Mad::lid_routed(Method::GET, AttributeId::NODE_INFO, 0, 0x77_0000_0005, 0);
        mad.make_response();
        let mut buffer = vec![0; HEADER_LENGTH];
        buffer[28..30].copy_from_slice(&[0x0a, 0x0b]);
        buffer.extend(mad.0);
        let packet = parse(&buffer, HEADER_LENGTH).unwrap();
        assert_eq!((packet.mad.tid(), packet.slid, packet.status), (5, Lid(0x0a0b), 0));
        assert!(parse(&buffer[..319], HEADER_LENGTH).is_none());
    }
}
