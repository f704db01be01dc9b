//! A MAD as the frame that it is on a cable: LRH, BTH, DETH, 256 bytes, ICRC, VCRC.
//!
//! Layout and checksums are those of the InfiniBand architecture's volume 1, as Wireshark's dissector reads them.

use ib::Packet;

/// Length of a MAD's frame.
pub const FRAME_LENGTH: usize = 8 + 12 + 8 + 256 + 4 + 2;

const LOCAL_WITH_BTH: u8 = 2;
const UNRELIABLE_SEND_ONLY: u8 = 0x64;
const DEFAULT_P_KEY: u16 = 0xffff;
const WELL_KNOWN_Q_KEY: u32 = 0x8001_0000;
/// Where BTH begins, and the byte of it that checksums leave out.
const BTH: usize = 8;
const BTH_RESERVED: usize = BTH + 4;

/// The frame of a packet from `packet.slid` to `packet.dlid`. `sequence` is the sending queue pair's number of it.
pub fn frame(packet: &Packet, sequence: u32) -> [u8; FRAME_LENGTH] {
    let mut bytes = [0; FRAME_LENGTH];
    let management = packet.dest_qp == 0;
    // LRH: lane 15 for subnet management, lane 0 else; service level 0; what follows.
    bytes[0] = if management { 0xf0 } else { 0 };
    bytes[1] = LOCAL_WITH_BTH;
    bytes[2..4].copy_from_slice(&(packet.dlid.0 as u16).to_be_bytes());
    let words = ((FRAME_LENGTH - 2) / 4) as u16;
    bytes[4..6].copy_from_slice(&words.to_be_bytes());
    bytes[6..8].copy_from_slice(&(packet.slid.0 as u16).to_be_bytes());
    // BTH.
    bytes[BTH] = UNRELIABLE_SEND_ONLY;
    bytes[BTH + 2..BTH + 4].copy_from_slice(&DEFAULT_P_KEY.to_be_bytes());
    bytes[BTH + 4..BTH + 8].copy_from_slice(&(packet.dest_qp & 0xff_ffff).to_be_bytes());
    bytes[BTH + 8..BTH + 12].copy_from_slice(&(sequence & 0xff_ffff).to_be_bytes());
    // DETH.
    let q_key = if management { 0 } else { WELL_KNOWN_Q_KEY };
    bytes[20..24].copy_from_slice(&q_key.to_be_bytes());
    bytes[24..28].copy_from_slice(&(packet.source_qp & 0xff_ffff).to_be_bytes());
    bytes[28..284].copy_from_slice(&packet.mad.0);
    let invariant = invariant_crc(&bytes[..284]);
    bytes[284..288].copy_from_slice(&invariant);
    let variant = variant_crc(&bytes[..288]);
    bytes[288..290].copy_from_slice(&variant);
    bytes
}

/// The CRC of what no switch changes: all from LRH on, with the lane and BTH's reserved byte taken as ones. For packets
/// without GRH.
pub fn invariant_crc(packet: &[u8]) -> [u8; 4] {
    let mut crc = u32::MAX;
    for (at, &byte) in packet.iter().enumerate() {
        let byte = match at {
            0 => byte | 0xf0,
            BTH_RESERVED => 0xff,
            _ => byte,
        };
        crc = crc >> 8 ^ CRC32[usize::from(crc as u8 ^ byte)];
    }
    (!crc).to_le_bytes()
}

/// The CRC of one hop: all from LRH to ICRC.
pub fn variant_crc(packet: &[u8]) -> [u8; 2] {
    let crc = packet.iter().fold(u16::MAX, |crc, &byte| crc >> 8 ^ CRC16[usize::from(crc as u8 ^ byte)]);
    (!crc).to_le_bytes()
}

/// x^32 + x^26 + x^23 + x^22 + x^16 + x^12 + x^11 + x^10 + x^8 + x^7 + x^5 + x^4 + x^2 + x + 1, lowest bit first.
const CRC32: [u32; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut value = at as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ 0x04c1_1db7u32.reverse_bits() } else { value >> 1 };
            bit += 1;
        }
        table[at] = value;
        at += 1;
    }
    table
};

/// x^16 + x^12 + x^3 + x + 1, lowest bit first.
const CRC16: [u16; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut value = at as u16;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ 0x100bu16.reverse_bits() } else { value >> 1 };
            bit += 1;
        }
        table[at] = value;
        at += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use ib::{AttributeId, DirectedRoute, Lid, Mad, Method};

    use super::*;

    /// The sample packet without GRH of the architecture's chapter on data integrity: an RDMA write of 14 bytes.
    const SAMPLE: [u8; 52] = [
        0x70, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2, 0x0a, 0x20, 0x24, 0x87, 0x00, 0x87, 0xb1, 0xb3, 0x00,
        0x0d, 0xec, 0x2a, 0x01, 0x71, 0x0a, 0x1c, 0x01, 0x5d, 0x40, 0x02, 0x38, 0xf2, 0x7a, 0x05, 0x00, 0x00,
        0x00, 0x0e, 0xbb, 0x88, 0x4d, 0x85, 0xfd, 0x5c, 0xfb, 0xa4, 0x72, 0x8b, 0xc0, 0x69, 0x0e, 0xd4, 0x00,
        0x00,
    ];

    #[test]
    fn the_standards_sample_has_its_checksum() {
        assert_eq!(invariant_crc(&SAMPLE), [0x96, 0x25, 0xb7, 0x5a]);
        let mut other_lane = SAMPLE;
        other_lane[0] = 0x30;
        assert_eq!(invariant_crc(&other_lane), [0x96, 0x25, 0xb7, 0x5a]);
    }

    #[test]
    fn the_variant_crc_sees_every_bit() {
        let whole = variant_crc(&SAMPLE);
        for bit in 0..SAMPLE.len() * 8 {
            let mut changed = SAMPLE;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(variant_crc(&changed), whole);
        }
    }

    #[test]
    fn a_frame_has_its_headers_in_place() {
        let mad = Mad::directed(Method::GET, AttributeId::NODE_INFO, 0, &DirectedRoute::LOCAL, 1, 0);
        let bytes = frame(&Packet::directed(mad), 7);
        assert_eq!(bytes[..8], [0xf0, 2, 0xff, 0xff, 0, 72, 0xff, 0xff]);
        assert_eq!(bytes[8..20], [0x64, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 7]);
        assert_eq!(bytes[20..28], [0; 8]);
        assert_eq!(bytes[28..284], mad.0);
        let mut other = Packet::to_lid(Lid(3), Mad::performance(Method::GET, AttributeId::PORT_COUNTERS, 1));
        (other.dest_qp, other.source_qp, other.slid) = (1, 1, Lid(0x102));
        let bytes = frame(&other, 7);
        assert_eq!(bytes[..8], [0, 2, 0, 3, 0, 72, 1, 2]);
        assert_eq!(bytes[20..28], [0x80, 1, 0, 0, 0, 0, 0, 1]);
    }
}
