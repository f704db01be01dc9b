//! SwitchInfo: the size of a switch's tables and its change bit.

use fabric::NodeId;
use ib::{Mad, Status, SwitchInfo};

use super::Answer;
use crate::Emulator;

impl Emulator {
    pub(super) fn switch_info_request(&mut self, node: NodeId, mad: &mut Mad, set: bool) -> Answer {
        if !self.state.fabric.is_switch(node) {
            return Err(Status::UNSUPPORTED_ATTRIBUTE);
        }
        let held = &mut self.state.switches[node.index()];
        let mut result = Ok(());
        if set {
            let wanted: SwitchInfo = mad.get();
            if wanted.linear_fdb_top.0 >= held.linear_fdb_cap {
                result = Err(Status::INVALID_FIELD);
            } else {
                held.linear_fdb_top = wanted.linear_fdb_top;
                held.default_port = wanted.default_port;
                held.default_multicast_primary_port = wanted.default_multicast_primary_port;
                held.default_multicast_not_primary_port = wanted.default_multicast_not_primary_port;
                held.life_time_value = wanted.life_time_value;
                held.multicast_fdb_top = wanted.multicast_fdb_top;
                // Writing a 1 clears the bit, writing a 0 leaves it.
                held.state_change &= !wanted.state_change;
            }
        }
        mad.put(held);
        result
    }
}
