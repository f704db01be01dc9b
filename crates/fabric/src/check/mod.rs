//! What is wrong with a fabric's cabling as it stands, most important first.
//!
//! Each rule is a file of its own and compares a link or a switch with its siblings, never with a catalogue: a slower
//! generation of adapters, a planned taper or a mixed purchase is no fault. A finding names both ends and says what would mend it.
//!
//! | rule | file |
//! | --- | --- |
//! | ends that disagree: one-sided cables, LIDs and GUIDs held twice | `identity` |
//! | parts that no link joins, nodes without a cable | `islands` |
//! | links slower or narrower than their siblings, parallel links that differ | `rates` |
//! | switches with other uplinks than their siblings | `uplinks` |
//! | hosts on spines, cables from a switch to itself | `placement` |

mod identity;
mod islands;
mod placement;
mod rates;
mod uplinks;

use std::fmt;

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::formats::Loaded;
use crate::levels::Levels;
use crate::{Fabric, NodeId, PortId};

/// How much a finding matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Traffic cannot get through, or goes to the wrong place.
    Critical,
    /// Traffic gets through, but slower than the hardware could.
    Warning,
    /// Unusual, perhaps on purpose.
    Info,
}

/// What a finding is about, most important first within one severity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Several nodes or ports have one GUID.
    DuplicateGuid,
    /// Several ports have one LID.
    DuplicateLid,
    /// A part of the fabric that no link joins to the rest.
    Island,
    /// A node without any cable.
    NotCabled,
    /// One end names the other, which does not name it back.
    OneSided,
    /// A link slower than its siblings.
    SlowLink,
    /// A link with fewer lanes than its siblings.
    NarrowLink,
    /// Links between the same two switches that differ.
    ParallelLinksDiffer,
    /// A switch with other uplinks than its siblings.
    UnequalUplinks,
    /// A host on a switch above the leaves.
    HostOnSpine,
    /// A cable from a switch to itself.
    SelfLoop,
}

/// One thing that is wrong, or at least odd.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// What it is about.
    pub kind: FindingKind,
    /// How much it matters.
    pub severity: Severity,
    /// The ends that it is about, `name[port]` where a port is meant.
    pub ends: Vec<String>,
    /// It in words.
    pub message: String,
    /// What would mend it.
    pub mend: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Critical => "critical",
            Severity::Warning => "warning",
            Severity::Info => "info",
        };
        write!(f, "{severity}: {}; {}", self.message, self.mend)
    }
}

/// What the rules share.
struct Context<'a> {
    fabric: &'a Fabric,
    levels: Levels,
    /// How many nodes have each name.
    names: FxHashMap<&'a str, u32>,
    findings: Vec<Finding>,
}

impl<'a> Context<'a> {
    fn new(fabric: &'a Fabric) -> Self {
        let mut names = FxHashMap::default();
        for node in fabric.nodes() {
            *names.entry(fabric.name(node)).or_default() += 1;
        }
        Self { fabric, levels: Levels::of(fabric), names, findings: Vec::new() }
    }

    /// A node for a person: its name, with its GUID where the name alone does not tell.
    fn node(&self, node: NodeId) -> String {
        let name = self.fabric.name(node);
        let guid = self.fabric.guid(node);
        match self.names.get(name) {
            _ if name.is_empty() => guid.to_string(),
            Some(1) => name.to_owned(),
            _ => format!("{name} ({guid})"),
        }
    }

    /// A port for a person: the node and the port's number.
    fn port(&self, port: PortId) -> String {
        format!("{}[{}]", self.node(self.fabric.node_of(port)), self.fabric.port_number(port))
    }

    fn found(
        &mut self,
        kind: FindingKind,
        severity: Severity,
        ends: Vec<String>,
        message: String,
        mend: &str,
    ) {
        self.findings.push(Finding { kind, severity, ends, message, mend: mend.to_owned() });
    }
}

/// Checks a fabric; the notes of its reader count too.
pub fn check(loaded: &Loaded) -> Vec<Finding> {
    let fabric = &loaded.fabric;
    let mut context = Context::new(fabric);
    identity::one_sided(&mut context, &loaded.notes);
    identity::duplicates(&mut context);
    islands::islands(&mut context);
    rates::rates(&mut context);
    uplinks::uplinks(&mut context);
    placement::placement(&mut context);
    let mut findings = context.findings;
    findings.sort_by_key(|finding| (finding.severity, finding.kind));
    findings
}
