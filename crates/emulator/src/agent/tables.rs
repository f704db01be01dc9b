//! The tables that a manager writes: forwarding, partition keys, service levels, arbitration.

use fabric::{NodeId, PortId};
use ib::{BLOCK_LIDS, Mad, NO_ROUTE, SlToVlMapping, Status, virtual_lanes};

use super::Answer;
use crate::Emulator;
use crate::state::PARTITION_CAP;

/// In the modifier of SLtoVLMappingTable: the write is for all ports in.
const ALL_IN: u32 = 1 << 17;
/// And for all ports out.
const ALL_OUT: u32 = 1 << 16;

impl Emulator {
    pub(super) fn linear_table(&mut self, node: NodeId, mad: &mut Mad, set: bool) -> Answer {
        if !self.state.fabric.is_switch(node) {
            return Err(Status::UNSUPPORTED_ATTRIBUTE);
        }
        let switch = &self.state.switches[node.index()];
        let start = mad.attribute_modifier() as usize;
        if start >= (switch.linear_fdb_cap as usize).div_ceil(BLOCK_LIDS) {
            return Err(Status::INVALID_FIELD);
        }
        let (start, end) = (start * BLOCK_LIDS, (start + 1) * BLOCK_LIDS);
        let table = &mut self.state.tables[node.index()];
        if !set {
            match table.get(start..end) {
                Some(block) => mad.data_mut().copy_from_slice(block),
                None => mad.data_mut().fill(NO_ROUTE),
            }
            return Ok(());
        }
        if table.len() < end {
            // Managers write blocks one after another: take room for all that the top promises at once.
            let promised = (switch.linear_fdb_top.0 as usize + 1).next_multiple_of(BLOCK_LIDS);
            if table.capacity() < end {
                table.reserve_exact(promised.max(end).max(table.len() + table.len() / 2) - table.len());
            }
            table.resize(end, NO_ROUTE);
        }
        table[start..end].copy_from_slice(mad.data());
        self.note_write(node, (start / BLOCK_LIDS) as u32, mad.data());
        Ok(())
    }

    pub(super) fn multicast_table(&mut self, node: NodeId, mad: &mut Mad, set: bool) -> Answer {
        if !self.state.fabric.is_switch(node) {
            return Err(Status::UNSUPPORTED_ATTRIBUTE);
        }
        let cap = u32::from(self.state.switches[node.index()].multicast_fdb_cap);
        let (block, position) = (mad.attribute_modifier() & 0x1ff, mad.attribute_modifier() >> 28);
        let ports = u32::from(self.state.fabric.port_count(node));
        if block * 32 >= cap || position * 16 > ports {
            return Err(Status::INVALID_FIELD);
        }
        self.block(PortId(self.state.places_of(node).start as u32), mad, set, |_| {});
        Ok(())
    }

    pub(super) fn p_key_table(&mut self, port: PortId, mad: &mut Mad, set: bool) -> Answer {
        let modifier = mad.attribute_modifier();
        let (named, block) = (modifier >> 16, modifier & 0xffff);
        let named = self.port_of_modifier(port, named)?;
        if block >= u32::from(PARTITION_CAP) / 32 {
            return Err(Status::INVALID_FIELD);
        }
        // An adapter's port may be named as itself or as 0: one place for both.
        mad.set_attribute_modifier(block);
        self.block(named, mad, set, |data| {
            if block == 0 {
                data[..2].copy_from_slice(&[0xff, 0xff]);
            }
        });
        mad.set_attribute_modifier(modifier);
        Ok(())
    }

    pub(super) fn sl_to_vl(&mut self, port: PortId, mad: &mut Mad, set: bool) -> Answer {
        let node = self.state.fabric.node_of(port);
        let modifier = mad.attribute_modifier();
        let (input, output) = (modifier >> 8 & 0xff, modifier & 0xff);
        // An adapter has one map a port, whatever the modifier says.
        let output = if self.state.fabric.is_switch(node) {
            // One write for all ports in, or for all ports in and out.
            let (all_in, all_out) = (modifier & ALL_IN != 0, modifier & ALL_OUT != 0);
            let short = modifier >> 16 != 0;
            let takes_short = self.state.switches[node.index()].optimized_sl_to_vl_mapping != 0;
            if short && !(takes_short && set && all_in) || modifier & !(ALL_IN | ALL_OUT | 0xffff) != 0 {
                return Err(Status::INVALID_FIELD);
            }
            if short {
                let ports = u32::from(self.state.fabric.port_count(node));
                let outs = if all_out { 0..=ports } else { output..=output };
                for output in outs {
                    let out = self.port_of_modifier(port, output)?;
                    for input in 0..=ports {
                        mad.set_attribute_modifier(input << 8 | output);
                        self.block(out, mad, true, |_| {});
                    }
                }
                mad.set_attribute_modifier(modifier);
                return Ok(());
            }
            self.port_of_modifier(port, input)?;
            self.port_of_modifier(port, output)?
        } else {
            mad.set_attribute_modifier(0);
            port
        };
        let fresh = self.fresh_mapping(output);
        self.block(output, mad, set, |data| ib::Attribute::emit(&fresh, &mut data[..8]));
        mad.set_attribute_modifier(modifier);
        Ok(())
    }

    /// The mapping that a port has which nobody wrote to.
    pub(crate) fn fresh_mapping(&self, output: PortId) -> SlToVlMapping {
        SlToVlMapping::round_robin(virtual_lanes(self.state.ports[output.index()].vl_cap))
    }

    pub(super) fn vl_arbitration(&mut self, port: PortId, mad: &mut Mad, set: bool) -> Answer {
        let modifier = mad.attribute_modifier();
        let (part, named) = (modifier >> 16, modifier & 0xffff);
        let node = self.state.fabric.node_of(port);
        let named =
            if self.state.fabric.is_switch(node) { self.port_of_modifier(port, named)? } else { port };
        let info = &self.state.ports[named.index()];
        // Parts 1 and 2 are the lower and the upper 32 entries of low priority, 3 and 4 those of high priority.
        let cap = match part {
            1 | 2 => info.vl_arbitration_low_cap,
            3 | 4 => info.vl_arbitration_high_cap,
            _ => return Err(Status::INVALID_FIELD),
        };
        if part % 2 == 0 && cap <= 32 {
            return Err(Status::INVALID_FIELD);
        }
        mad.set_attribute_modifier(part);
        self.block(named, mad, set, |_| {});
        mad.set_attribute_modifier(modifier);
        Ok(())
    }
}
