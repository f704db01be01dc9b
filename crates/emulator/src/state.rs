//! What the devices hold, in arrays by node and by port slot. What few devices ever hold lies in maps.

use std::time::Duration;

use fabric::{Fabric, NodeId, NodeKind, PortId};
use ib::wide::Addressing;
use ib::{
    Guid, Lid, LinkRate, LinkSpeed, LinkWidth, Mtu, NodeType, PhysicalState, PortCountersExtended, PortInfo,
    PortState, SwitchInfo, Time, capability, virtual_lanes,
};
use rustc_hash::FxHashMap;

use crate::Config;
use crate::fault::Behaviour;

/// LIDs that a standard switch's table holds.
const STANDARD_TABLE: u32 = 0xc000;
/// LIDs that a switch's table holds under wide addressing.
const WIDE_TABLE: u32 = 0x1e000;
/// Partition keys a port.
pub(crate) const PARTITION_CAP: u16 = 128;
/// Multicast LIDs a switch.
const MULTICAST_CAP: u16 = 4096;

/// A link that comes and goes.
#[derive(Clone, Copy)]
pub(crate) struct Flap {
    pub every: Duration,
    pub changes: u32,
}

/// What a packet's way needs to know of a port, together in 16 bytes: a quarter of a cache line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub node: NodeId,
    /// The port at the cable's other end, [`NOWHERE`] where there is none.
    peer: u32,
    /// Slot 0 of the node.
    first: u32,
    pub number: u8,
    /// External ports of the node.
    ports: u8,
    /// Which of the port's buffers the next packet takes.
    next_buffer: u8,
    /// [`UP`] and [`SWITCH`].
    flags: u8,
}

/// The port's state is not DOWN.
const UP: u8 = 1;
/// The node is a switch.
const SWITCH: u8 = 2;

impl Place {
    #[inline]
    pub fn is_up(&self) -> bool {
        self.flags & UP != 0
    }

    #[inline]
    pub fn is_switch(&self) -> bool {
        self.flags & SWITCH != 0
    }
}

const NOWHERE: u32 = u32::MAX;

/// What every device holds.
pub(crate) struct State {
    /// Kept in step with `fabric` and `ports` by [`State::note`].
    pub places: Vec<Place>,
    /// The cabling as it stands: pulled cables are not in it.
    pub fabric: Fabric,
    /// The other end of each port's cable as it was at the beginning, and what it ran at.
    pub cable: Vec<Option<(PortId, Option<LinkRate>)>>,
    pub ports: Vec<PortInfo>,
    pub switches: Vec<SwitchInfo>,
    /// The linear forwarding table of each node, as far as it was written.
    pub tables: Vec<Vec<u8>>,
    pub off: Vec<bool>,
    pub behaviour: Vec<Behaviour>,
    /// When the agent of each node is free again.
    pub busy_until: Vec<Time>,
    /// When the last packets of each port left its buffers: as many as there are buffers, in turn.
    pub leaves_buffer: Vec<Time>,
    pub buffers: u8,
    /// When the protection of a port's M_Key ends.
    pub lease_ends: FxHashMap<PortId, Time>,
    pub counters: FxHashMap<PortId, Box<PortCountersExtended>>,
    /// Blocks of attributes that were written: port, attribute number, attribute modifier. What belongs to a whole
    /// node is kept at the slot of its port 0.
    pub blocks: FxHashMap<(PortId, u16, u32), [u8; 64]>,
    /// Loss on a link beside that on every link, per million, by either end.
    pub losses: FxHashMap<PortId, u32>,
    /// Links that come and go.
    pub flaps: FxHashMap<PortId, Flap>,
    /// When a link has trained, by its lower end.
    pub trained_at: FxHashMap<PortId, Time>,
    /// GUIDs that nodes show instead of their own.
    pub guids: FxHashMap<NodeId, Guid>,
    table_cap: u32,
    vl_cap: u8,
    optimized_sl_to_vl: bool,
}

impl State {
    pub fn new(fabric: &Fabric, config: &Config) -> Self {
        let slots = fabric.port_slot_count();
        let nodes = fabric.node_count();
        let buffers = config.vl15_buffers.max(1);
        let table_cap = match config.addressing {
            Addressing::Standard => STANDARD_TABLE,
            Addressing::Wide => WIDE_TABLE,
        };
        let mut cable = vec![None; slots];
        for (a, b) in fabric.links() {
            cable[a.index()] = Some((b, fabric.rate(a)));
            cable[b.index()] = Some((a, fabric.rate(a)));
        }
        let mut places = Vec::with_capacity(slots);
        for node in fabric.nodes() {
            let first = fabric.port(node, 0).map_or(0, |port| port.0);
            let (ports, flags) = (fabric.port_count(node), u8::from(fabric.is_switch(node)) * SWITCH);
            places.extend((0..=ports).map(|number| Place {
                node,
                peer: NOWHERE,
                first,
                number,
                ports,
                next_buffer: 0,
                flags,
            }));
        }
        let mut state = Self {
            places,
            fabric: fabric.clone(),
            cable,
            ports: vec![PortInfo::default(); slots],
            switches: vec![SwitchInfo::default(); nodes],
            tables: vec![Vec::new(); nodes],
            off: vec![false; nodes],
            behaviour: vec![Behaviour::Sound; nodes],
            busy_until: vec![Time::ZERO; nodes],
            leaves_buffer: vec![Time::ZERO; slots * usize::from(buffers)],
            buffers,
            lease_ends: FxHashMap::default(),
            counters: FxHashMap::default(),
            blocks: FxHashMap::default(),
            losses: FxHashMap::default(),
            flaps: FxHashMap::default(),
            trained_at: FxHashMap::default(),
            guids: FxHashMap::default(),
            table_cap,
            vl_cap: config.vl_cap.clamp(1, 5),
            optimized_sl_to_vl: config.optimized_sl_to_vl,
        };
        for node in fabric.nodes() {
            state.forget(node);
        }
        state
    }

    /// Puts a node into the state that it has after a reset: links that are cabled are up, nothing is configured.
    pub fn forget(&mut self, node: NodeId) {
        let switch = self.fabric.is_switch(node);
        if switch {
            self.tables[node.index()] = Vec::new();
            self.switches[node.index()] = SwitchInfo {
                linear_fdb_cap: self.table_cap,
                multicast_fdb_cap: MULTICAST_CAP,
                partition_enforcement_cap: PARTITION_CAP,
                inbound_enforcement_cap: true,
                outbound_enforcement_cap: true,
                filter_raw_inbound_cap: true,
                filter_raw_outbound_cap: true,
                optimized_sl_to_vl_mapping: u8::from(self.optimized_sl_to_vl),
                enhanced_port_0: self.fabric.has_enhanced_port_zero(node),
                ..SwitchInfo::default()
            };
        }
        let first = PortId(self.places_of(node).start as u32);
        let last = PortId(self.places_of(node).end as u32);
        if !self.blocks.is_empty() {
            self.blocks.retain(|&(port, _, _), _| port < first || port >= last);
        }
        // Ports without a cable are taken to be like the best one that has one.
        let best = self.cable[first.index()..last.index()]
            .iter()
            .filter_map(|cable| cable.and_then(|(_, rate)| rate))
            .max_by(|a, b| a.gbps().total_cmp(&b.gbps()));
        for port in (first.0..last.0).map(PortId) {
            let number = self.places[port.index()].number;
            self.ports[port.index()] = self.fresh_port(port, switch, number, best);
            self.note(port);
        }
    }

    /// The slots of a node.
    pub fn places_of(&self, node: NodeId) -> std::ops::Range<usize> {
        let first = self.fabric.port(node, 0).map_or(0, PortId::index);
        first..first + usize::from(self.fabric.port_count(node)) + 1
    }

    /// Brings what the ways of packets look at into step, after the cable or the state of a port has changed.
    pub fn note(&mut self, port: PortId) {
        let place = &mut self.places[port.index()];
        place.peer = self.fabric.peer(port).map_or(NOWHERE, |peer| peer.0);
        let up = self.ports[port.index()].port_state != PortState::DOWN;
        place.flags = place.flags & SWITCH | if up { UP } else { 0 };
    }

    /// The port that a packet comes to which leaves a node by the port of number `out`: none where there is no such
    /// port, no cable, or the link is down.
    #[inline]
    pub fn next_port(&self, from: &Place, out: u8) -> Option<PortId> {
        if out == 0 || out > from.ports {
            return None;
        }
        let place = &self.places[from.first as usize + usize::from(out)];
        (place.is_up() && place.peer != NOWHERE).then_some(PortId(place.peer))
    }

    /// Panics where what is kept twice differs. For tests.
    pub fn check_invariants(&self) {
        self.fabric.check_invariants();
        for (slot, place) in self.places.iter().enumerate() {
            let port = PortId(slot as u32);
            assert_eq!(place.node, self.fabric.node_of(port));
            assert_eq!(place.number, self.fabric.port_number(port));
            assert_eq!(place.is_switch(), self.fabric.is_switch(place.node));
            assert_eq!(place.peer, self.fabric.peer(port).map_or(NOWHERE, |peer| peer.0));
            let info = &self.ports[slot];
            assert_eq!(place.is_up(), info.port_state != PortState::DOWN);
            assert_eq!(place.is_up(), info.physical_state == PhysicalState::LINK_UP);
            if let Some(peer) = self.fabric.peer(port) {
                let other = &self.ports[peer.index()];
                assert_eq!(
                    place.is_up(),
                    other.port_state != PortState::DOWN,
                    "a link is up at both ends or at none"
                );
                assert!(
                    !place.is_up() || info.link_rate() == other.link_rate(),
                    "both ends see the same rate"
                );
            } else {
                assert!(
                    !place.is_up() || place.number == 0 && place.is_switch(),
                    "a port without a cable is down"
                );
            }
        }
    }

    fn fresh_port(&self, port: PortId, switch: bool, number: u8, best: Option<LinkRate>) -> PortInfo {
        let mut info = PortInfo {
            gid_prefix: 0xfe80_0000_0000_0000,
            link_down_default_state: PhysicalState::POLLING,
            neighbor_mtu: Mtu::M4096,
            mtu_cap: Mtu::M4096,
            vl_cap: self.vl_cap,
            operational_vls: self.vl_cap,
            vl_arbitration_high_cap: virtual_lanes(self.vl_cap).max(8),
            vl_arbitration_low_cap: virtual_lanes(self.vl_cap).max(8),
            response_time_value: 16,
            subnet_timeout: 18,
            guid_cap: if switch && number > 0 { 0 } else { 8 },
            ..PortInfo::default()
        };
        if !switch || number == 0 {
            info.capability_mask = capability::HAS_TRAP
                | capability::HAS_SL_MAPPING
                | capability::HAS_CAPABILITY_MASK2
                | capability::HAS_CAPABILITY_MASK_NOTICE
                | capability::HAS_CLIENT_REREGISTRATION;
        }
        // The mask's other bits belong to the end port, this one says how to read a port's own speed fields.
        info.capability_mask |= capability::HAS_EXTENDED_SPEEDS;
        let rate = self.cable[port.index()]
            .map_or(best, |(_, rate)| rate)
            .unwrap_or(LinkRate { width: LinkWidth::X4, speed: LinkSpeed::Sdr });
        support(&mut info, rate);
        let management = switch && number == 0;
        if management || self.fabric.peer(port).is_some() {
            info.set_link_rate(rate);
            info.port_state = if management { PortState::ACTIVE } else { PortState::INITIALIZE };
            info.physical_state = PhysicalState::LINK_UP;
        } else {
            info.link_width_active = LinkWidth::X4.code();
            info.link_speed_active = 1;
            info.port_state = PortState::DOWN;
            info.physical_state = PhysicalState::POLLING;
        }
        info
    }

    /// The slot of the port that holds a node's LID when asked through `port`.
    #[inline]
    pub fn end_port(&self, port: PortId) -> PortId {
        let place = &self.places[port.index()];
        if place.is_switch() { PortId(place.first) } else { port }
    }

    /// Whether a LID is one of a port's own.
    pub fn owns(&self, port: PortId, lid: Lid) -> bool {
        let info = &self.ports[port.index()];
        info.lid != Lid::NONE && lid.0 >= info.lid.0 && lid.0 < info.lid.0 + (1 << info.lmc)
    }

    pub fn node_type(&self, node: NodeId) -> NodeType {
        match self.fabric.kind(node) {
            NodeKind::Switch => NodeType::SWITCH,
            NodeKind::Router => NodeType::ROUTER,
            NodeKind::ChannelAdapter | NodeKind::AggregationNode => NodeType::CHANNEL_ADAPTER,
        }
    }

    /// Takes one of a port's buffers until the agent has served the packet; `None` where all are taken.
    pub fn take_buffer(&mut self, port: PortId, now: Time, service: Duration) -> Option<Time> {
        let place = &mut self.places[port.index()];
        let at = port.index() * usize::from(self.buffers) + usize::from(place.next_buffer);
        let leaves = &mut self.leaves_buffer[at];
        if *leaves > now {
            return None;
        }
        let busy_until = &mut self.busy_until[place.node.index()];
        let done = (*busy_until).max(now) + service;
        *busy_until = done;
        *leaves = done;
        place.next_buffer += 1;
        if place.next_buffer == self.buffers {
            place.next_buffer = 0;
        }
        Some(done)
    }
}

/// Sets what a port can run: every width and speed up to that of its cable.
fn support(info: &mut PortInfo, rate: LinkRate) {
    let widths = LinkWidth::ALL.into_iter().filter(|&w| w <= rate.width).fold(0, |all, w| all | w.code());
    info.link_width_supported = widths;
    info.link_width_enabled = widths;
    let up_to = |speeds: &[(LinkSpeed, u8)]| {
        speeds.iter().filter(|(speed, _)| *speed <= rate.speed).fold(0, |all, (_, bit)| all | bit)
    };
    let basic = up_to(&[(LinkSpeed::Sdr, 1), (LinkSpeed::Ddr, 2), (LinkSpeed::Qdr, 4)]);
    let extended =
        up_to(&[(LinkSpeed::Fdr, 1), (LinkSpeed::Edr, 2), (LinkSpeed::Hdr, 4), (LinkSpeed::Ndr, 8)]);
    let extended2 = up_to(&[(LinkSpeed::Xdr, 1)]);
    (info.link_speed_supported, info.link_speed_enabled) = (basic, basic);
    (info.link_speed_ext_supported, info.link_speed_ext_enabled) = (extended, extended);
    (info.link_speed_ext_supported2, info.link_speed_ext_enabled2) = (extended2, extended2);
}
