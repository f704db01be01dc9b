//! Answers that cannot be true, and requests that came to nothing.

use ib::{Mad, NodeInfo, NodeType, PortInfo, PortState, Status, SwitchInfo, Time};

use crate::finding::FindingKind;
use crate::manager::SubnetManager;
use crate::programming::kind_name;
use crate::request::{Request, Subject};

impl SubnetManager {
    /// Whether an answer can be true; else why not.
    pub(crate) fn plausible(&self, request: Request, mad: &Mad) -> Result<(), &'static str> {
        match request {
            Request::Local | Request::Probe(_) | Request::Identify(_) => {
                let info: NodeInfo = mad.get();
                if !matches!(info.node_type, NodeType::CHANNEL_ADAPTER | NodeType::SWITCH | NodeType::ROUTER)
                {
                    return Err("there is no such type of node");
                }
                let least = u8::from(request != Request::Local || info.node_type != NodeType::SWITCH);
                if info.port_count == 0 || info.local_port > info.port_count || info.local_port < least {
                    return Err("it came in by a port that the node does not have");
                }
                if info.port_count == u8::MAX {
                    return Err("no switch has 255 ports");
                }
                if info.node_guid.0 == 0 {
                    return Err("its GUID is 0");
                }
            }
            Request::GetSwitch(_) | Request::SetSwitch(_) | Request::Sweep(_) => {
                let info: SwitchInfo = mad.get();
                if info.linear_fdb_cap == 0 || info.linear_fdb_top.0 >= info.linear_fdb_cap {
                    return Err("its table is used beyond its end");
                }
            }
            Request::GetPort(_)
            | Request::Examine(_)
            | Request::Refresh(_)
            | Request::GetEndPort(_)
            | Request::SetPort(_)
            | Request::Activate(_) => {
                let info: PortInfo = mad.get();
                if info.port_state == PortState::NO_CHANGE || info.port_state > PortState::ACTIVE {
                    return Err("there is no such state of a port");
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The place that a request is about, for a person.
    pub(crate) fn place(&self, request: Request) -> String {
        let devices = &self.devices;
        match request.subject() {
            Subject::Own => "the manager's own port".to_owned(),
            Subject::Beyond(port) => format!("the device beyond {}", devices.place(port)),
            Subject::Port(port) => devices.place(port),
            Subject::Node(node) => devices.place(devices.management_port(node)),
        }
    }

    /// Nobody answered, however often they were asked; 0 times where the way there is longer than a request can hold.
    pub(crate) fn given_up(&mut self, now: Time, request: Request, times: u32) {
        if self.silence_means_something(now, request) {
            return;
        }
        let place = self.place(request);
        let asked = match times {
            0 => "not asked: it is more than 63 hops away".to_owned(),
            times => format!("{times} times asked"),
        };
        self.find(
            FindingKind::Silent,
            place,
            format!("no answer to {} ({asked})", kind_name(request)),
            "see whether the device has power and its management agent runs; reset it, or pull its cable",
        );
    }

    /// A device said no.
    pub(crate) fn refused_by_device(&mut self, now: Time, request: Request, status: Status) {
        // Where a manager was and its port now knows of none, the manager has gone.
        if matches!(request, Request::GetManager(_)) {
            self.master_is_silent(now);
        }
        // Optional attributes are not missed.
        if matches!(
            request,
            Request::GetPartitions(_)
                | Request::GetManager(_)
                | Request::GetMapping(_)
                | Request::GetArbitration(..)
                | Request::GetTurn(..)
        ) {
            return;
        }
        let place = self.place(request);
        self.find(
            FindingKind::Refused,
            place,
            format!("{} was refused: {status}", kind_name(request)),
            "see what the device's firmware supports, and update it",
        );
    }
}
