//! Who does not tell, or does not answer, is not waited for: its neighbours know whether the links to it are up.
//!
//! A link has two ends, and both tell when it is lost. Where one does not, its switch may be gone, or have lost more links
//! than this one: every port beside it is asked at once. A switch all of whose neighbours say that their link to it is down
//! is cut off, without any time-out. Where a device has not answered a few times, the links of the way to it are asked
//! about, and if the last one is down, who is beside it. Each at most once a heal: where MADs are lost at random, that is
//! enough, and a few questions more for each that is lost do not add up.

use fabric::{NodeId, PortId};
use ib::Time;

use super::{Looked, Stage};
use crate::manager::SubnetManager;
use crate::request::Request;

impl SubnetManager {
    /// A link to a switch is down. Unless the switch tells so itself, all beside it are asked, and it is too.
    pub(crate) fn ask_around(&mut self, switch: NodeId) {
        let fabric = &self.devices.fabric;
        let healing = &self.healing;
        let has_told = healing.looking.contains_key(&switch) || healing.suspects.contains(&switch);
        let tells = has_told && !healing.doubted.contains(&switch);
        if !fabric.is_switch(switch) || !self.reached[switch.index()] || tells {
            return;
        }
        if !self.healing.asked_around.insert(switch) {
            return;
        }
        // Adapters can be asked through the switch alone.
        let peers = fabric.neighbors(switch).map(|(_, peer)| peer);
        let beside: Vec<PortId> = peers.filter(|&peer| fabric.is_switch(fabric.node_of(peer))).collect();
        // What is beside its ports without a cable only it can say.
        let bare = fabric.ports(switch).filter(|&port| fabric.peer(port).is_none());
        if self.healing.stage == Stage::Look && !has_told && !self.sweeping.hung.contains(&switch) {
            self.healing.to_examine.extend(bare);
            self.healing.looking.insert(switch, Looked { found: true, whole: false });
            self.schedule(switch, Request::Sweep(switch));
        }
        for port in beside {
            self.examine(port);
        }
    }

    /// A device has not answered a few times: asks the nearer end of every link on the way to it.
    pub(crate) fn doubt(&mut self, now: Time, node: NodeId) {
        let comes_up = self.is_coming_up();
        let is_asked = (self.may_heal() || comes_up) && self.reached.get(node.index()) != Some(&false);
        // Whose agent is known to hang is not doubted again.
        if self.sweeping.hung.contains(&node) || !is_asked || !self.healing.doubted.insert(node) {
            return;
        }
        for port in self.devices.links_on_the_way(node) {
            if !comes_up && matches!(self.healing.stage, Stage::Idle | Stage::Gather(_)) {
                let label = self.devices.fabric.name(node);
                let cause = format!("{label} does not answer");
                self.suspect_port(now, port, &cause);
            } else {
                self.examine(port);
            }
        }
    }
}
