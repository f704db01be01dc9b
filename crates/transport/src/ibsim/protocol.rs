//! ibsim's two kinds of datagram as bytes. Control messages are in the host's byte order, data messages carry their
//! numbers in the network's.

use ib::{Lid, Mad, Packet};

/// Length of a control message.
pub const CONTROL_LENGTH: usize = 80;
/// Length of a data message.
pub const DATA_LENGTH: usize = 288;

const MAGIC: u32 = 0xdead_beef;
const MAD_AT: usize = 32;

/// What a control message asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Call {
    /// In a reply: refused.
    Error = 0,
    /// A client comes.
    Connect = 1,
    /// A client goes.
    Disconnect = 2,
    /// Set or clear the IsSM bit.
    SetIsSm = 9,
}

/// The control message for `call` by client `client`.
pub fn control(call: Call, client: u32, data: &[u8]) -> [u8; CONTROL_LENGTH] {
    let mut message = [0; CONTROL_LENGTH];
    let length = data.len().min(CONTROL_LENGTH - 16);
    for (at, word) in [MAGIC, client, call as u32, length as u32].into_iter().enumerate() {
        message[4 * at..4 * at + 4].copy_from_slice(&word.to_ne_bytes());
    }
    message[16..16 + length].copy_from_slice(&data[..length]);
    message
}

/// The 64 bytes of a reply to `call`; `None` where it refuses or is none.
pub fn reply(message: &[u8], call: Call) -> Option<&[u8; 64]> {
    let word = |at: usize| message.get(at..at + 4).map(|w| u32::from_ne_bytes([w[0], w[1], w[2], w[3]]));
    if message.len() != CONTROL_LENGTH || word(0) != Some(MAGIC) || word(8) != Some(call as u32) {
        return None;
    }
    message[16..].first_chunk()
}

/// The data of a CONNECT: `id` names the client's sockets, `node` where it sits (empty: ibsim's first node).
pub fn connect_data(id: u32, is_sm: bool, node: &str) -> [u8; 44] {
    let mut data = [0; 44];
    data[..4].copy_from_slice(&id.to_ne_bytes());
    data[8..12].copy_from_slice(&u32::from(is_sm).to_ne_bytes());
    let length = node.len().min(31);
    data[12..12 + length].copy_from_slice(&node.as_bytes()[..length]);
    data
}

/// The client number and the node's name in a reply to CONNECT.
pub fn connected(data: &[u8; 64]) -> (u32, String) {
    let number = u32::from_ne_bytes([data[0], data[1], data[2], data[3]]);
    let name = &data[12..44];
    let length = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    (number, String::from_utf8_lossy(&name[..length]).into_owned())
}

/// A 16-bit LID in network order, stored in the first bytes of the 32-bit field as umad has it.
#[inline]
fn lid_field(lid: Lid) -> [u8; 4] {
    u32::from((lid.0 as u16).to_be()).to_ne_bytes()
}

/// Writes a packet as a data message.
#[inline]
pub fn emit_data(packet: &Packet, message: &mut [u8; DATA_LENGTH]) {
    message[0..4].copy_from_slice(&lid_field(packet.dlid));
    message[4..8].copy_from_slice(&lid_field(packet.slid));
    message[8..12].copy_from_slice(&packet.dest_qp.to_be_bytes());
    message[12..16].copy_from_slice(&packet.source_qp.to_be_bytes());
    message[16..24].fill(0);
    message[24..32].copy_from_slice(&256u64.to_be_bytes());
    message[MAD_AT..].copy_from_slice(&packet.mad.0);
}

/// Reads a data message; `None` where it is not one.
#[inline]
pub fn parse_data(message: &[u8]) -> Option<Packet> {
    if message.len() != DATA_LENGTH {
        return None;
    }
    let word =
        |at: usize| u32::from_be_bytes([message[at], message[at + 1], message[at + 2], message[at + 3]]);
    let lid = |at: usize| {
        let field = u32::from_ne_bytes([message[at], message[at + 1], message[at + 2], message[at + 3]]);
        Lid(u32::from(u16::from_be(field as u16)))
    };
    Some(Packet {
        dlid: lid(0),
        slid: lid(4),
        dest_qp: word(8),
        source_qp: word(12),
        status: word(16),
        mad: Mad(*message[MAD_AT..].first_chunk()?),
    })
}

#[cfg(test)]
mod tests {
    use ib::{AttributeId, DirectedRoute, Method};
    use proptest::prelude::*;

    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn control_messages_have_their_bytes_in_place() {
        let message = control(Call::Connect, 7, &connect_data(0x1234, true, "H-1"));
        let mut golden = vec![0xef, 0xbe, 0xad, 0xde, 7, 0, 0, 0, 1, 0, 0, 0, 44, 0, 0, 0];
        golden.extend([0x34, 0x12, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, b'H', b'-', b'1']);
        golden.resize(80, 0);
        assert_eq!(message[..], golden[..]);
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn data_messages_have_their_bytes_in_place() {
        let mad = Mad::lid_routed(Method::GET, AttributeId::NODE_INFO, 0, 5, 0);
        let mut packet = Packet::to_lid(Lid(0x0102), mad);
        packet.dest_qp = 1;
        packet.source_qp = 2;
        let mut message = [0xa5; DATA_LENGTH];
        emit_data(&packet, &mut message);
        let mut golden = vec![1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0];
        golden.extend([0, 0, 0, 0, 0, 0, 1, 0]);
        golden.extend(mad.0);
        assert_eq!(message[..], golden[..]);
    }

    #[test]
    fn a_directed_request_says_permissive_at_both_ends() {
        let mad = Mad::directed(Method::GET, AttributeId::NODE_INFO, 0, &DirectedRoute::LOCAL, 1, 0);
        let mut message = [0; DATA_LENGTH];
        emit_data(&Packet::directed(mad), &mut message);
        assert_eq!(message[..8], [0xff, 0xff, 0, 0, 0xff, 0xff, 0, 0]);
    }

    #[test]
    fn replies_are_checked() {
        let mut message = control(Call::Connect, 0, &connect_data(3, false, "Switch 1"));
        assert_eq!(reply(&message, Call::Connect).map(connected), Some((3, "Switch 1".to_owned())));
        assert_eq!(reply(&message, Call::Disconnect), None);
        assert_eq!(reply(&message[..79], Call::Connect), None);
        message[0] = 0;
        assert_eq!(reply(&message, Call::Connect), None);
    }

    proptest! {
        #[test]
        fn data_comes_back_as_it_went(dlid: u16, slid: u16, dest_qp: u32, source_qp: u32, byte: u8) {
            let packet = Packet {
                dlid: Lid(dlid.into()), slid: Lid(slid.into()), dest_qp, source_qp, status: 0, mad: Mad([byte; 256]),
            };
            let mut message = [0; DATA_LENGTH];
            emit_data(&packet, &mut message);
            let back = parse_data(&message).unwrap();
            prop_assert_eq!((back.dlid, back.slid, back.dest_qp, back.source_qp), (packet.dlid, packet.slid, dest_qp, source_qp));
            prop_assert_eq!(back.mad, packet.mad);
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(parse_data(&bytes).is_some(), bytes.len() == DATA_LENGTH);
        }
    }
}
