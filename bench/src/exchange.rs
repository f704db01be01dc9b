//! Many requests to a fabric with a window of them under way, and routes to send them by.

use std::time::Duration;

use anyhow::bail;
use fabric::{Fabric, NodeId};
use ib::{DirectedRoute, Mad, Packet};
use transport::Wire;

/// What does not come in this time is lost.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends every request of `requests`, at most `window` under way, and hands each answer with the number of its request
/// to `answered`. A request's transaction number is its number.
pub fn exchange(
    wire: &mut dyn Wire,
    requests: &mut dyn Iterator<Item = Mad>,
    window: usize,
    answered: &mut dyn FnMut(u32, &Mad),
) -> anyhow::Result<u64> {
    let (mut sent, mut back) = (0u64, 0u64);
    let (mut out, mut packets) = (Vec::with_capacity(window), Vec::new());
    loop {
        out.clear();
        out.extend(requests.take(window - (sent - back) as usize).map(Packet::directed));
        sent += out.len() as u64;
        if back == sent {
            return Ok(back);
        }
        wire.send(&out)?;
        packets.clear();
        let until = wire.now() + PATIENCE;
        let now = wire.receive(&mut packets, Some(until))?;
        for packet in packets.iter().filter(|packet| packet.mad.is_returning()) {
            back += 1;
            answered(packet.mad.tid() as u32, &packet.mad);
        }
        if packets.is_empty() && now >= until {
            bail!("{} of {sent} requests were not answered", sent - back);
        }
    }
}

/// A shortest route from `seat` to every node; `None` where there is no way.
pub fn routes(fabric: &Fabric, seat: NodeId) -> Vec<Option<DirectedRoute>> {
    let mut routes = vec![None; fabric.node_count()];
    routes[seat.index()] = Some(DirectedRoute::LOCAL);
    let mut queue = std::collections::VecDeque::from([seat]);
    while let Some(node) = queue.pop_front() {
        // Adapters forward nothing.
        if node != seat && !fabric.is_switch(node) {
            continue;
        }
        for (port, peer) in fabric.neighbors(node) {
            let next = fabric.node_of(peer);
            if routes[next.index()].is_none() {
                routes[next.index()] = routes[node.index()]
                    .and_then(|route: DirectedRoute| route.then(fabric.port_number(port)));
                queue.push_back(next);
            }
        }
    }
    routes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_as_long_as_the_tree_is_high() {
        let fabric = crate::trees::tree(648).unwrap();
        let seat = fabric.hosts().next().unwrap();
        let routes = routes(&fabric, seat);
        let hops = |node: NodeId| routes[node.index()].unwrap().hops().len();
        assert_eq!(hops(seat), 0);
        assert_eq!(fabric.hosts().map(hops).max(), Some(4));
        assert_eq!(fabric.switches().map(hops).max(), Some(3));
    }
}
