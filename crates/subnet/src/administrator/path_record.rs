//! PathRecord: addresses, payload, rate and service level of the path from one end port to another.
//!
//! The service level is that of the routes' lanes for this direction. MTU and rate are the smallest of the ports that the
//! packets leave by and come in by, as OpenSM has them. A path is reversible where packets may come back with the same
//! attributes: the way back bears the same service level, so that no answer is on a lane that was not proven for it, and is
//! neither narrower nor slower. On one lane every path between ports of one fabric is, unless links on the way back are of
//! another kind. Hosts that insist on reversible paths (the connection manager does) are answered all the same, and told by
//! the bit: without a record they would have no path at all.

use fabric::PortId;
use ib::sa::{PathRecord, Selector, rate, status};
use ib::{Gid, Guid, Lid, Mad, Mtu, PartitionKey, Status};

use super::MOST_PAIRS;
use crate::manager::SubnetManager;

/// The most switches that a path passes: beyond is a circle.
const MOST_HOPS: usize = 64;

impl SubnetManager {
    /// The records that a question is about.
    pub(super) fn path_records(&self, question: &Mad) -> Result<Vec<PathRecord>, Status> {
        if self.tables.is_none() {
            return Err(Status::BUSY);
        }
        let wanted: PathRecord = question.get();
        let mask = question.component_mask();
        let has = |bits: u64| mask & bits != 0;
        let sources = self.ends(
            has(PathRecord::SLID).then_some(wanted.slid),
            has(PathRecord::SOURCE_GID).then_some(wanted.source_gid),
        )?;
        let destinations = self.ends(
            has(PathRecord::DLID).then_some(wanted.dlid),
            has(PathRecord::DEST_GID).then_some(wanted.dest_gid),
        )?;
        if sources.len().saturating_mul(destinations.len()) > MOST_PAIRS {
            return Err(status::NO_RESOURCES);
        }
        let mut records = Vec::new();
        for &source in &sources {
            for &destination in &destinations {
                let Some(record) = self.path_record(source, destination) else { continue };
                if fits(&record, &wanted, mask) {
                    records.push(record);
                }
            }
        }
        Ok(records)
    }

    /// End ports with this LID and this GID; all where neither is named.
    fn ends(&self, lid: Option<Lid>, gid: Option<Gid>) -> Result<Vec<PortId>, Status> {
        let fabric = &self.devices.fabric;
        let managed = |port: &PortId| {
            self.reached.get(fabric.node_of(*port).index()) == Some(&true) && fabric.lid(*port) != Lid::NONE
        };
        let named = |port: &PortId| {
            lid.is_none_or(|lid| fabric.lid(*port) == lid) && gid.is_none_or(|gid| self.gid(*port) == gid)
        };
        // One port is looked up, not searched for.
        let by_guid = |gid: Gid| self.administrator.by_guid.get(&gid.guid()).copied();
        let owner = lid.map_or_else(|| gid.and_then(by_guid), |lid| self.owner_of(lid));
        let ports: Vec<PortId> = match owner {
            Some(owner) => [owner].into_iter().filter(managed).filter(named).collect(),
            None if lid.is_some() || gid.is_some() => Vec::new(),
            None => fabric.end_ports().filter(managed).filter(named).collect(),
        };
        match gid {
            Some(gid) if ports.is_empty() && !gid.is_multicast() => Err(status::INVALID_GID),
            _ => Ok(ports),
        }
    }

    pub(super) fn gid(&self, port: PortId) -> Gid {
        let fabric = &self.devices.fabric;
        let node = fabric.node_of(port);
        let guid: Guid = if fabric.is_switch(node) { fabric.guid(node) } else { fabric.port_guid(port) };
        Gid::new(self.devices.ports[port.index()].gid_prefix, guid)
    }

    /// The path between two end ports; none where the tables do not lead there.
    fn path_record(&self, source: PortId, destination: PortId) -> Option<PathRecord> {
        let fabric = &self.devices.fabric;
        let (slid, dlid) = (fabric.lid(source), fabric.lid(destination));
        let (mtu, rate) = self.narrowest(source, destination)?;
        let sl = self.service_level_to(source, dlid);
        let comes_back = |(back_mtu, back_rate): (Mtu, u8)| {
            back_mtu.0 >= mtu.0 && rate::gbps(back_rate) >= rate::gbps(rate)
        };
        let reversible = self.service_level_to(destination, slid) == sl
            && self.narrowest(destination, source).is_some_and(comes_back);
        Some(PathRecord {
            dest_gid: self.gid(destination),
            source_gid: self.gid(source),
            dlid,
            slid,
            reversible,
            path_count: 1,
            p_key: PartitionKey::DEFAULT_FULL.0,
            sl,
            mtu_selector: Selector::Exactly as u8,
            mtu,
            rate_selector: Selector::Exactly as u8,
            rate,
            packet_life_selector: Selector::Exactly as u8,
            packet_life: if source == destination { 0 } else { self.config.packet_life_time },
            ..PathRecord::default()
        })
    }

    /// The smallest payload and the slowest rate on the way, as codes.
    fn narrowest(&self, source: PortId, destination: PortId) -> Option<(Mtu, u8)> {
        let devices = &self.devices;
        let fabric = &devices.fabric;
        let tables = self.tables.as_ref()?;
        let lid = fabric.lid(destination).0;
        let of = |port: PortId| {
            let info = &devices.ports[port.index()];
            let code = fabric.rate(port).or_else(|| info.link_rate()).map(rate::code);
            // A switch's own port has no link: it is no limit.
            (info.neighbor_mtu.bytes().map(|_| info.neighbor_mtu), code)
        };
        let (mut mtu, mut slowest) = (devices.ports[source.index()].mtu_cap, None);
        let mut pass = |port: PortId| {
            let (payload, code) = of(port);
            mtu = Mtu(payload.map_or(mtu.0, |payload| payload.0.min(mtu.0)));
            let slower =
                code.filter(|&code| slowest.is_none_or(|slowest| rate::gbps(code) < rate::gbps(slowest)));
            slowest = slower.or(slowest);
        };
        let mut at = source;
        for _ in 0..MOST_HOPS {
            if at == destination {
                pass(at);
                return Some((mtu, slowest?));
            }
            let node = fabric.node_of(at);
            let out = match fabric.is_switch(node) {
                true if node == fabric.node_of(destination) => return Some((mtu, slowest?)),
                true => {
                    fabric.port(node, tables.row_at(tables.row_index(node)?).get(lid as usize).copied()?)?
                }
                false if at == source => at,
                // It led to another adapter.
                false => return None,
            };
            pass(out);
            at = fabric.peer(out)?;
            pass(at);
        }
        None
    }
}

/// Whether a record is what the mask asks for besides its two ends.
fn fits(record: &PathRecord, wanted: &PathRecord, mask: u64) -> bool {
    let has = |bit: u64| mask & bit != 0;
    let selects = |(value, selector_bit): (u64, u64), selector: u8, ordering: std::cmp::Ordering| {
        if !has(value) {
            return true;
        }
        match if has(selector_bit) { Selector::from_code(selector) } else { Selector::Exactly } {
            Selector::Greater => ordering.is_gt(),
            Selector::Less => ordering.is_lt(),
            Selector::Exactly => ordering.is_eq(),
            Selector::Best => true,
        }
    };
    let gbps = |code| rate::gbps(code).unwrap_or(0.0);
    // Which flow, class and service a path is for makes no difference here.
    (!has(PathRecord::P_KEY) || wanted.p_key & 0x7fff == record.p_key & 0x7fff)
        && (!has(PathRecord::SL) || wanted.sl == record.sl)
        && selects(
            (PathRecord::MTU, PathRecord::MTU_SELECTOR),
            wanted.mtu_selector,
            record.mtu.0.cmp(&wanted.mtu.0),
        )
        && selects(
            (PathRecord::RATE, PathRecord::RATE_SELECTOR),
            wanted.rate_selector,
            gbps(record.rate).total_cmp(&gbps(wanted.rate)),
        )
        && selects(
            (PathRecord::PACKET_LIFE, PathRecord::PACKET_LIFE_SELECTOR),
            wanted.packet_life_selector,
            record.packet_life.cmp(&wanted.packet_life),
        )
}
