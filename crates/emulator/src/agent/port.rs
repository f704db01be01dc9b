//! PortInfo: what of it can be written, and the states that a port moves through.

use fabric::PortId;
use ib::{LinkWidth, Mad, PhysicalState, PortInfo, PortState, Status};

use super::Answer;
use crate::Emulator;

/// In a Set: every width that the port can run.
const ALL_WIDTHS: u8 = 0xff;
/// In a Set: every speed that the port can run.
const ALL_SPEEDS: u8 = 0xf;
/// The same in the wider field of speeds from FDR to NDR.
const ALL_EXTENDED_SPEEDS: u8 = 0x1f;
/// The same in the narrower field of speeds beyond NDR.
const ALL_SPEEDS_2: u8 = 0x7;

impl Emulator {
    pub(super) fn port_info_request(&mut self, asked_through: PortId, mad: &mut Mad, set: bool) -> Answer {
        let port = self.port_of_modifier(asked_through, mad.attribute_modifier())?;
        let (mut result, mut register_again) = (Ok(()), false);
        if set {
            let wanted: PortInfo = mad.get();
            register_again = wanted.client_reregister;
            result = self.set_port_info(port, &wanted);
        }
        let mut info = self.state.ports[port.index()];
        info.local_port = self.state.places[asked_through.index()].number;
        info.client_reregister = register_again;
        self.hide_key(asked_through, mad, &mut info);
        mad.put(&info);
        result
    }

    /// Takes over what a Set may change, all of it or, where a field is wrong, nothing.
    fn set_port_info(&mut self, port: PortId, wanted: &PortInfo) -> Answer {
        let held = self.state.ports[port.index()];
        let place = self.state.places[port.index()];
        let (number, switch) = (place.number, place.is_switch());
        let external = !switch || number > 0;
        let mut next = held;

        match wanted.port_state {
            PortState::NO_CHANGE => {}
            PortState::DOWN if external => {}
            PortState::ARMED
                if external && matches!(held.port_state, PortState::INITIALIZE | PortState::ARMED) =>
            {
                next.port_state = PortState::ARMED;
            }
            PortState::ACTIVE if matches!(held.port_state, PortState::ARMED | PortState::ACTIVE) => {
                next.port_state = PortState::ACTIVE;
            }
            _ => return Err(Status::INVALID_FIELD),
        }
        match wanted.physical_state {
            PhysicalState::NO_CHANGE => {}
            PhysicalState::SLEEP | PhysicalState::POLLING | PhysicalState::DISABLED if external => {}
            _ => return Err(Status::INVALID_FIELD),
        }
        match wanted.link_down_default_state {
            PhysicalState::NO_CHANGE => {}
            state @ (PhysicalState::SLEEP | PhysicalState::POLLING) => next.link_down_default_state = state,
            _ => return Err(Status::INVALID_FIELD),
        }
        next.link_width_enabled = enabled(
            wanted.link_width_enabled,
            held.link_width_enabled,
            held.link_width_supported,
            ALL_WIDTHS,
        )?;
        next.link_speed_enabled = enabled(
            wanted.link_speed_enabled,
            held.link_speed_enabled,
            held.link_speed_supported,
            ALL_SPEEDS,
        )?;
        next.link_speed_ext_enabled = enabled(
            wanted.link_speed_ext_enabled,
            held.link_speed_ext_enabled,
            held.link_speed_ext_supported,
            ALL_EXTENDED_SPEEDS,
        )?;
        next.link_speed_ext_enabled2 = enabled(
            wanted.link_speed_ext_enabled2,
            held.link_speed_ext_enabled2,
            held.link_speed_ext_supported2,
            ALL_SPEEDS_2,
        )?;
        if wanted.neighbor_mtu.0 > held.mtu_cap.0 || wanted.operational_vls > held.vl_cap {
            return Err(Status::INVALID_FIELD);
        }
        if external || wanted.neighbor_mtu.0 != 0 {
            if wanted.neighbor_mtu.0 == 0 {
                return Err(Status::INVALID_FIELD);
            }
            next.neighbor_mtu = wanted.neighbor_mtu;
        }
        if wanted.operational_vls > 0 {
            next.operational_vls = wanted.operational_vls;
        }
        if !switch || number == 0 {
            next.m_key = wanted.m_key;
            next.gid_prefix = wanted.gid_prefix;
            next.lid = wanted.lid;
            next.sm_lid = wanted.sm_lid;
            next.sm_sl = wanted.sm_sl;
            next.m_key_lease_period = wanted.m_key_lease_period;
            next.m_key_protect_bits = wanted.m_key_protect_bits;
            next.lmc = wanted.lmc;
            next.subnet_timeout = wanted.subnet_timeout;
            next.m_key_violations = wanted.m_key_violations;
            next.multicast_p_key_trap_suppression = wanted.multicast_p_key_trap_suppression;
        }
        next.p_key_violations = wanted.p_key_violations;
        next.q_key_violations = wanted.q_key_violations;
        next.vl_high_limit = wanted.vl_high_limit;
        next.vl_stall_count = wanted.vl_stall_count;
        next.head_of_queue_life = wanted.head_of_queue_life;
        next.partition_enforcement_inbound = wanted.partition_enforcement_inbound;
        next.partition_enforcement_outbound = wanted.partition_enforcement_outbound;
        next.filter_raw_inbound = wanted.filter_raw_inbound;
        next.filter_raw_outbound = wanted.filter_raw_outbound;
        next.local_physical_errors = wanted.local_physical_errors;
        next.overrun_errors = wanted.overrun_errors;
        next.init_type_reply = wanted.init_type_reply;
        self.state.ports[port.index()] = next;

        // Links change last: they look at what is enabled now.
        match wanted.physical_state {
            PhysicalState::DISABLED => self.disable(port),
            PhysicalState::POLLING | PhysicalState::SLEEP => self.retrain(port),
            _ if wanted.port_state == PortState::DOWN => self.retrain(port),
            _ => {}
        }
        Ok(())
    }

    /// The widest of the widths that both ends of a link enable.
    pub(crate) fn common_width(a: &PortInfo, b: &PortInfo) -> Option<LinkWidth> {
        let common = a.link_width_enabled & b.link_width_enabled;
        LinkWidth::ALL.into_iter().rev().find(|width| common & width.code() != 0)
    }
}

/// What is enabled after a Set: 0 changes nothing, `all` means all that is supported.
fn enabled(wanted: u8, held: u8, supported: u8, all: u8) -> Result<u8, Status> {
    match wanted {
        0 => Ok(held),
        _ if wanted == all => Ok(supported),
        _ if wanted & !supported == 0 => Ok(wanted),
        _ => Err(Status::INVALID_FIELD),
    }
}
