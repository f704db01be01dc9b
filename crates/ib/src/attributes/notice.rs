//! Notice: what an agent has to tell, as a trap or in answer to a question.

use crate::bits;
use crate::{Attribute, AttributeId, Guid, Lid, NodeType};

/// What an agent has to tell. [`Notice::trap`] takes the generic ones apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Notice {
    /// Whether producer type and trap number are the standard's own.
    pub is_generic: bool,
    /// Fatal 0, urgent 1, security 2, subnet management 3, informational 4, empty 0x7f.
    pub kind: u8,
    /// Who tells, 24 bits: of a generic notice the node's type, else the vendor.
    pub producer: u32,
    /// Which generic trap, or the vendor's device number.
    pub number: u16,
    /// The LID of who tells.
    pub issuer: Lid,
    /// Changes with each new notice.
    pub toggle: bool,
    /// How many of this one are waiting.
    pub count: u16,
    /// What the trap number says is in here.
    pub details: [u8; 54],
}

/// A generic notice, taken apart. LIDs are those of the reporting end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trap {
    /// 64: a GID is now in service.
    GidInService(Guid),
    /// 65: a GID is out of service.
    GidOutOfService(Guid),
    /// 66: a multicast group was made.
    GroupCreated(Guid),
    /// 67: a multicast group went away.
    GroupDeleted(Guid),
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
        /// Bit 0: the node description changed; bit 1: enabled widths; bit 2: enabled speeds.
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
        /// Who asked; permissive for a directed route.
        from: Lid,
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
    },
    /// 259: a switch's port saw a packet with a wrong P_Key.
    BadPKeyAtSwitch {
        /// The switch.
        lid: Lid,
        /// The port.
        port: u8,
        /// The key that the packet carried.
        key: u16,
    },
    /// A vendor's own, or a number that this list does not have.
    Other {
        /// Which trap.
        number: u16,
    },
}

impl Default for Notice {
    fn default() -> Self {
        Self {
            is_generic: false,
            kind: 0,
            producer: 0,
            number: 0,
            issuer: Lid::NONE,
            toggle: false,
            count: 0,
            details: [0; 54],
        }
    }
}

// Details begin 10 bytes into the attribute, so positions below are those of `ib_types.h` less 80 bits.
impl Notice {
    /// A generic notice with empty details.
    pub fn generic(number: u16, kind: u8, producer: NodeType, issuer: Lid) -> Self {
        Self { is_generic: true, kind, producer: u32::from(producer.0), number, issuer, ..Self::default() }
    }

    /// Trap 128 of a switch.
    pub fn link_state_change(lid: Lid) -> Self {
        let mut notice = Self::generic(128, 1, NodeType::SWITCH, lid);
        bits::set(&mut notice.details, 0, 16, u64::from(lid.0));
        notice
    }

    /// Trap 129, 130 or 131 of a port.
    pub fn port_threshold(number: u16, producer: NodeType, lid: Lid, port: u8) -> Self {
        let mut notice = Self::generic(number, 1, producer, lid);
        bits::set(&mut notice.details, 16, 16, u64::from(lid.0));
        notice.details[4] = port;
        notice
    }

    /// Trap 144 of a port.
    pub fn local_changes(producer: NodeType, lid: Lid, capability_mask: u32, change_flags: u16) -> Self {
        let mut notice = Self::generic(144, 4, producer, lid);
        bits::set(&mut notice.details, 16, 16, u64::from(lid.0));
        notice.details[5] = u8::from(change_flags != 0);
        bits::set(&mut notice.details, 48, 32, u64::from(capability_mask));
        bits::set(&mut notice.details, 80, 16, u64::from(change_flags));
        notice
    }

    /// The notice taken apart.
    pub fn trap(&self) -> Trap {
        let number = self.number;
        let details = &self.details[..];
        let lid_at = |bit| Lid(bits::get(details, bit, 16) as u32);
        let guid_at = |bit| Guid(bits::get(details, bit, 64));
        let port = details[4];
        if !self.is_generic {
            return Trap::Other { number };
        }
        match number {
            64 => Trap::GidInService(guid_at(112)),
            65 => Trap::GidOutOfService(guid_at(112)),
            66 => Trap::GroupCreated(guid_at(112)),
            67 => Trap::GroupDeleted(guid_at(112)),
            128 => Trap::LinkStateChange { lid: lid_at(0) },
            129 => Trap::LocalLinkIntegrity { lid: lid_at(16), port },
            130 => Trap::BufferOverrun { lid: lid_at(16), port },
            131 => Trap::FlowControlWatchdog { lid: lid_at(16), port },
            144 => Trap::LocalChanges {
                lid: lid_at(16),
                capability_mask: bits::get(details, 48, 32) as u32,
                change_flags: bits::get(details, 80, 16) as u16,
            },
            145 => Trap::SystemImageGuid { lid: lid_at(16), guid: guid_at(48) },
            256 => Trap::BadMKey { lid: lid_at(16), from: lid_at(32) },
            257 | 258 => Trap::BadKey {
                number,
                from: lid_at(16),
                to: lid_at(32),
                key: bits::get(details, 48, 32) as u32,
            },
            259 => Trap::BadPKeyAtSwitch {
                lid: lid_at(32),
                port: details[13],
                key: bits::get(details, 64, 16) as u16,
            },
            _ => Trap::Other { number },
        }
    }
}

impl Attribute for Notice {
    const ID: AttributeId = AttributeId::NOTICE;
    const NAME: &'static str = "Notice";
    const LENGTH: usize = 64;

    fn parse(data: &[u8]) -> Self {
        let mut details = [0; 54];
        details.copy_from_slice(&data[10..64]);
        Self {
            is_generic: bits::get(data, 0, 1) == 1,
            kind: bits::get(data, 1, 7) as u8,
            producer: bits::get(data, 8, 24) as u32,
            number: bits::get(data, 32, 16) as u16,
            issuer: Lid(bits::get(data, 48, 16) as u32),
            toggle: bits::get(data, 64, 1) == 1,
            count: bits::get(data, 65, 15) as u16,
            details,
        }
    }

    fn emit(&self, data: &mut [u8]) {
        bits::set(data, 0, 1, u64::from(self.is_generic));
        bits::set(data, 1, 7, u64::from(self.kind));
        bits::set(data, 8, 24, u64::from(self.producer));
        bits::set(data, 32, 16, u64::from(self.number));
        bits::set(data, 48, 16, u64::from(self.issuer.0));
        bits::set(data, 64, 1, u64::from(self.toggle));
        bits::set(data, 65, 15, u64::from(self.count));
        data[10..64].copy_from_slice(&self.details);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_into_a_trap_comes_out() {
        let lid = Lid(0x123);
        assert_eq!(Notice::link_state_change(lid).trap(), Trap::LinkStateChange { lid });
        let notice = Notice::port_threshold(130, NodeType::SWITCH, lid, 17);
        assert_eq!(notice.trap(), Trap::BufferOverrun { lid, port: 17 });
        let notice = Notice::local_changes(NodeType::CHANNEL_ADAPTER, lid, 0x0251_086a, 1);
        let expected = Trap::LocalChanges { lid, capability_mask: 0x0251_086a, change_flags: 1 };
        assert_eq!(notice.trap(), expected);
        let mut bytes = [0xa5; 64];
        notice.emit(&mut bytes);
        assert_eq!(Notice::parse(&bytes), notice);
        assert_eq!(Notice::default().trap(), Trap::Other { number: 0 });
    }
}
