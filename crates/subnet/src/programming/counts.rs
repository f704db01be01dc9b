//! MADs by kind. Counting is an addition in an array: it happens for every MAD.

use crate::report::{MadCount, MadCounts};
use crate::request::Request;

const KINDS: [&str; 18] = [
    "Get NodeInfo",
    "Get NodeDescription",
    "Get SwitchInfo",
    "Get PortInfo",
    "Get LinearForwardingTable",
    "Get P_KeyTable",
    "Get SMInfo",
    "Set SwitchInfo",
    "Set LinearForwardingTable",
    "Set P_KeyTable",
    "Set SLtoVLMappingTable",
    "Set VLArbitrationTable",
    "Set PortInfo (configure)",
    "Set PortInfo (activate)",
    "Get SwitchInfo (sweep)",
    "Get SLtoVLMappingTable",
    "Get VLArbitrationTable",
    "(none)",
];
const SET_TABLE: usize = 8;

fn index(request: Request) -> usize {
    match request {
        Request::Local | Request::Probe(_) | Request::Identify(_) => 0,
        Request::Description(_) => 1,
        Request::GetSwitch(_) => 2,
        Request::GetPort(_) | Request::GetEndPort(_) | Request::Examine(_) | Request::Refresh(_) => 3,
        Request::GetTable(..) => 4,
        Request::GetPartitions(_) => 5,
        Request::GetManager(_) => 6,
        Request::SetSwitch(_) => 7,
        Request::SetTable(..) => SET_TABLE,
        Request::SetPartitions(_) => 9,
        Request::SetMapping(_) | Request::SetTurn(..) | Request::SetTurnsTo(_) | Request::SetTurns(_) => 10,
        Request::SetArbitration(..) => 11,
        Request::SetPort(_) => 12,
        Request::Activate(_) => 13,
        Request::Sweep(_) => 14,
        Request::GetMapping(_) | Request::GetTurn(..) => 15,
        Request::GetArbitration(..) => 16,
        Request::ProgramTables(_)
        | Request::ReadTables(_)
        | Request::ProgramLanes(_)
        | Request::ReadLanes(_) => 17,
    }
}

/// What a request is called.
pub(crate) fn kind_name(request: Request) -> &'static str {
    KINDS[index(request)]
}

/// MADs by kind.
#[derive(Default)]
pub(crate) struct Counts {
    kinds: [MadCount; 18],
    ignored: u64,
}

impl Counts {
    #[inline]
    pub fn sent(&mut self, request: Request) {
        self.kinds[index(request)].sent += 1;
    }

    #[inline]
    pub fn retried(&mut self, request: Request) {
        let kind = &mut self.kinds[index(request)];
        kind.sent += 1;
        kind.retried += 1;
    }

    #[inline]
    pub fn answered(&mut self, request: Request) {
        self.kinds[index(request)].answered += 1;
    }

    #[inline]
    pub fn ignored(&mut self) {
        self.ignored += 1;
    }

    /// Requests sent, repeats included.
    pub fn sent_in_all(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.sent).sum()
    }

    /// Blocks of forwarding tables written and confirmed.
    pub fn blocks_written(&self) -> u64 {
        self.kinds[SET_TABLE].answered
    }

    pub fn mads(&self) -> MadCounts {
        let mut mads = MadCounts { ignored: self.ignored, ..MadCounts::default() };
        for (name, kind) in KINDS.iter().zip(&self.kinds) {
            if kind.sent == 0 {
                continue;
            }
            mads.sent += kind.sent;
            mads.retried += kind.retried;
            *if name.starts_with("Set") { &mut mads.set } else { &mut mads.get } += kind.sent;
            mads.kinds.insert((*name).to_owned(), *kind);
        }
        mads
    }
}
