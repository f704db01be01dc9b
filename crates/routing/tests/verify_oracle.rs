//! The verifier against an oracle that walks every path: on engines' tables, on broken ones, on noise.

mod common;

use common::auto;
use common::build::{degraded, drawn, random, small, with_lmc};
use common::oracle::{agree, agree_on_lanes};
use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use routing::lanes::{Lanes, Turns};
use routing::{Options, Routes, Tables, engine_by_name};

/// Overwrites some entries with bytes that are mostly plausible ports.
fn spoiled(mut tables: Tables, share: u32, seed: u64) -> Tables {
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
    for switch in tables.switches().to_vec() {
        for lid in 0..tables.width() as u32 {
            if chance.next_u32() % 1000 < share {
                let byte = chance.next_u32();
                let port = if byte & 0x700 == 0 { byte as u8 } else { (byte % 9) as u8 };
                tables.set(switch, lid, port);
            }
        }
    }
    tables
}

/// Routes with lanes drawn by chance: a service level for each path, and mostly a lane for each port and level.
fn with_drawn_lanes(tables: Tables, count: u8, seed: u64) -> Routes {
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
    let rows = tables.switches().len();
    let levels: Vec<u8> = (0..rows * tables.width()).map(|_| (chance.next_u32() % 16) as u8).collect();
    let lanes = if chance.next_u32() % 4 == 0 {
        Lanes::by_service_level(tables.width(), levels.iter().map(|level| level % count).collect())
    } else {
        let mut turns = Turns::new((0..rows).map(|_| 8));
        for row in 0..rows {
            for turn in 0..81 {
                for level in 0..16 {
                    turns.set(row, (turn / 9, turn % 9), level, (chance.next_u32() % u32::from(count)) as u8);
                }
            }
        }
        Lanes::by_turns(tables.width(), levels, turns)
    };
    Routes { tables, heights: None, lanes }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn engines_tables(kind in 0..24usize, per_cent in 0..25u32, seed: u64, engine in 0..3usize) {
        let fabric = degraded(small(kind), per_cent, seed);
        if let Ok(tables) = engine_by_name(routing::engine::ENGINES[engine]).unwrap().route(&fabric, &Options::default()).map(|routes| routes.tables) {
            agree(&fabric, &tables);
        }
    }

    #[test]
    fn spoiled_tables(kind in 0..24usize, share in 1..200u32, seed: u64) {
        let fabric = small(kind);
        let tables = engine_by_name("min-hop").unwrap().route(&fabric, &Options::default()).unwrap().tables;
        agree(&fabric, &spoiled(tables, share, seed));
    }

    #[test]
    fn noise_on_anything(seed: u64, share in 0..1001u32) {
        let fabric = random(seed);
        agree(&fabric, &spoiled(Tables::empty(&fabric), share, seed));
        if let Ok((tables, _)) = auto(&fabric) {
            agree(&fabric, &spoiled(tables, share / 10, seed));
        }
    }

    #[test]
    fn lanes_of_any_kind(kind in 0..24usize, share in 0..100u32, count in 1..6u8, seed: u64) {
        let fabric = degraded(small(kind), 5, seed);
        let tables = engine_by_name("min-hop").unwrap().route(&fabric, &Options::default()).unwrap().tables;
        agree_on_lanes(&fabric, &with_drawn_lanes(tables.clone(), count, seed));
        agree_on_lanes(&fabric, &with_drawn_lanes(spoiled(tables, share, seed), count, seed));
    }

    #[test]
    fn tables_of_another_fabric(kind in 0..24usize, other in 0..24usize) {
        let tables = engine_by_name("up-down").unwrap().route(&small(other), &Options::default()).unwrap().tables;
        agree(&small(kind), &tables);
    }

    #[test]
    fn several_lids(kind in 0..24usize, lmc in 1..4u8, share in 0..100u32, seed: u64) {
        let fabric = with_lmc(small(kind), lmc);
        let (tables, _) = auto(&fabric).unwrap();
        prop_assert!(agree(&fabric, &tables).is_clean());
        agree(&fabric, &spoiled(tables, share, seed));
    }
}

#[test]
fn a_ring_of_shortest_paths_waits_in_a_circle() {
    let mut cables = String::new();
    for i in 0..6 {
        cables += &format!("s{i}[1] s{}[2]\ns{i}[3] h{i}[1]\n", (i + 1) % 6);
    }
    let fabric = drawn(&cables);
    let tables = engine_by_name("min-hop").unwrap().route(&fabric, &Options::default()).unwrap().tables;
    let found = agree(&fabric, &tables);
    assert_eq!((found.unreachable, found.loops), (0, 0));
    assert!(found.credit_loops > 0);
    assert_eq!(found.witness.unwrap().ports.len(), 6);
}

#[test]
fn two_lanes_break_the_circle_of_a_ring() {
    let mut cables = String::new();
    for i in 0..6 {
        cables += &format!("s{i}[1] s{}[2]\ns{i}[3] h{i}[1]\n", (i + 1) % 6);
    }
    let fabric = drawn(&cables);
    let tables = engine_by_name("min-hop").unwrap().route(&fabric, &Options::default()).unwrap().tables;
    // Paths that pass from the last switch to the first, or back, are on lane 1.
    let mut levels = vec![0; 6 * tables.width()];
    for (row, &switch) in tables.switches().iter().enumerate() {
        for host in fabric.hosts() {
            let port = fabric.ports(host).next().unwrap();
            let lid = fabric.lid(port).0;
            let (mut at, mut crosses) = (switch, false);
            while let Some(next) = fabric
                .port(at, tables.get(at, lid))
                .and_then(|out| fabric.peer(out))
                .map(|peer| fabric.node_of(peer))
                .filter(|&next| fabric.is_switch(next))
            {
                crosses |= fabric.name(at) == "s5" && fabric.name(next) == "s0";
                crosses |= fabric.name(at) == "s0" && fabric.name(next) == "s5";
                at = next;
            }
            levels[row * tables.width() + lid as usize] = u8::from(crosses);
        }
    }
    let lanes = Lanes::by_service_level(tables.width(), levels);
    let found = agree_on_lanes(&fabric, &Routes { tables, heights: None, lanes });
    assert!(found.is_clean(), "{found:?}");
}

#[test]
fn a_forwarding_loop_is_named() {
    let fabric = drawn("s0[1] s1[1]\n s1[2] s2[1]\n s2[2] s0[2]\n s0[3] h0[1]\n s1[3] h1[1]");
    let mut tables = engine_by_name("min-hop").unwrap().route(&fabric, &Options::default()).unwrap().tables;
    let host = fabric.end_ports().find(|&port| fabric.port_label(port) == "h1[1]").unwrap();
    let lid = fabric.lid(host).0;
    let switches: Vec<_> = fabric.switches().collect();
    tables.set(switches[0], lid, 1);
    tables.set(switches[1], lid, 2);
    tables.set(switches[2], lid, 2);
    let found = agree(&fabric, &tables);
    let circle = found.first_loop.unwrap();
    assert_eq!((circle.lid, circle.ports), (lid, vec!["s0[1]".into(), "s1[2]".into(), "s2[2]".into()]));
}

#[test]
fn the_noise_holds_everything_that_can_be_wrong() {
    let found: Vec<_> = (0..60)
        .map(|seed| {
            let fabric = small(seed as usize);
            let tables =
                engine_by_name("min-hop").unwrap().route(&fabric, &Options::default()).unwrap().tables;
            agree(&fabric, &spoiled(tables, 20, seed))
        })
        .collect();
    let count = |wrong: fn(&routing::Verification) -> bool| found.iter().filter(|one| wrong(one)).count();
    assert!(count(|one| one.unreachable > 0) > 30);
    assert!(count(|one| one.loops > 0) > 10);
    assert!(count(|one| one.credit_loops > 0) > 10);
    assert_eq!(count(|one| one.is_clean()), 0);
}
