//! Notice: what an agent has to tell, as a trap or in answer to a question.

use crate::bits;
use crate::{Attribute, AttributeId, Lid, NodeType, Trap};

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

impl Notice {
    /// A generic notice with empty details.
    pub fn generic(number: u16, kind: u8, producer: NodeType, issuer: Lid) -> Self {
        Self { is_generic: true, kind, producer: u32::from(producer.0), number, issuer, ..Self::default() }
    }

    /// Trap 128 of a switch.
    pub fn link_state_change(lid: Lid) -> Self {
        Self::of(&Trap::LinkStateChange { lid }, NodeType::SWITCH, lid)
    }

    /// Trap 129, 130 or 131 of a port; another number has the same details.
    pub fn port_threshold(number: u16, producer: NodeType, lid: Lid, port: u8) -> Self {
        Self { number, ..Self::of(&Trap::LocalLinkIntegrity { lid, port }, producer, lid) }
    }

    /// Trap 144 of a port.
    pub fn local_changes(producer: NodeType, lid: Lid, capability_mask: u32, change_flags: u16) -> Self {
        let trap = Trap::LocalChanges { lid, capability_mask, capability_mask2: 0, change_flags };
        Self::of(&trap, producer, lid)
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
    fn notices_of_a_port_say_so() {
        let lid = Lid(0x123);
        assert_eq!(Notice::link_state_change(lid).trap(), Trap::LinkStateChange { lid });
        let notice = Notice::port_threshold(130, NodeType::SWITCH, lid, 17);
        assert_eq!((notice.trap(), notice.kind), (Trap::BufferOverrun { lid, port: 17 }, 1));
        let notice = Notice::local_changes(NodeType::CHANNEL_ADAPTER, lid, 0x0251_086a, 1);
        let mut bytes = [0xa5; 64];
        notice.emit(&mut bytes);
        assert_eq!(Notice::parse(&bytes), notice);
        assert_eq!(bytes[..10], [0x84, 0, 0, 1, 0, 144, 0x01, 0x23, 0, 0]);
        assert_eq!(bytes[10..22], [0, 0, 0x01, 0x23, 0, 1, 0x02, 0x51, 0x08, 0x6a, 0, 1]);
    }
}
