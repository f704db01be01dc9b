//! Joins what a file says about nodes and single ends of cables into a [`Fabric`].
//!
//! A reader tells what it meets, in any order: [`Assembly::describe`] for a node's own record, [`Assembly::refer`]
//! for a neighbour that is only named, [`Assembly::end`] for one end of a cable, [`Assembly::fact`] for what is said
//! about a port. [`Assembly::finish`] then makes both ends of each cable agree, or says in which lines they do not.

use ib::{Guid, Lid};
use rustc_hash::FxHashMap;

use super::parts::{End, Fact, Handle, Key, Mention, Record};
use super::{Format, FormatError, Loaded, Note, NoteKind, aggregation};
use crate::{Fabric, NodeId, PortId};

/// The most nodes that a file may hold.
pub const MAX_NODES: usize = 1 << 21;
/// The most port slots that a file may claim, cabled or not; each takes 31 bytes.
pub const MAX_PORT_SLOTS: usize = 1 << 22;
/// The most external ports of one node: the port number is one byte, and 255 means no port.
pub const MAX_PORTS: u32 = 254;

/// So many nodes may be named as neighbours without a record of their own; more mean that the file is cut off.
const MAX_UNDESCRIBED: usize = 2;

struct Slot<'a> {
    record: Option<Record<'a>>,
    mention: Option<Mention<'a>>,
    line: u32,
    highest_port: u8,
}

/// All that a file has told so far.
pub struct Assembly<'a> {
    file: &'a str,
    by_key: FxHashMap<Key<'a>, u32>,
    slots: Vec<Slot<'a>>,
    /// Described nodes in the order of their records.
    order: Vec<Handle>,
    ends: Vec<End>,
    facts: Vec<Fact>,
    port_slots: usize,
    notes: Vec<Note>,
}

impl<'a> Assembly<'a> {
    /// Nothing yet.
    pub fn new(file: &'a str) -> Self {
        Self {
            file,
            by_key: FxHashMap::default(),
            slots: Vec::new(),
            order: Vec::new(),
            ends: Vec::new(),
            facts: Vec::new(),
            port_slots: 0,
            notes: Vec::new(),
        }
    }

    fn slot(&mut self, key: Key<'a>, line: u32) -> Handle {
        let next = self.slots.len() as u32;
        let index = *self.by_key.entry(key).or_insert(next);
        if index == next {
            self.slots.push(Slot { record: None, mention: None, line, highest_port: 0 });
        }
        Handle(index)
    }

    /// A neighbour that a line names; `mention` is asked for only while nothing is known of it. `None`: the name
    /// alone does not tell what it is, so a record must follow.
    pub fn refer(
        &mut self,
        key: Key<'a>,
        line: u32,
        mention: impl FnOnce() -> Option<Mention<'a>>,
    ) -> Handle {
        let handle = self.slot(key, line);
        let slot = &mut self.slots[handle.0 as usize];
        if slot.record.is_none() && slot.mention.is_none() {
            slot.mention = mention();
        }
        handle
    }

    /// A node's own record.
    pub fn describe(&mut self, key: Key<'a>, record: Record<'a>, line: u32) -> Result<Handle, FormatError> {
        let handle = self.slot(key, line);
        let file = self.file;
        let slot = &mut self.slots[handle.0 as usize];
        if let Some(there) = &slot.record {
            if *there != record {
                return Err(FormatError::at(
                    file,
                    line,
                    1,
                    format!(
                        "{} was described otherwise in line {}: {}",
                        label(&there.name, there.guid),
                        slot.line,
                        difference(there, &record)
                    ),
                    "every node has one record: take out or rename one of the two",
                ));
            }
            let message =
                format!("{} stands here again as in line {}", label(&there.name, there.guid), slot.line);
            self.notes.push(Note { line, kind: NoteKind::Repeated, message, ends: None });
            return Ok(handle);
        }
        self.port_slots += usize::from(record.ports) + 1;
        if self.order.len() >= MAX_NODES || self.port_slots > MAX_PORT_SLOTS {
            return Err(FormatError::at(
                file,
                line,
                1,
                format!("more than {MAX_NODES} nodes or {MAX_PORT_SLOTS} ports"),
                "an InfiniBand subnet has at most 49,151 end points: split the file by subnet",
            ));
        }
        slot.record = Some(record);
        slot.line = line;
        self.order.push(handle);
        Ok(handle)
    }

    /// The node that a record with this key has described already.
    pub fn described(&self, key: Key<'a>) -> Option<Handle> {
        let handle = Handle(*self.by_key.get(&key)?);
        self.slots[handle.0 as usize].record.is_some().then_some(handle)
    }

    /// The record of a described node, for readers of formats that say it piece by piece.
    pub fn record_mut(&mut self, node: Handle) -> Option<&mut Record<'a>> {
        self.slots[node.0 as usize].record.as_mut()
    }

    /// The number of ports in a node's record grows to `ports`, where the format does not give it at once.
    pub fn grow(&mut self, node: Handle, ports: u8) {
        if let Some(record) = &mut self.slots[node.0 as usize].record {
            self.port_slots += usize::from(ports.saturating_sub(record.ports));
            record.ports = record.ports.max(ports);
        }
    }

    /// Something said about a port.
    pub fn fact(&mut self, fact: Fact) {
        self.facts.push(fact);
    }

    /// One end of a cable.
    pub fn end(&mut self, end: End) -> Result<(), FormatError> {
        for (node, port) in [(end.node, end.port), (end.peer, end.peer_port)] {
            if port == 0 || port > MAX_PORTS {
                return Err(FormatError::at(
                    self.file,
                    end.line,
                    end.column,
                    format!("port {port} cannot have a cable"),
                    "cabled ports are numbered from 1 to 254",
                ));
            }
            let slot = &mut self.slots[node.0 as usize];
            slot.highest_port = slot.highest_port.max(port as u8);
        }
        self.ends.push(end);
        Ok(())
    }

    /// Something that the reader has to tell.
    pub fn note(&mut self, line: u32, kind: NoteKind, message: String) {
        self.notes.push(Note { line, kind, message, ends: None });
    }

    /// Whether no node has a record.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The file cannot be whole when several of the nodes that it names have no record.
    fn refuse_cut_off(&self) -> Result<(), FormatError> {
        let undescribed = self.slots.len() - self.order.len();
        if undescribed <= MAX_UNDESCRIBED && !self.order.is_empty() {
            return Ok(());
        }
        let first = self.slots.iter().find(|slot| slot.record.is_none());
        let last = self.ends.last().map_or(1, |end| end.line);
        let (line, named) = first.map_or((last, String::new()), |slot| {
            let mention = slot.mention.as_ref();
            (slot.line, mention.map_or(String::new(), |m| format!(" (first: {})", label(&m.name, m.guid))))
        });
        Err(FormatError::at(
            self.file,
            line,
            1,
            format!(
                "{undescribed} of {} nodes that are named as neighbours have no record of their own{named}: the \
                 file is cut off",
                self.slots.len()
            ),
            "print the whole fabric again, or copy the whole file",
        ))
    }

    /// The fabric.
    pub fn finish(mut self, format: Format) -> Result<Loaded, FormatError> {
        if self.slots.is_empty() {
            return Err(FormatError::whole(
                self.file,
                "the file describes no node".to_owned(),
                "give a file that holds a topology",
            ));
        }
        self.refuse_cut_off()?;
        self.describe_the_rest()?;
        let (mut fabric, node_of) = self.nodes();
        self.state_facts(&mut fabric, &node_of);
        self.join(&mut fabric, &node_of)?;
        aggregation::mark(&mut fabric);
        self.notes.sort_by_key(|note| note.line);
        Ok(Loaded { fabric, format, notes: self.notes })
    }

    fn describe_the_rest(&mut self) -> Result<(), FormatError> {
        for (index, slot) in self.slots.iter_mut().enumerate() {
            if slot.record.is_some() {
                continue;
            }
            let Some(mention) = slot.mention.take() else {
                let name = self.by_key.iter().find(|&(_, &slot)| slot as usize == index);
                let name = name.map_or(String::new(), |(key, _)| match key {
                    Key::Text(_, id) => format!("\"{id}\""),
                    Key::Guid(_, guid) => Guid(*guid).to_string(),
                });
                return Err(FormatError::at(
                    self.file,
                    slot.line,
                    1,
                    format!("{name} is named as a neighbour, but no record describes it"),
                    "add its record, or mend the name; the file may be cut off",
                ));
            };
            self.notes.push(Note {
                line: slot.line,
                kind: NoteKind::Undescribed,
                message: format!(
                    "{} is named as a neighbour but has no record of its own",
                    label(&mention.name, mention.guid)
                ),
                ends: None,
            });
            slot.record = Some(Record {
                kind: mention.kind,
                guid: mention.guid,
                system_guid: None,
                vendor_id: 0,
                device_id: 0,
                ports: slot.highest_port,
                name: mention.name,
                enhanced_port_zero: false,
            });
            self.order.push(Handle(index as u32));
        }
        Ok(())
    }

    fn nodes(&self) -> (Fabric, Vec<NodeId>) {
        let mut fabric = Fabric::with_capacity(self.order.len(), self.port_slots);
        let mut node_of = vec![NodeId(0); self.slots.len()];
        for handle in &self.order {
            let Some(record) = &self.slots[handle.0 as usize].record else { continue };
            let node = fabric.add_node(record.kind, record.guid, record.ports, &record.name);
            if let Some(guid) = record.system_guid {
                fabric.set_system_guid(node, guid);
            }
            fabric.set_device(node, record.vendor_id, record.device_id);
            fabric.set_enhanced_port_zero(node, record.enhanced_port_zero);
            node_of[handle.0 as usize] = node;
        }
        (fabric, node_of)
    }

    fn state_facts(&mut self, fabric: &mut Fabric, node_of: &[NodeId]) {
        let (mut without, mut first) = (0, None);
        for hearsay in [true, false] {
            for fact in self.facts.iter().filter(|fact| fact.hearsay == hearsay) {
                let node = node_of[fact.node.0 as usize];
                let Some(port) = fabric.port(node, fact.port) else { continue };
                if let Some(guid) = fact.guid {
                    fabric.set_port_guid(port, guid);
                }
                match fact.lid.map(Lid) {
                    Some(lid) if lid.is_unicast() || (lid.0 > 0xffff && lid <= Lid::WIDE_UNICAST_MAX) => {
                        fabric.set_lid(port, lid, fact.lmc.min(7));
                    }
                    Some(lid) if lid != Lid::NONE && !hearsay => {
                        without += 1;
                        first = first.or(Some((fact.line, lid, port)));
                    }
                    _ => {}
                }
            }
        }
        if let Some((line, lid, port)) = first {
            let message = format!(
                "LID {lid} is no address of a port: {without} ports, the first is {}, are taken to have none",
                fabric.port_label(port)
            );
            self.notes.push(Note { line, kind: NoteKind::NoLid, message, ends: None });
        }
    }

    fn join(&mut self, fabric: &mut Fabric, node_of: &[NodeId]) -> Result<(), FormatError> {
        const NONE: u32 = u32::MAX;
        let mut end_at = vec![NONE; fabric.port_slot_count()];
        for (index, end) in self.ends.iter().enumerate() {
            let from = self.port_of(fabric, node_of, end.node, end.port, end)?;
            let to = self.port_of(fabric, node_of, end.peer, end.peer_port, end)?;
            let there = end_at[from.index()];
            if there == NONE {
                end_at[from.index()] = index as u32;
                if from == to {
                    return Err(self.contradiction(end, &fabric.port_label(from), "is cabled to itself"));
                }
                continue;
            }
            let other = &self.ends[there as usize];
            if (other.peer, other.peer_port) != (end.peer, end.peer_port) {
                let what = format!(
                    "is cabled to {} here, but to {} in line {}",
                    fabric.port_label(to),
                    self.end_label(fabric, node_of, other.peer, other.peer_port),
                    other.line
                );
                return Err(self.contradiction(end, &fabric.port_label(from), &what));
            }
        }
        for (index, end) in self.ends.iter().enumerate() {
            let from = self.port_of(fabric, node_of, end.node, end.port, end)?;
            let to = self.port_of(fabric, node_of, end.peer, end.peer_port, end)?;
            if end_at[from.index()] != index as u32 || fabric.peer(from) == Some(to) {
                continue;
            }
            let back = end_at[to.index()];
            let mut rate = end.rate;
            if back == NONE {
                self.notes.push(Note {
                    line: end.line,
                    kind: NoteKind::OneSided,
                    message: format!(
                        "{} names {} as its neighbour, which does not name it back",
                        fabric.port_label(from),
                        fabric.port_label(to)
                    ),
                    ends: Some((from, to)),
                });
            } else {
                let back = &self.ends[back as usize];
                if (node_of[back.peer.0 as usize], back.peer_port)
                    != (fabric.node_of(from), u32::from(fabric.port_number(from)))
                {
                    let what = format!(
                        "is cabled to {} here, but line {} says that {} goes to {}",
                        fabric.port_label(to),
                        back.line,
                        fabric.port_label(to),
                        self.end_label(fabric, node_of, back.peer, back.peer_port)
                    );
                    return Err(self.contradiction(end, &fabric.port_label(from), &what));
                }
                if let (Some(here), Some(there)) = (end.rate, back.rate) {
                    if here != there {
                        self.notes.push(Note {
                            line: back.line,
                            kind: NoteKind::RateDisagrees,
                            message: format!(
                                "{} runs at {here}, but its other end {} at {there}; the slower is taken",
                                fabric.port_label(from),
                                fabric.port_label(to)
                            ),
                            ends: Some((from, to)),
                        });
                    }
                    rate = Some(if there.gbps() < here.gbps() { there } else { here });
                } else {
                    rate = end.rate.or(back.rate);
                }
            }
            let ends = [from, to].map(|port| (fabric.node_of(port), fabric.port_number(port)));
            fabric.connect(ends[0], ends[1], rate).map_err(|error| {
                FormatError::at(self.file, end.line, end.column, error.to_string(), BOTH_ENDS)
            })?;
        }
        Ok(())
    }

    fn end_label(&self, fabric: &Fabric, node_of: &[NodeId], node: Handle, port: u32) -> String {
        format!("{}[{port}]", fabric.name(node_of[node.0 as usize]))
    }

    fn port_of(
        &self,
        fabric: &Fabric,
        node_of: &[NodeId],
        node: Handle,
        port: u32,
        end: &End,
    ) -> Result<PortId, FormatError> {
        let node = node_of[node.0 as usize];
        fabric.port(node, port as u8).ok_or_else(|| {
            FormatError::at(
                self.file,
                end.line,
                end.column,
                format!(
                    "port {port} of {}, which has {} ports",
                    label(fabric.name(node), fabric.guid(node)),
                    fabric.port_count(node)
                ),
                "mend the port's number, or the number of ports in the node's record",
            )
        })
    }

    fn contradiction(&self, end: &End, port: &str, what: &str) -> FormatError {
        FormatError::at(self.file, end.line, end.column, format!("{port} {what}"), BOTH_ENDS)
    }
}

const BOTH_ENDS: &str = "a cable has two ends, and each port one cable: mend the line that is wrong";

/// A node for a person: its name, or its GUID where it has none.
fn label(name: &str, guid: Guid) -> String {
    if name.is_empty() { guid.to_string() } else { format!("\"{name}\"") }
}

fn difference(a: &Record<'_>, b: &Record<'_>) -> String {
    if a.kind != b.kind {
        return "another kind".to_owned();
    }
    if a.ports != b.ports {
        return format!("{} ports there, {} here", a.ports, b.ports);
    }
    if a.name != b.name {
        return format!("\"{}\" there, \"{}\" here", a.name, b.name);
    }
    if a.guid != b.guid {
        return format!("GUID {} there, {} here", a.guid, b.guid);
    }
    "other device numbers or system GUID".to_owned()
}
