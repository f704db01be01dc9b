//! Switches whose agent hangs: they answer nothing while their neighbours say that the links to them are up.
//!
//! Such a switch goes on passing packets by the table that it has. The verdict is a finding, and all stays in service as it is;
//! sweeps ask it again, more and more seldom. A repair that has to write to it finds out that it cannot.

use fabric::NodeId;

use crate::finding::FindingKind;
use crate::manager::SubnetManager;
use crate::request::Request;

impl SubnetManager {
    /// A device that was in service does not answer, however often it is asked; who is beside it was asked before.
    pub(crate) fn hangs(&mut self, node: NodeId) {
        if self.devices.fabric.is_switch(node) {
            self.sweeping.hung.insert(node);
        }
        self.have_patience();
    }

    /// A switch answers a sweep: whatever was said of its silence is void.
    pub(crate) fn hangs_no_more(&mut self, switch: NodeId) {
        if self.sweeping.hung.remove(&switch) {
            let place = self.devices.place(self.devices.management_port(switch));
            self.findings.retain(|finding| finding.kind != FindingKind::Silent || finding.place != place);
        }
    }

    /// A heal begins: it does not wait for those of whom no answer is expected.
    pub(super) fn do_not_wait_for_hung(&mut self) {
        for &switch in &self.sweeping.hung {
            self.exchange.forget_request(Request::Sweep(switch));
        }
    }
}
