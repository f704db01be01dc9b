//! Measures the emulator alone: random directed-route requests over a tree of three levels, so many at once, and what
//! one round trip costs. `cargo run --release -p emulator --example round_trips [RADIX] [MILLIONS] [WINDOW]`

#![allow(clippy::disallowed_methods, clippy::print_stdout)] // A measurement reads the clock and prints.

use std::time::Instant;

use emulator::{Config, Emulator};
use fabric::NodeId;
use fabric::generate::FatTreeSpec;
use ib::{AttributeId, DirectedRoute, Mad, Method, Packet};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>().expect("a number"));
    let radix = arguments.next().unwrap_or(32) as u8;
    let wanted = arguments.next().unwrap_or(2) * 1_000_000;
    let window = arguments.next().unwrap_or(32);
    let fabric = FatTreeSpec { levels: Some(3), radix, ..FatTreeSpec::default() }.build().expect("a tree");
    let seat = fabric.hosts().next().expect("a host");

    // The shortest route to each node, by breadth first.
    let mut routes = vec![None; fabric.node_count()];
    routes[seat.index()] = Some(DirectedRoute::LOCAL);
    let mut queue = std::collections::VecDeque::from([seat]);
    while let Some(node) = queue.pop_front() {
        for (port, peer) in fabric.neighbors(node) {
            let next = fabric.node_of(peer);
            if routes[next.index()].is_none() && (node == seat || fabric.is_switch(node)) {
                routes[next.index()] = routes[node.index()]
                    .and_then(|route: DirectedRoute| route.then(fabric.port_number(port)));
                queue.push_back(next);
            }
        }
    }
    let routes: Vec<_> = routes.into_iter().flatten().collect();
    let switches: Vec<NodeId> = fabric.switches().collect();
    let begin = Instant::now();
    // Buffers enough that nothing is lost: what is measured is the walk.
    let mut emulator =
        Emulator::new(&fabric, Config { vl15_buffers: window.min(255) as u8, ..Config::default() });
    println!(
        "{} nodes, {} switches, {} links; made in {:.3} s",
        fabric.node_count(),
        switches.len(),
        fabric.link_count(),
        begin.elapsed().as_secs_f64()
    );
    let client = emulator.attach(seat, 1).expect("a free port");
    for (name, method, attribute) in [
        ("Get NodeInfo", Method::GET, AttributeId::NODE_INFO),
        ("Get PortInfo", Method::GET, AttributeId::PORT_INFO),
        ("Set LinearForwardingTable", Method::SET, AttributeId::LINEAR_FORWARDING_TABLE),
    ] {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let (mut sent, mut back, mut hops) = (0u64, 0u64, 0u64);
        let before = emulator.statistics();
        let begin = Instant::now();
        while back < wanted {
            while sent < wanted && sent - back < window {
                let route = &routes[random.next_u64() as usize % routes.len()];
                hops += 2 * route.hops().len() as u64;
                let modifier = if method == Method::SET { random.next_u64() as u32 % 128 } else { 0 };
                let mad = Mad::directed(method, attribute, modifier, route, sent, 0);
                emulator.send(emulator.now(), client, &Packet::directed(mad));
                sent += 1;
            }
            let Some(next) = emulator.next_event() else { break };
            emulator.advance_to_delivery(next);
            while emulator.receive().is_some() {
                back += 1;
            }
        }
        let seconds = begin.elapsed().as_secs_f64();
        println!(
            "{name}: {back} round trips, {:.3} us each, {:.1} links each, {:.1} ns a link; {} overruns",
            seconds * 1e6 / back as f64,
            hops as f64 / back as f64,
            seconds * 1e9 / hops as f64,
            emulator.statistics().overruns - before.overruns,
        );
    }
}
