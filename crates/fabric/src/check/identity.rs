//! Ends that disagree, and names that two hold.

use std::collections::BTreeMap;

use ib::{Guid, Lid};

use super::{Context, FindingKind, Severity};
use crate::formats::{Note, NoteKind};
use crate::{NodeId, NodeKind};

/// Cables that only one end knows of, as the reader noted them.
pub(super) fn one_sided(context: &mut Context<'_>, notes: &[Note]) {
    for note in notes.iter().filter(|note| note.kind == NoteKind::OneSided) {
        let Some((one, other)) = note.ends else { continue };
        let ends = vec![context.port(one), context.port(other)];
        let message = format!(
            "{} names {} as its neighbour, which does not name it back (line {})",
            ends[0], ends[1], note.line
        );
        context.found(
            FindingKind::OneSided,
            Severity::Critical,
            ends,
            message,
            "the other end did not answer, or the file is not whole: look at the device, then discover again",
        );
    }
}

/// GUIDs and LIDs that several hold.
pub(super) fn duplicates(context: &mut Context<'_>) {
    let fabric = context.fabric;
    let mut by_guid: BTreeMap<Guid, Vec<String>> = BTreeMap::new();
    for node in fabric.nodes() {
        by_guid.entry(fabric.guid(node)).or_default().push(context.node(node));
    }
    for (guid, ends) in by_guid.into_iter().filter(|(_, nodes)| nodes.len() > 1) {
        let message = format!("{} nodes have GUID {guid}: {}", ends.len(), ends.join(", "));
        context.found(
            FindingKind::DuplicateGuid,
            Severity::Critical,
            ends,
            message,
            "give each its own GUID (burn the right firmware image), or take one out",
        );
    }
    let mut by_port_guid: BTreeMap<Guid, Vec<String>> = BTreeMap::new();
    let mut by_lid: BTreeMap<Lid, Vec<String>> = BTreeMap::new();
    let mut owner: BTreeMap<Guid, NodeId> = BTreeMap::new();
    for port in fabric.end_ports() {
        let node = fabric.node_of(port);
        let (first, count) = (fabric.lid(port).0, 1u32 << fabric.lmc(port).min(7));
        if first != 0 {
            for lid in first..first.saturating_add(count) {
                by_lid.entry(Lid(lid)).or_default().push(context.port(port));
            }
        }
        let guid = fabric.port_guid(port);
        // Two ports of one node that share its GUID come from formats that do not tell ports' GUIDs.
        let is_own = guid == fabric.guid(node);
        if fabric.kind(node) != NodeKind::Switch && *owner.entry(guid).or_insert(node) != node || !is_own {
            by_port_guid.entry(guid).or_default().push(context.port(port));
        }
    }
    for (guid, ends) in by_port_guid.into_iter().filter(|(_, ports)| ports.len() > 1) {
        let message = format!("{} ports have GUID {guid}: {}", ends.len(), ends.join(", "));
        context.found(
            FindingKind::DuplicateGuid,
            Severity::Critical,
            ends,
            message,
            "give each its own GUID (burn the right firmware image), or take one out",
        );
    }
    let mut last: Vec<String> = Vec::new();
    for (lid, ends) in by_lid.into_iter().filter(|(_, ports)| ports.len() > 1) {
        if ends == last {
            continue;
        }
        let message = format!("{} ports have LID {lid}: {}", ends.len(), ends.join(", "));
        last.clone_from(&ends);
        context.found(
            FindingKind::DuplicateLid,
            Severity::Critical,
            ends,
            message,
            "let the subnet manager give out LIDs again",
        );
    }
}
