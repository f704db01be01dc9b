//! What a node's agent answers. Requests are changed into their answers in place.

mod keys;
mod performance;
mod port;
mod switch;
mod tables;

use fabric::PortId;
use ib::{
    AttributeId, ExtendedPortInfo, Guid, GuidInfo, LinkSpeed, Mad, ManagementClass, Method, NodeDescription,
    NodeInfo, Notice, Status,
};

use crate::Emulator;
use crate::state::PARTITION_CAP;

/// The kind of a notice that tells nothing.
const EMPTY_NOTICE: u8 = 0x7f;

/// What came of a request.
pub(crate) type Answer = Result<(), Status>;

impl Emulator {
    /// Answers a request that came in by `port`. `false`: there is no answer.
    pub(crate) fn answer(&mut self, port: PortId, mad: &mut Mad) -> bool {
        match mad.class() {
            ManagementClass::SUBN_LID | ManagementClass::SUBN_DIRECTED => self.answer_subnet(port, mad),
            ManagementClass::PERF => self.answer_performance(port, mad),
            _ => false,
        }
    }

    fn answer_subnet(&mut self, port: PortId, mad: &mut Mad) -> bool {
        let node = self.state.places[port.index()].node;
        let method = mad.method();
        if method == Method::TRAP_REPRESS {
            self.repress(node, mad);
            return false;
        }
        // What is an answer already has no answer.
        if method.is_response() || !self.key_fits(port, mad) {
            return false;
        }
        let set = method == Method::SET;
        let result = match mad.attribute_id() {
            _ if mad.base_version() != 1 || mad.class_version() != 1 => Err(Status::BAD_VERSION),
            _ if !set && method != Method::GET => Err(Status::UNSUPPORTED_METHOD),
            AttributeId::NODE_INFO if !set => self.node_info(port, mad),
            AttributeId::NODE_DESCRIPTION if !set => {
                mad.put(&NodeDescription::new(self.state.fabric.name(node)));
                Ok(())
            }
            AttributeId::SWITCH_INFO => self.switch_info_request(node, mad, set),
            AttributeId::PORT_INFO => self.port_info_request(port, mad, set),
            AttributeId::NOTICE if !set => {
                // Notices are sent as traps; none waits to be asked for.
                mad.put(&Notice { kind: EMPTY_NOTICE, ..Notice::default() });
                Ok(())
            }
            AttributeId::EXTENDED_PORT_INFO if !set => self.extended_port_info(port, mad),
            AttributeId::GUID_INFO => self.guid_info(port, mad, set),
            AttributeId::P_KEY_TABLE => self.p_key_table(port, mad, set),
            AttributeId::SL_TO_VL_MAPPING => self.sl_to_vl(port, mad, set),
            AttributeId::VL_ARBITRATION => self.vl_arbitration(port, mad, set),
            AttributeId::LINEAR_FORWARDING_TABLE => self.linear_table(node, mad, set),
            AttributeId::MULTICAST_FORWARDING_TABLE => self.multicast_table(node, mad, set),
            _ => Err(Status::UNSUPPORTED_ATTRIBUTE),
        };
        mad.make_response();
        if let Err(status) = result {
            mad.set_status(status);
        }
        true
    }

    fn node_info(&mut self, port: PortId, mad: &mut Mad) -> Answer {
        let fabric = &self.state.fabric;
        let node = fabric.node_of(port);
        let clone = self.state.guids.get(&node).copied();
        let own = |guid| clone.unwrap_or(guid);
        mad.put(&NodeInfo {
            base_version: 1,
            class_version: 1,
            node_type: self.state.node_type(node),
            port_count: fabric.port_count(node),
            system_image_guid: fabric.system_guid(node),
            node_guid: own(fabric.guid(node)),
            port_guid: own(if fabric.is_switch(node) { fabric.guid(node) } else { fabric.port_guid(port) }),
            partition_cap: PARTITION_CAP,
            device_id: fabric.device_id(node),
            revision: 0xa1,
            local_port: fabric.port_number(port),
            vendor_id: fabric.vendor_id(node),
        });
        Ok(())
    }

    fn extended_port_info(&mut self, port: PortId, mad: &mut Mad) -> Answer {
        let port = self.port_of_modifier(port, mad.attribute_modifier())?;
        let fdr10 = self.state.fabric.rate(port).is_some_and(|rate| rate.speed == LinkSpeed::Fdr10);
        let bit = u8::from(fdr10);
        mad.put(&ExtendedPortInfo {
            link_speed_supported: bit,
            link_speed_enabled: bit,
            link_speed_active: bit,
            ..ExtendedPortInfo::default()
        });
        Ok(())
    }

    fn guid_info(&mut self, port: PortId, mad: &mut Mad, set: bool) -> Answer {
        let block = mad.attribute_modifier();
        let end_port = self.state.end_port(port);
        let cap = u32::from(self.state.ports[end_port.index()].guid_cap);
        if block >= cap.div_ceil(8).max(1) {
            return Err(Status::INVALID_FIELD);
        }
        let node = self.state.fabric.node_of(port);
        let own = self.state.guids.get(&node).copied().unwrap_or(self.state.fabric.port_guid(end_port));
        self.block(end_port, mad, set, |data| {
            if block == 0 && data[..8] == [0; 8] {
                data[..8].copy_from_slice(&own.0.to_be_bytes());
            }
        });
        if set && block == 0 {
            // Entry 0 is the port's own for ever.
            let mut guids: GuidInfo = mad.get();
            guids.0[0] = Guid(own.0);
            mad.put(&guids);
        }
        Ok(())
    }

    /// The port that an attribute modifier names: on a switch any, on an adapter its own, 0 for the one asked through.
    pub(crate) fn port_of_modifier(&self, port: PortId, modifier: u32) -> Result<PortId, Status> {
        let node = self.state.fabric.node_of(port);
        let number = u8::try_from(modifier).map_err(|_| Status::INVALID_FIELD)?;
        if number == 0 && !self.state.fabric.is_switch(node) {
            return Ok(port);
        }
        self.state.fabric.port(node, number).ok_or(Status::INVALID_FIELD)
    }

    /// Reads or writes a block of an attribute that most devices never hold anything in. `fill` completes what was
    /// never written.
    pub(crate) fn block(&mut self, port: PortId, mad: &mut Mad, set: bool, fill: impl FnOnce(&mut [u8; 64])) {
        let key = (port, mad.attribute_id().0, mad.attribute_modifier());
        if set {
            self.state.blocks.insert(key, *mad.data());
            return;
        }
        let data = mad.data_mut();
        match self.state.blocks.get(&key) {
            Some(block) => *data = *block,
            None => {
                *data = [0; 64];
                fill(data);
            }
        }
    }
}
