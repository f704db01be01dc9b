//! The generic traps: what the details of a [`Notice`] mean, by the number of the trap.

use crate::attributes::Notice;
use crate::bits;
use crate::{AttributeId, DirectedRoute, Gid, Guid, Lid, Method, NodeType};

/// A generic notice, taken apart. LIDs are those of the reporting end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trap {
    /// 64: a port's GID is now in service.
    GidInService(Gid),
    /// 65: a port's GID is out of service.
    GidOutOfService(Gid),
    /// 66: a multicast group was made.
    GroupCreated(Gid),
    /// 67: a multicast group went away.
    GroupDeleted(Gid),
    /// 128: the state of some port of a switch has changed.
    LinkStateChange {
        /// The switch.
        lid: Lid,
    },
    /// 129: the local link integrity threshold was reached.
    LocalLinkIntegrity {
        /// The node.
        lid: Lid,
        /// The port.
        port: u8,
    },
    /// 130: the excessive buffer overrun threshold was reached.
    BufferOverrun {
        /// The node.
        lid: Lid,
        /// The port.
        port: u8,
    },
    /// 131: the flow control watchdog timer expired.
    FlowControlWatchdog {
        /// The node.
        lid: Lid,
        /// The port.
        port: u8,
    },
    /// 144: the capability mask, the node description or what links can do has changed.
    LocalChanges {
        /// The port.
        lid: Lid,
        /// Its capability mask now.
        capability_mask: u32,
        /// Its second capability mask now.
        capability_mask2: u16,
        /// Bit 0: the node description changed; bit 1: enabled widths; bit 2: enabled speeds; bit 3: the priority of
        /// its manager; bit 4: its place in a hierarchy; bit 5: the second capability mask.
        change_flags: u16,
    },
    /// 145: the system image GUID has changed.
    SystemImageGuid {
        /// The node.
        lid: Lid,
        /// The GUID now.
        guid: Guid,
    },
    /// 256: a request came with a wrong M_Key.
    BadMKey {
        /// The node.
        lid: Lid,
        /// Who asked, by a directed route that began with LIDs; else permissive or 0.
        from: Lid,
        /// What was asked: the method.
        method: Method,
        /// What was asked: the attribute.
        attribute: AttributeId,
        /// What was asked: the modifier.
        modifier: u32,
        /// The key that the request carried.
        m_key: u64,
        /// By which ports the request came, where it took a directed route: the first 30 of them.
        return_path: Option<DirectedRoute>,
    },
    /// 257 and 258: a packet came with a wrong P_Key or Q_Key.
    BadKey {
        /// Which trap.
        number: u16,
        /// Where the packet came from.
        from: Lid,
        /// Where it went to.
        to: Lid,
        /// The key that it carried.
        key: u32,
        /// More of the packet.
        packet: PacketDetails,
    },
    /// 259: a switch's port saw a packet with a wrong P_Key.
    BadPKeyAtSwitch {
        /// The switch.
        lid: Lid,
        /// The port.
        port: u8,
        /// Where the packet came from.
        from: Lid,
        /// Where it went to.
        to: Lid,
        /// The key that the packet carried.
        key: u16,
        /// Which of these fields are valid, a bit a field.
        valid: u16,
        /// More of the packet.
        packet: PacketDetails,
    },
    /// A vendor's own, or a number that this list does not have.
    Other {
        /// Which trap.
        number: u16,
    },
}

/// What the traps 257 to 259 tell of the packet that they are about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PacketDetails {
    /// Service level, 4 bits.
    pub sl: u8,
    /// Source queue pair, 24 bits.
    pub source_qp: u32,
    /// Destination queue pair, 24 bits.
    pub dest_qp: u32,
    /// Source.
    pub source_gid: Gid,
    /// Destination.
    pub dest_gid: Gid,
}

impl PacketDetails {
    /// Of the details, 40 bytes from byte `at` on.
    fn parse(details: &[u8; 54], at: usize) -> Self {
        let bit = at * 8;
        Self {
            sl: bits::get(details, bit, 4) as u8,
            source_qp: bits::get(details, bit + 8, 24) as u32,
            dest_qp: bits::get(details, bit + 40, 24) as u32,
            source_gid: gid_at(details, at + 8),
            dest_gid: gid_at(details, at + 24),
        }
    }

    fn emit(&self, details: &mut [u8; 54], at: usize) {
        let bit = at * 8;
        bits::set(details, bit, 4, u64::from(self.sl));
        bits::set(details, bit + 8, 24, u64::from(self.source_qp));
        bits::set(details, bit + 40, 24, u64::from(self.dest_qp));
        set_gid(details, at + 8, self.source_gid);
        set_gid(details, at + 24, self.dest_gid);
    }
}

/// How many hops of a return path trap 256 has room for.
const RETURN_PATH: usize = 30;
/// The last bit of the details, which the standard leaves free in traps of a node of its own.
const WIDE_BIT: usize = 54 * 8 - 1;

fn gid_at(details: &[u8; 54], at: usize) -> Gid {
    Gid::new(bits::get(details, at * 8, 64), Guid(bits::get(details, at * 8 + 64, 64)))
}

fn set_gid(details: &mut [u8; 54], at: usize, gid: Gid) {
    details[at..at + 16].copy_from_slice(&gid.0.to_be_bytes());
}

/// The LID that a trap about a node of its own tells: 17 bits under wide addressing, the top one where the standard has
/// nothing.
fn wide_lid(details: &[u8; 54], byte: usize) -> Lid {
    Lid((bits::get(details, byte * 8, 16) | bits::get(details, WIDE_BIT, 1) << 16) as u32)
}

fn set_wide_lid(details: &mut [u8; 54], byte: usize, lid: Lid) {
    set_lid(details, byte, lid);
    bits::set(details, WIDE_BIT, 1, u64::from(lid.0 >> 16));
}

fn set_lid(details: &mut [u8; 54], at: usize, lid: Lid) {
    bits::set(details, at * 8, 16, u64::from(lid.0));
}

// Positions of details are bytes from the tenth byte of the attribute on; `ib_types.h` of OpenSM has the same structs.
impl Trap {
    /// The number of the trap.
    pub fn number(&self) -> u16 {
        match *self {
            Self::GidInService(_) => 64,
            Self::GidOutOfService(_) => 65,
            Self::GroupCreated(_) => 66,
            Self::GroupDeleted(_) => 67,
            Self::LinkStateChange { .. } => 128,
            Self::LocalLinkIntegrity { .. } => 129,
            Self::BufferOverrun { .. } => 130,
            Self::FlowControlWatchdog { .. } => 131,
            Self::LocalChanges { .. } => 144,
            Self::SystemImageGuid { .. } => 145,
            Self::BadMKey { .. } => 256,
            Self::BadPKeyAtSwitch { .. } => 259,
            Self::BadKey { number, .. } | Self::Other { number } => number,
        }
    }

    /// How urgent it is: see [`Notice::kind`].
    pub fn kind(&self) -> u8 {
        match self.number() {
            128..=131 => 1,
            256..=259 => 2,
            _ => 4,
        }
    }

    /// Reads what the details of a generic notice mean.
    pub(super) fn parse(number: u16, details: &[u8; 54]) -> Self {
        let lid_at = |byte: usize| Lid(bits::get(details, byte * 8, 16) as u32);
        let lid = match number {
            128 => wide_lid(details, 0),
            129..=145 => wide_lid(details, 2),
            _ => lid_at(2),
        };
        let port = details[4];
        match number {
            64 => Self::GidInService(gid_at(details, 6)),
            65 => Self::GidOutOfService(gid_at(details, 6)),
            66 => Self::GroupCreated(gid_at(details, 6)),
            67 => Self::GroupDeleted(gid_at(details, 6)),
            128 => Self::LinkStateChange { lid },
            129 => Self::LocalLinkIntegrity { lid, port },
            130 => Self::BufferOverrun { lid, port },
            131 => Self::FlowControlWatchdog { lid, port },
            144 => Self::LocalChanges {
                lid,
                capability_mask: bits::get(details, 48, 32) as u32,
                capability_mask2: bits::get(details, 96, 16) as u16,
                change_flags: bits::get(details, 80, 16) as u16,
            },
            145 => Self::SystemImageGuid { lid, guid: Guid(bits::get(details, 48, 64)) },
            256 => Self::BadMKey {
                lid,
                from: lid_at(4),
                method: Method(details[6]),
                attribute: AttributeId(bits::get(details, 64, 16) as u16),
                modifier: bits::get(details, 80, 32) as u32,
                m_key: bits::get(details, 112, 64),
                return_path: return_path(details),
            },
            257 | 258 => Self::BadKey {
                number,
                from: lid,
                to: lid_at(4),
                key: bits::get(details, 48, 32) as u32,
                packet: PacketDetails::parse(details, 10),
            },
            259 => Self::BadPKeyAtSwitch {
                lid: lid_at(48),
                port: details[50],
                from: lid,
                to: lid_at(4),
                key: bits::get(details, 48, 16) as u16,
                valid: bits::get(details, 0, 16) as u16,
                packet: PacketDetails::parse(details, 8),
            },
            _ => Self::Other { number },
        }
    }

    /// Writes the details of the notice that tells it.
    pub(super) fn details(&self) -> [u8; 54] {
        let mut details = [0; 54];
        match *self {
            Self::GidInService(gid)
            | Self::GidOutOfService(gid)
            | Self::GroupCreated(gid)
            | Self::GroupDeleted(gid) => set_gid(&mut details, 6, gid),
            Self::LinkStateChange { lid } => set_wide_lid(&mut details, 0, lid),
            Self::LocalLinkIntegrity { lid, port }
            | Self::BufferOverrun { lid, port }
            | Self::FlowControlWatchdog { lid, port } => {
                set_wide_lid(&mut details, 2, lid);
                details[4] = port;
            }
            Self::LocalChanges { lid, capability_mask, capability_mask2, change_flags } => {
                set_wide_lid(&mut details, 2, lid);
                details[5] = u8::from(change_flags != 0);
                bits::set(&mut details, 48, 32, u64::from(capability_mask));
                bits::set(&mut details, 80, 16, u64::from(change_flags));
                bits::set(&mut details, 96, 16, u64::from(capability_mask2));
            }
            Self::SystemImageGuid { lid, guid } => {
                set_wide_lid(&mut details, 2, lid);
                bits::set(&mut details, 48, 64, guid.0);
            }
            Self::BadMKey { lid, from, method, attribute, modifier, m_key, return_path } => {
                set_lid(&mut details, 2, lid);
                set_lid(&mut details, 4, from);
                details[6] = method.0;
                bits::set(&mut details, 64, 16, u64::from(attribute.0));
                bits::set(&mut details, 80, 32, u64::from(modifier));
                bits::set(&mut details, 112, 64, m_key);
                if let Some(path) = return_path {
                    set_return_path(&mut details, &path);
                }
            }
            Self::BadKey { from, to, key, packet, .. } => {
                set_lid(&mut details, 2, from);
                set_lid(&mut details, 4, to);
                bits::set(&mut details, 48, 32, u64::from(key));
                packet.emit(&mut details, 10);
            }
            Self::BadPKeyAtSwitch { lid, port, from, to, key, valid, packet } => {
                bits::set(&mut details, 0, 16, u64::from(valid));
                set_lid(&mut details, 2, from);
                set_lid(&mut details, 4, to);
                bits::set(&mut details, 48, 16, u64::from(key));
                packet.emit(&mut details, 8);
                set_lid(&mut details, 48, lid);
                details[50] = port;
            }
            Self::Other { .. } => {}
        }
        details
    }
}

/// Byte 23: the request came by a directed route (top bit), whose path was cut (next bit), hops that are left.
fn return_path(details: &[u8; 54]) -> Option<DirectedRoute> {
    let hops = usize::from(details[23] & 0x3f).min(RETURN_PATH);
    if details[23] & 0x80 == 0 { None } else { DirectedRoute::new(&details[24..24 + hops]) }
}

fn set_return_path(details: &mut [u8; 54], path: &DirectedRoute) {
    let hops = path.hops().len().min(RETURN_PATH);
    let cut = if path.hops().len() > RETURN_PATH { 0x40 } else { 0 };
    details[23] = 0x80 | cut | hops as u8;
    details[24..24 + hops].copy_from_slice(&path.hops()[..hops]);
}

impl Notice {
    /// The notice that tells a trap; details of [`Trap::Other`] are the caller's.
    pub fn of(trap: &Trap, producer: NodeType, issuer: Lid) -> Self {
        let details = trap.details();
        Self { details, ..Self::generic(trap.number(), trap.kind(), producer, issuer) }
    }

    /// The notice taken apart.
    pub fn trap(&self) -> Trap {
        if self.is_generic {
            Trap::parse(self.number, &self.details)
        } else {
            Trap::Other { number: self.number }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_trap() -> Vec<Trap> {
        let (lid, port) = (Lid(0x123), 17);
        let gid = Gid(0xff12_401b_ffff_0000_0000_0001_ffff_fffe);
        let packet = PacketDetails {
            sl: 9,
            source_qp: 0x12_3456,
            dest_qp: 0xfe_dcba,
            source_gid: Gid(1 << 127 | 5),
            dest_gid: gid,
        };
        let (from, to) = (Lid(0x4444), Lid(0xbfff));
        let path = DirectedRoute::new(&[3, 1, 36]).unwrap();
        let bad_m_key = |return_path| Trap::BadMKey {
            lid,
            from,
            method: Method::SET,
            attribute: AttributeId::PORT_INFO,
            modifier: 0x0102_0304,
            m_key: 0x1122_3344_5566_7788,
            return_path,
        };
        vec![
            Trap::GidInService(gid),
            Trap::GidOutOfService(gid),
            Trap::GroupCreated(gid),
            Trap::GroupDeleted(gid),
            Trap::LinkStateChange { lid },
            Trap::LocalLinkIntegrity { lid, port },
            Trap::BufferOverrun { lid, port },
            Trap::FlowControlWatchdog { lid, port },
            Trap::LocalChanges {
                lid,
                capability_mask: 0x0251_086a,
                capability_mask2: 0x30,
                change_flags: 0x21,
            },
            Trap::SystemImageGuid { lid, guid: Guid(0x2c9_0300_a1b2_c3d4) },
            bad_m_key(None),
            bad_m_key(Some(path)),
            bad_m_key(Some(DirectedRoute::LOCAL)),
            Trap::BadKey { number: 257, from, to, key: 0x8001, packet },
            Trap::BadKey { number: 258, from, to, key: 0x8001_0000, packet },
            Trap::BadPKeyAtSwitch { lid, port, from, to, key: 0x8001, valid: 0xbf, packet },
            Trap::Other { number: 300 },
        ]
    }

    #[test]
    fn what_goes_into_a_trap_comes_out() {
        for trap in every_trap() {
            assert_eq!(Notice::of(&trap, NodeType::SWITCH, Lid(7)).trap(), trap);
        }
        assert_eq!(Notice::default().trap(), Trap::Other { number: 0 });
    }

    #[test]
    fn a_node_of_17_bits_is_told_whole() {
        let lid = Lid(0x1_d123);
        let wide = [
            Trap::LinkStateChange { lid },
            Trap::FlowControlWatchdog { lid, port: 3 },
            Trap::LocalChanges { lid, capability_mask: 1, capability_mask2: 2, change_flags: 3 },
            Trap::SystemImageGuid { lid, guid: Guid(u64::MAX) },
        ];
        for trap in wide {
            assert_eq!(Notice::of(&trap, NodeType::SWITCH, lid).trap(), trap);
        }
        assert_eq!(Trap::LinkStateChange { lid: Lid(0xbfff) }.details()[53], 0);
    }

    #[test]
    fn a_long_return_path_is_cut() {
        let long = DirectedRoute::new(&[5; 40]).unwrap();
        let mut details = [0; 54];
        set_return_path(&mut details, &long);
        assert_eq!(details[23], 0x80 | 0x40 | 30);
        assert_eq!(return_path(&details), DirectedRoute::new(&[5; 30]));
    }

    #[test]
    fn a_bad_p_key_at_a_switch_lies_where_the_standard_has_it() {
        let trap = every_trap()[15];
        let details = trap.details();
        assert_eq!(details[..8], [0, 0xbf, 0x44, 0x44, 0xbf, 0xff, 0x80, 0x01]);
        assert_eq!(details[8..16], [0x90, 0x12, 0x34, 0x56, 0, 0xfe, 0xdc, 0xba]);
        assert_eq!(details[48..], [0x01, 0x23, 17, 0, 0, 0]);
    }
}
