//! How long it takes to find places for gangs on a fabric of 16,384 GPUs, by who is near whom and by what links bear.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use fabric::generate::SuperpodSpec;
use ib::Lid;
use pool::formats::{Equipment, from_fabric};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use routing::{Options, auto};
use scheduler::network::{Ask, Level, Pattern, Topology, Traffic, Want, choose};

use crate::Common;
use crate::statistics::percentile;
use crate::statistics::{figure, grouped};

/// Sets of nodes that are proposed for each gang.
const PROPOSED: usize = 4;

/// Measures and prints a table.
pub fn run(common: &Common) -> anyhow::Result<()> {
    let (units, tries) = if common.quick { (4, 20) } else { (64, 1000) };
    let mut fabric = SuperpodSpec { units, ..SuperpodSpec::default() }.build()?;
    let ports: Vec<_> = fabric.end_ports().collect();
    for (number, port) in ports.into_iter().enumerate() {
        fabric.set_lid(port, Lid(number as u32 + 1), 0);
    }
    let (routes, _) = auto(&fabric, &Options::default())?;
    let pool = from_fabric("superpod", &fabric, &Equipment::default())?;
    let (fabric, tables) = (Arc::new(fabric), Arc::new(routes.tables));
    let begun = Instant::now();
    let mut topology = Topology::new(fabric, Some(tables), &pool);
    let joined = begun.elapsed().as_secs_f64();
    let nodes = pool.node_count();
    println!(
        "### Places in the fabric, {} GPUs on {} nodes\n",
        grouped(pool.gpu_count() as u64),
        grouped(nodes as u64)
    );
    println!(
        "Groups and ways from cabling and tables: {} s. Up to {PROPOSED} sets a gang.\n",
        figure(joined)
    );
    println!("| nodes | what | tries | median ms | 99th percentile ms | largest ms |");
    println!("| --- | --- | --- | --- | --- | --- |");
    let ring = [Traffic { pattern: Pattern::Ring, bytes_per_second: 10_000_000_000 }];
    let all = [Traffic { pattern: Pattern::AllToAll, bytes_per_second: 10_000_000_000 }];
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(7);
    for (gang, what, traffic) in [
        (1, "groups alone", None),
        (64, "groups alone", None),
        (64, "and a ring's load on links", Some(&ring)),
        (64, "and an all-to-all's load on links", Some(&all)),
    ] {
        let mut taken = Vec::with_capacity(tries);
        for _ in 0..tries {
            // Three quarters in use: whole units and strewn nodes, drawn anew for each try.
            let mut capacity = vec![1; nodes];
            let mut used = 0;
            while used * 4 < nodes * 3 {
                let start = chance.next_u64() as usize % nodes;
                let length = if chance.next_u64() % 8 == 0 { 32 } else { 1 };
                for own in capacity.iter_mut().skip(start).take(length) {
                    used += *own as usize;
                    *own = 0;
                }
            }
            let wants = [Want { level: Level::Pod, required: false }];
            let ask = Ask {
                capacity: &capacity,
                members: gang.min(nodes as u32 / 8),
                wants: &wants,
                most: PROPOSED,
            };
            let begun = Instant::now();
            match traffic {
                None => drop(black_box(choose(topology.locality(), &ask))),
                Some(traffic) => {
                    let proposed = black_box(topology.propose(&ask, traffic)).ok();
                    taken.push(begun.elapsed().as_secs_f64() * 1000.0);
                    // What was started stays, so that links fill.
                    let best = proposed.and_then(|proposed| proposed.into_iter().next());
                    topology.start(&best.context("a quarter of the nodes hold the gang")?.load);
                    continue;
                }
            }
            taken.push(begun.elapsed().as_secs_f64() * 1000.0);
        }
        let at = |part: f64| percentile(&taken, part);
        println!("| {gang} | {what} | {tries} | {:.3} | {:.3} | {:.3} |", at(0.5), at(0.99), at(1.0));
    }
    println!();
    Ok(())
}
