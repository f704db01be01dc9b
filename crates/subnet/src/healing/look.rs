//! Asks what has changed: the two ends of one link where both have told, else every port of who has.

use fabric::{NodeId, PortId};
use ib::{NodeInfo, PhysicalState, PortInfo, PortState, SwitchInfo, Time};

use super::{Looked, Stage};
use crate::manager::SubnetManager;
use crate::request::Request;

impl SubnetManager {
    /// Looks at all who have told.
    pub(super) fn begin_look(&mut self) {
        self.healing.stage = Stage::Look;
        self.healing.more = None;
        let told = std::mem::take(&mut self.healing.suspects);
        let fabric = &self.devices.fabric;
        let mut asked: Vec<PortId> = std::mem::take(&mut self.healing.ports).into_iter().collect();
        for &switch in &told {
            let beside = fabric
                .neighbors(switch)
                .filter(|&(_, peer)| told.contains(&fabric.node_of(peer)))
                .map(|(port, _)| port);
            let before = asked.len();
            asked.extend(beside);
            // Nobody beside it has told of the same link: it may be any of its ports.
            let whole = asked.len() == before;
            self.healing.looking.insert(switch, Looked { found: false, whole });
            // It may be the link that the manager itself comes by: then only its other end answers.
            asked.extend(self.devices.last_hop(switch));
        }
        for &switch in &told {
            self.schedule(switch, Request::Sweep(switch));
        }
        // The nearer end first: the way to the other may be over the very link that is gone.
        asked.sort_by_key(|&port| (self.devices.route(self.devices.fabric.node_of(port)).hops().len(), port));
        asked.dedup();
        for port in asked {
            if told.contains(&self.devices.fabric.node_of(port)) {
                self.healing.to_examine.push(port);
            } else {
                self.examine(port);
            }
        }
    }

    /// A switch that told of a change says how it is: says whether that was asked for. Its change bit is cleared before its
    /// ports are looked at: what changes later sets it again.
    pub(crate) fn looked_at(&mut self, switch: NodeId, info: SwitchInfo) -> bool {
        let Some(&Looked { whole, .. }) = self.healing.looking.get(&switch) else { return false };
        if self.healing.stage != Stage::Look {
            return false;
        }
        let is_afresh = self.is_afresh(switch, info);
        if is_afresh {
            self.starts_afresh(switch, info);
        } else if info.linear_fdb_top != self.devices.switches[switch.index()].linear_fdb_top {
            let name = self.devices.fabric.name(switch);
            self.healing.anew.get_or_insert_with(|| format!("{name} has started afresh"));
            return true;
        }
        self.clear_change(switch);
        let fabric = &self.devices.fabric;
        let own = |port: &PortId| fabric.node_of(*port) == switch;
        let ports: Vec<PortId> = self.healing.to_examine.iter().copied().filter(own).collect();
        if whole || is_afresh {
            self.examine_all(switch);
        } else {
            ports.into_iter().for_each(|port| self.examine(port));
        }
        true
    }

    /// A switch that is asked about otherwise has started afresh: looks at it in the same way.
    pub(crate) fn look_at_fresh(&mut self, switch: NodeId, info: SwitchInfo) {
        self.starts_afresh(switch, info);
        self.clear_change(switch);
        for port in self.devices.fabric.ports(switch) {
            self.examine(port);
        }
    }

    fn clear_change(&mut self, switch: NodeId) {
        self.devices.switches[switch.index()].state_change = true;
        self.schedule(switch, Request::SetSwitch(switch));
    }

    pub(super) fn examine(&mut self, port: PortId) {
        let node = self.devices.fabric.node_of(port);
        if self.reached.get(node.index()) != Some(&false) {
            self.schedule(node, Request::Examine(port));
        }
    }

    /// Every port of a switch, those with a cable first.
    fn examine_all(&mut self, switch: NodeId) {
        self.healing.looking.entry(switch).or_default().whole = true;
        let fabric = &self.devices.fabric;
        let mut ports: Vec<PortId> = fabric.ports(switch).collect();
        ports.sort_by_key(|&port| fabric.peer(port).is_none());
        for port in ports {
            self.examine(port);
        }
    }

    /// A port says how it is.
    pub(crate) fn examined(&mut self, now: Time, port: PortId, info: PortInfo) {
        let node = self.devices.fabric.node_of(port);
        let was = self.devices.ports[port.index()].port_state;
        self.devices.set_port(port, info);
        let up = info.port_state != PortState::DOWN && info.physical_state == PhysicalState::LINK_UP;
        let peer = self.devices.fabric.peer(port);
        let found = match (peer, up) {
            (Some(peer), false) => {
                self.lose_link(now, port);
                self.ask_around(self.devices.fabric.node_of(peer));
                true
            }
            (Some(peer), true) => {
                // It went down and came up before it was looked at: it must go into service again, unless it is on its way.
                let fell = info.port_state != PortState::ACTIVE && !self.healing.raise.contains(&port);
                if fell {
                    self.fell(now, port, peer);
                }
                fell
            }
            (None, true) if !self.devices.odd.contains(&port) => {
                self.schedule(node, Request::Identify(port));
                true
            }
            (None, true) => true,
            (None, false) => was != PortState::DOWN,
        };
        if found && let Some(looked) = self.healing.looking.get_mut(&node) {
            looked.found = true;
        }
    }

    /// What sits beyond a port that has come up.
    pub(crate) fn identified(&mut self, port: PortId, info: &NodeInfo) {
        let known = self.devices.by_guid(info.node_guid).or_else(|| self.meet(port, info));
        let fabric = &self.devices.fabric;
        let beyond = known.and_then(|node| fabric.port(node, info.local_port));
        let (Some(node), Some(beyond)) = (known, beyond) else {
            self.healing.anew.get_or_insert_with(|| format!("a new device at {}", fabric.port_label(port)));
            return;
        };
        let taken = fabric.peer(beyond).is_some() || beyond == port;
        if taken || fabric.port_count(node) != info.port_count {
            let label = fabric.port_label(port);
            self.healing.anew.get_or_insert_with(|| format!("another device than before at {label}"));
            return;
        }
        if self.is_held_down(port) {
            return;
        }
        if !fabric.is_switch(node) {
            self.devices.fabric.set_port_guid(beyond, info.port_guid);
        }
        let pair = (port.min(beyond), port.max(beyond));
        if !self.healing.returned.contains(&pair) {
            self.healing.returned.push(pair);
        }
    }

    /// All have answered: repairs, or looks closer where nothing was found.
    pub(super) fn end_look(&mut self, now: Time) {
        let looking = std::mem::take(&mut self.healing.looking);
        self.healing.to_examine.clear();
        let unexplained: Vec<NodeId> = looking
            .into_iter()
            .filter(|(node, looked)| !looked.found && !looked.whole && self.reached[node.index()])
            .filter(|(node, _)| !self.sweeping.hung.contains(node))
            .map(|(node, _)| node)
            .collect();
        if !unexplained.is_empty() && self.healing.anew.is_none() {
            for switch in unexplained {
                self.examine_all(switch);
            }
            return;
        }
        if !self.healing.changed.is_empty() || self.healing.undone {
            self.want_repair();
        } else {
            self.after_write(now);
        }
    }
}
