//! Proves a repair's lanes: every path that it has moved is walked over the cabling itself, and what its packets wait for on the
//! way must follow the order of channels, as all else does.

use fabric::Fabric;
use rustc_hash::FxHashMap;

use super::channels::Channels;
use super::log::Log;
use crate::repair::NeedsEngine;
use crate::repair::network::MOST_HOPS;
use crate::repair::patch::PatchEntry;
use crate::tables::Tables;

/// Fails where a moved path, with all `entries` written, waits against the order, or anything else does.
pub(super) fn prove(
    fabric: &Fabric,
    tables: &Tables,
    entries: &[PatchEntry],
    channels: &Channels,
    log: &Log,
) -> Result<(), NeedsEngine> {
    // An entry that changes twice ends as its last wave says.
    let mut last: Vec<&PatchEntry> = entries.iter().collect();
    last.sort_unstable_by_key(|entry| entry.wave);
    let changed: FxHashMap<(u32, u32), u8> =
        last.iter().map(|entry| ((entry.row, entry.lid), entry.port)).collect();
    let follows = |&(source, lid): &(u32, u32)| {
        let level = channels.lanes.service_level(source as usize, lid);
        channels.doors(source).iter().all(|&door| {
            let (mut row, mut in_port, mut before) = (source as usize, door, None);
            for _ in 0..MOST_HOPS {
                let held = || tables.row_at(row)[lid as usize];
                let port = changed.get(&(row as u32, lid)).copied().unwrap_or_else(held);
                let peer = fabric.port(tables.switches()[row], port).and_then(|door| fabric.peer(door));
                let next = peer.and_then(|peer| tables.row_index(fabric.node_of(peer)));
                // It is delivered, or dropped where the fabric is cut: then it waits for nothing more.
                let (Some(peer), Some(next)) = (peer, next) else { return true };
                let lane = channels.lanes.lane(row, in_port, port, level);
                let Some(channel) = channels.channel(row as u32, port, lane) else { return false };
                if before.is_some_and(|before| !channels.is_before(before, channel)) {
                    return false;
                }
                (row, in_port, before) = (next, fabric.port_number(peer), Some(channel));
            }
            false
        })
    };
    if log.pairs.iter().all(follows) && channels.all_follow() {
        return Ok(());
    }
    Err(NeedsEngine { why: "the new ways would close a credit loop".to_owned() })
}
