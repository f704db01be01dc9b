//! Other subnet managers: who is the master (the standard's section 14.4), what they ask, when they are gone.

use fabric::PortId;
use ib::{AttributeId, Guid, Mad, Method, Packet, SmInfo, SmState, Status, Time};

use crate::event::Event;
use crate::finding::FindingKind;
use crate::manager::{Phase, SubnetManager};
use crate::request::Request;

/// SMInfo's modifier with which a master hands over.
const HANDOVER: u32 = 1;

/// What is known of other managers.
#[derive(Default)]
pub(crate) struct Others {
    found: Vec<(PortId, SmInfo)>,
    /// The one that is watched.
    master: Option<PortId>,
    activity: u32,
}

impl Others {
    pub fn forget(&mut self) {
        self.found.clear();
        self.master = None;
    }
}

/// Whether manager `a` comes before `b`: the higher priority, at a tie the smaller GUID.
fn outranks(a: (u8, Guid), b: (u8, Guid)) -> bool {
    a.0 > b.0 || a.0 == b.0 && a.1 < b.1
}

impl SubnetManager {
    fn rank(&self) -> (u8, Guid) {
        let guid = self.devices.own.map_or(Guid(0), |own| self.devices.fabric.port_guid(own));
        (self.config.priority, guid)
    }

    /// Leaves the fabric to another manager where the rule says so; says whether it does.
    pub(crate) fn stand_by(&mut self, now: Time) -> bool {
        let own = self.rank();
        let master = self
            .others
            .found
            .iter()
            .filter(|(_, info)| info.state != SmState::NOT_ACTIVE)
            .filter(|(_, info)| info.state == SmState::MASTER || outranks((info.priority, info.guid), own))
            .max_by_key(|(_, info)| {
                (info.state == SmState::MASTER, info.priority, std::cmp::Reverse(info.guid))
            });
        let Some(&(port, info)) = master else { return false };
        let place = self.devices.place(port);
        self.find(
            FindingKind::OtherManager,
            place,
            format!("a subnet manager of priority {} is {} there", info.priority, info.state),
            "stop one of the two, or give this one the higher --priority and wait for the other to hand over",
        );
        self.others.master = Some(port);
        self.enter(now, Phase::Standby);
        self.sweep_later(now);
        self.say(Event::Standby { master: info.guid, priority: info.priority });
        true
    }

    pub(crate) fn manager_answered(&mut self, now: Time, port: PortId, info: SmInfo) {
        if self.phase == Phase::Standby && self.others.master == Some(port) {
            let gone = info.state == SmState::NOT_ACTIVE
                || info.state != SmState::MASTER && outranks(self.rank(), (info.priority, info.guid));
            if gone {
                self.take_over(now, format!("the other manager is {}", info.state));
            }
            return;
        }
        self.others.found.push((port, info));
    }

    pub(crate) fn master_is_silent(&mut self, now: Time) {
        if self.phase == Phase::Standby {
            self.take_over(now, "the master no longer answers".to_owned());
        }
    }

    pub(crate) fn watch_master(&mut self) {
        if let Some(port) = self.others.master {
            self.schedule(self.devices.fabric.node_of(port), Request::GetManager(port));
        }
    }

    fn take_over(&mut self, now: Time, cause: String) {
        self.say(Event::TakeOver { cause });
        self.keep_tables();
        self.healing.restart();
        self.sweeping.restart();
        self.begin_discovery(now);
    }

    /// Another asks something of this manager.
    pub(crate) fn asked(&mut self, now: Time, packet: &Packet) {
        let mad = &packet.mad;
        if mad.attribute_id() != AttributeId::SM_INFO || !matches!(mad.class().0, 0x01 | 0x81) {
            self.counts.ignored();
            return;
        }
        let set = mad.method() == Method::SET;
        let handover = set && mad.attribute_modifier() == HANDOVER;
        let mut answer: Mad = *mad;
        answer.make_response();
        if set && !handover {
            answer.set_status(Status::UNSUPPORTED_ATTRIBUTE);
        } else {
            let (priority, guid) = self.rank();
            self.others.activity = self.others.activity.wrapping_add(1);
            answer.put(&SmInfo {
                guid,
                sm_key: 0,
                activity_count: self.others.activity,
                priority,
                state: self.state(),
            });
        }
        self.replies.push_back(packet.reply(answer));
        if handover && self.phase == Phase::Standby {
            self.take_over(now, "the master hands over".to_owned());
        }
    }

    fn state(&self) -> SmState {
        match self.phase {
            Phase::Discover => SmState::DISCOVERING,
            Phase::Standby => SmState::STANDBY,
            Phase::Refused => SmState::NOT_ACTIVE,
            _ => SmState::MASTER,
        }
    }
}
