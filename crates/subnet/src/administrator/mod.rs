//! Subnet administration: answers what hosts ask on queue pair 1. Today that is the path from one end port to another, with
//! the service level that the routes' lanes need, and what the administrator can do: none of what is optional.
//!
//! An answer of several MADs goes out as the asker acknowledges them. Where one is lost the asker's own time-out has it ask
//! again, which begins the answer anew: the administrator keeps no clock.

mod path_record;

use std::collections::VecDeque;

use fabric::PortId;
use ib::sa::{rmpp, stride};
use ib::{AttributeId, ClassPortInfo, Guid, Mad, Method, Packet, Status};

use rustc_hash::FxHashMap;

use crate::manager::{Phase, SubnetManager};

/// The most answers of several MADs under way at once: the oldest is given up for a new one.
const MOST_TRANSFERS: usize = 16;
/// The most pairs of ends that one question may be about: every end port of a large fabric from one of them.
const MOST_PAIRS: usize = 1 << 17;

/// How long an answer takes at the most, which is what a host waits for it: 4.096 us times two to this, a quarter of a second.
const RESPONSE_TIME: u8 = 16;

/// An answer of several MADs under way.
struct Transfer {
    /// Where to, and the MAD without data.
    to: Packet,
    payload: Vec<u8>,
    /// The last segment that was sent.
    sent: u32,
}

impl Transfer {
    fn is_for(&self, packet: &Packet) -> bool {
        (self.to.dlid, self.to.dest_qp, self.to.mad.tid())
            == (packet.slid, packet.source_qp, packet.mad.tid())
    }
}

/// What the administrator keeps.
#[derive(Default)]
pub(crate) struct Administrator {
    /// End ports by GUID.
    by_guid: FxHashMap<Guid, PortId>,
    transfers: VecDeque<Transfer>,
}

impl SubnetManager {
    /// Ports were numbered anew.
    pub(crate) fn know_ports_by_guid(&mut self) {
        let fabric = &self.devices.fabric;
        // Those without a cable too: they may be cabled again before ports are numbered the next time.
        let switches = fabric.switches().map(|node| self.devices.management_port(node));
        let adapters = fabric.nodes().filter(|&node| !fabric.is_switch(node));
        let ports = switches.chain(adapters.flat_map(|node| fabric.ports(node)));
        self.administrator.by_guid = ports.map(|port| (self.gid(port).guid(), port)).collect();
    }

    /// A MAD of subnet administration came.
    pub(crate) fn administer(&mut self, packet: &Packet) {
        let mad = &packet.mad;
        if mad.is_rmpp() && mad.rmpp_kind() != Some(rmpp::Kind::Data) {
            self.transfer_answered(packet);
            return;
        }
        if mad.method().is_response() || self.phase == Phase::Standby {
            self.counts.ignored();
            return;
        }
        let is_sound = (mad.base_version(), mad.class_version()) == (1, 2);
        if is_sound && (mad.attribute_id(), mad.method()) == (AttributeId::CLASS_PORT_INFO, Method::GET) {
            self.replies.push_back(what_it_can_do(packet));
            return;
        }
        let answered = match mad.attribute_id() {
            _ if !is_sound => Err(Status::BAD_VERSION),
            AttributeId::PATH_RECORD => self.path_records(mad),
            _ => Err(Status::UNSUPPORTED_ATTRIBUTE),
        };
        let mut answer = *mad;
        answer.make_response();
        let table = mad.method() == Method::GET_TABLE;
        let records = match answered {
            _ if !table && mad.method() != Method::GET => Err(Status::UNSUPPORTED_METHOD),
            Ok(records) if !table && records.is_empty() => Err(ib::sa::status::NO_RECORDS),
            Ok(records) if !table && records.len() > 1 => Err(ib::sa::status::TOO_MANY_RECORDS),
            answered => answered,
        };
        let mut to = packet.reply(answer);
        match records {
            Err(status) => {
                to.mad.set_status(status);
                self.replies.push_back(to);
            }
            Ok(records) if !table => {
                to.mad.put(&records[0]);
                self.replies.push_back(to);
            }
            Ok(records) => {
                let step = stride::<ib::sa::PathRecord>();
                to.mad.set_attribute_offset((step / 8) as u16);
                let mut payload = vec![0; records.len() * step];
                for (record, data) in records.iter().zip(payload.chunks_exact_mut(step)) {
                    ib::Attribute::emit(record, data);
                }
                self.begin_transfer(to, payload);
            }
        }
    }

    fn begin_transfer(&mut self, to: Packet, payload: Vec<u8>) {
        let transfers = &mut self.administrator.transfers;
        let asker = Packet { slid: to.dlid, source_qp: to.dest_qp, ..to };
        transfers.retain(|transfer| !transfer.is_for(&asker));
        if transfers.len() == MOST_TRANSFERS {
            transfers.pop_front();
        }
        let mut transfer = Transfer { to, payload, sent: 0 };
        // The first segment opens the window: how many may follow, its acknowledgement says.
        self.replies.extend(next_segments(&mut transfer, 1));
        transfers.push_back(transfer);
    }

    /// An asker acknowledges what came, or gives up.
    fn transfer_answered(&mut self, packet: &Packet) {
        let mad = &packet.mad;
        let transfers = &mut self.administrator.transfers;
        let Some(at) = transfers.iter().position(|transfer| transfer.is_for(packet)) else { return };
        let acknowledges = mad.rmpp_kind() == Some(rmpp::Kind::Acknowledge);
        let transfer = &mut transfers[at];
        let last = rmpp::segment_count(transfer.payload.len()) as u32;
        if !acknowledges || mad.rmpp_segment() >= last {
            transfers.remove(at);
            return;
        }
        // What came is not beyond what was sent; the rest of the window is sent once, whatever is acknowledged twice.
        self.replies.extend(next_segments(transfer, mad.rmpp_length()));
    }
}

/// The answer to who asks what the administrator can do.
fn what_it_can_do(question: &Packet) -> Packet {
    let mut answer = question.mad;
    answer.make_response();
    answer.put(&ClassPortInfo {
        base_version: 1,
        class_version: 2,
        response_time_value: RESPONSE_TIME,
        ..ClassPortInfo::default()
    });
    question.reply(answer)
}

/// The segments that were not sent yet, up to the end of the window.
fn next_segments(transfer: &mut Transfer, window_last: u32) -> Vec<Packet> {
    let last = rmpp::segment_count(transfer.payload.len()) as u32;
    let from = transfer.sent + 1;
    transfer.sent = transfer.sent.max(window_last.min(last));
    let segment = |number| rmpp::segment(&transfer.to.mad, &transfer.payload, number);
    let with = |mad: Mad| Packet { mad, ..transfer.to };
    (from..=transfer.sent).filter_map(segment).map(with).collect()
}
