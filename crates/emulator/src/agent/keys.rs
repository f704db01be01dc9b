//! M_Key: who may ask and who may change (the standard's section 14.2.4).

use std::time::Duration;

use fabric::PortId;
use ib::{Mad, Method, PortInfo, Time};

use crate::Emulator;

impl Emulator {
    /// Whether the request's key opens the port. A wrong one is counted and starts the lease to run out.
    pub(super) fn key_fits(&mut self, port: PortId, mad: &Mad) -> bool {
        let end_port = self.state.end_port(port);
        if !self.state.lease_ends.is_empty() {
            self.let_lease_end(end_port);
        }
        let now = self.now;
        let info = &mut self.state.ports[end_port.index()];
        if info.m_key == 0 || info.m_key == mad.m_key() {
            if !self.state.lease_ends.is_empty() {
                self.state.lease_ends.remove(&end_port);
            }
            return true;
        }
        if mad.method() == Method::GET && info.m_key_protect_bits < 2 {
            return true;
        }
        info.m_key_violations = info.m_key_violations.saturating_add(1);
        if info.m_key_lease_period > 0 {
            let end = now + Duration::from_secs(u64::from(info.m_key_lease_period));
            self.state.lease_ends.entry(end_port).or_insert(end);
        }
        false
    }

    fn let_lease_end(&mut self, port: PortId) {
        if self.state.lease_ends.get(&port).is_some_and(|&end: &Time| end <= self.now) {
            self.state.lease_ends.remove(&port);
            self.state.ports[port.index()].m_key_protect_bits = 0;
        }
    }

    /// Hides the key from who does not know it, where the protect bits say so.
    pub(super) fn hide_key(&self, port: PortId, mad: &Mad, info: &mut PortInfo) {
        let guard = &self.state.ports[self.state.end_port(port).index()];
        if guard.m_key != mad.m_key() && guard.m_key_protect_bits > 0 {
            info.m_key = 0;
        }
    }
}
