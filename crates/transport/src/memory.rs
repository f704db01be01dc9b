//! An emulated fabric in memory: time is the emulator's, and passes only while the wire waits.

use emulator::{AttachError, ClientId, Emulator};
use fabric::{Fabric, NodeId};
use ib::{Packet, Time};

use crate::{Wire, WireError};

/// A client's seat at an emulated fabric, together with the fabric.
pub struct Memory {
    emulator: Emulator,
    client: ClientId,
}

impl Memory {
    /// A seat at an adapter's port, or at port 0 of a switch.
    pub fn new(mut emulator: Emulator, node: NodeId, port: u8) -> Result<Self, AttachError> {
        let client = emulator.attach(node, port)?;
        Ok(Self { emulator, client })
    }

    /// A seat whose port says IsSM.
    pub fn new_as_manager(emulator: Emulator, node: NodeId, port: u8) -> Result<Self, AttachError> {
        let mut memory = Self::new(emulator, node, port)?;
        memory.emulator.set_is_manager(memory.client, true);
        Ok(memory)
    }

    /// Where a manager would sit: the first host with a cable, else the first switch. `None` where there is neither.
    pub fn seat(fabric: &Fabric) -> Option<(NodeId, u8)> {
        let host = fabric.hosts().find_map(|node| {
            let (port, _) = fabric.neighbors(node).next()?;
            Some((node, fabric.port_number(port)))
        });
        host.or_else(|| Some((fabric.switches().next()?, 0)))
    }

    /// The fabric, to look into or to break.
    pub fn emulator(&mut self) -> &mut Emulator {
        &mut self.emulator
    }
}

impl Wire for Memory {
    fn now(&mut self) -> Time {
        self.emulator.now()
    }

    fn has_virtual_clock(&self) -> bool {
        true
    }

    fn send(&mut self, packets: &[Packet]) -> Result<(), WireError> {
        let now = self.emulator.now();
        for packet in packets {
            self.emulator.send(now, self.client, packet);
        }
        Ok(())
    }

    fn receive(&mut self, packets: &mut Vec<Packet>, until: Option<Time>) -> Result<Time, WireError> {
        if let Some(until) = until {
            self.emulator.advance_to_delivery(until);
        } else if let Some(next) = self.emulator.next_event() {
            self.emulator.advance_to_delivery(next);
        }
        while let Some((_, client, packet)) = self.emulator.receive() {
            if client == self.client {
                packets.push(packet);
            }
        }
        Ok(self.emulator.now())
    }

    fn emulated(&mut self) -> Option<&mut Emulator> {
        Some(&mut self.emulator)
    }
}

#[cfg(test)]
mod tests {
    use emulator::Config;
    use fabric::NodeKind;
    use ib::{AttributeId, DirectedRoute, Guid, Mad, Method, NodeInfo};

    use super::*;

    #[test]
    fn a_request_is_answered_and_time_passes() {
        let mut fabric = Fabric::new();
        let host = fabric.add_node(NodeKind::ChannelAdapter, Guid(1), 1, "host");
        let switch = fabric.add_node(NodeKind::Switch, Guid(2), 4, "switch");
        fabric.connect((host, 1), (switch, 3), None).unwrap();
        let (node, port) = Memory::seat(&fabric).unwrap();
        let mut wire = Memory::new(Emulator::new(&fabric, Config::default()), node, port).unwrap();
        let route = DirectedRoute::new(&[1]).unwrap();
        let request = Mad::directed(Method::GET, AttributeId::NODE_INFO, 0, &route, 5, 0);
        wire.send(&[Packet::directed(request)]).unwrap();
        let mut packets = Vec::new();
        let until = Time(1_000_000_000);
        let now = wire.receive(&mut packets, Some(until)).unwrap();
        assert!(now > Time::ZERO && now < until);
        let [answer] = packets[..] else { panic!("{packets:?}") };
        assert_eq!((answer.mad.tid(), answer.mad.method()), (5, Method::GET_RESP));
        assert_eq!(answer.mad.get::<NodeInfo>().node_guid, Guid(2));
        packets.clear();
        assert_eq!(wire.receive(&mut packets, Some(until)).unwrap(), until);
        assert!(packets.is_empty());
    }
}
