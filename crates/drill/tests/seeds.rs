//! Two thousand short drills: small fabrics of every shape, a few failures each, judged after every one.
// A test's own door to its data, and to the person who runs it.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use std::path::PathBuf;
use std::time::Duration;

use drill::{Config, Drill, Kind, Outcome};
use fabric::generate::{FatTreeSpec, HypercubeSpec, RandomRegularSpec, TorusSpec};
use fabric::{Fabric, NodeId, NodeKind, formats};
use ib::{Guid, LinkRate, LinkSpeed};
use rayon::prelude::*;

fn tree(levels: u8, radix: u8, pods: Option<u32>) -> Fabric {
    FatTreeSpec { levels: Some(levels), radix, pods, ..FatTreeSpec::default() }.build().unwrap()
}

/// Switches in a circle, a host on each.
fn ring(switches: u32) -> Fabric {
    let mut fabric = Fabric::new();
    let rate = Some(LinkRate::x4(LinkSpeed::Ndr));
    let nodes: Vec<NodeId> = (0..switches)
        .map(|number| {
            let guid = Guid(0x100 * u64::from(number + 1));
            fabric.add_node(NodeKind::Switch, guid, 4, &format!("switch-{number}"))
        })
        .collect();
    for (number, &node) in nodes.iter().enumerate() {
        fabric.connect((node, 1), (nodes[(number + 1) % nodes.len()], 2), rate).unwrap();
        let guid = Guid(0x10_0000 + 0x100 * number as u64);
        let host = fabric.add_node(NodeKind::ChannelAdapter, guid, 1, &format!("host-{number}"));
        fabric.connect((host, 1), (node, 3), rate).unwrap();
    }
    fabric
}

/// A small real cluster, where it is at hand.
fn real() -> Option<Fabric> {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared"));
    let shared = std::env::var_os("HEDDLE_SHARED").map_or_else(beside, PathBuf::from);
    let name = "fdr10-edr-2.ibnetdiscover";
    let Ok(bytes) = std::fs::read(shared.join("fabrics").join(name)) else {
        println!("skipped: no shared data");
        return None;
    };
    Some(formats::read(name, &bytes).unwrap().fabric)
}

/// A manager that spreads paths anew soon after a change.
fn restless() -> subnet::Config {
    subnet::Config { rebalance_after: Duration::from_secs(2), ..Config::default().managed }
}

fn fabrics() -> Vec<Fabric> {
    let mut fabrics = vec![
        tree(2, 4, None),
        tree(2, 6, None),
        tree(3, 4, None),
        TorusSpec { dimensions: vec![3, 3], ..TorusSpec::default() }.build().unwrap(),
        ring(5),
    ];
    fabrics.extend(real());
    fabrics
}

fn seat(fabric: &Fabric) -> (NodeId, u8) {
    let host = fabric.hosts().find(|&host| fabric.neighbors(host).next().is_some()).unwrap();
    (host, fabric.port_number(fabric.neighbors(host).next().unwrap().0))
}

fn drill(fabric: &Fabric, config: Config) -> Outcome {
    Drill::new(fabric, seat(fabric), config).unwrap().run(&mut |_, _| {}).unwrap()
}

/// Seeds beyond the two thousand that were not healed once: a flapping link was left down where only the engine can route.
const MORE: [u64; 2] = [2632, 4427];

/// Holds a drill for each seed; fails with what was not healed.
fn all_are_healed(seeds: Vec<u64>, hold: impl Fn(u64) -> Outcome + Sync) {
    let broken: Vec<String> = seeds
        .into_par_iter()
        .filter_map(|seed| {
            let outcome = hold(seed);
            let last = outcome.records.last().unwrap();
            let wrong = last.wrong.as_ref()?;
            Some(format!("seed {seed} step {} {:?}: {}: {wrong}", last.number, last.kind, last.what))
        })
        .collect();
    assert!(broken.is_empty(), "{} drills:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn two_thousand_seeds_are_healed() {
    let fabrics = fabrics();
    // DRILL_SEED=1508 holds that one alone, and shows what the manager says; DRILL_SEEDS=10000 holds so many.
    let number = |name| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let one = number("DRILL_SEED");
    let seeds = 0..number("DRILL_SEEDS").unwrap_or(2000);
    let seeds = one.map_or(seeds, |seed| seed..seed + 1).chain(MORE.into_iter().filter(|_| one.is_none()));
    all_are_healed(seeds.collect(), |seed| {
        let fabric = &fabrics[seed as usize % fabrics.len()];
        let config = Config { failures: 4, seed, open: 3, managed: restless(), ..Config::default() };
        let mut drill = Drill::new(fabric, seat(fabric), config).unwrap();
        if one.is_some() {
            drill.listen(Box::new(|time, event| println!("{time} {event:?}")));
        }
        let outcome = drill.run(&mut |record, _| {
            if one.is_some() {
                println!("{record:?}");
            }
        });
        outcome.unwrap()
    });
}

/// Shapes without levels, where more failures of longer drills meet.
#[test]
fn longer_drills_on_meshes_are_healed() {
    let fabrics = [
        HypercubeSpec { dimensions: 4, ..HypercubeSpec::default() }.build().unwrap(),
        RandomRegularSpec { switches: 20, degree: 4, hosts: 2, seed: 7, ..RandomRegularSpec::default() }
            .build()
            .unwrap(),
        TorusSpec { dimensions: vec![4, 3, 2], ..TorusSpec::default() }.build().unwrap(),
    ];
    all_are_healed((0..60).collect(), |seed| {
        let fabric = &fabrics[seed as usize % fabrics.len()];
        drill(fabric, Config { failures: 25, seed, managed: restless(), ..Config::default() })
    });
}

/// Writes are ordered so that what switches hold on the way closes no circle either.
#[test]
fn no_single_write_closes_a_circle() {
    let fabrics = [tree(2, 4, None), tree(2, 6, None), tree(3, 4, None)];
    let kinds = [Kind::Link, Kind::Uplink, Kind::Host, Kind::Card, Kind::Several, Kind::DuringWork];
    all_are_healed((0..240).collect(), |seed| {
        let config = Config {
            failures: 6,
            seed,
            open: 3,
            kinds: kinds.to_vec(),
            check_every_write: true,
            managed: restless(),
            ..Config::default()
        };
        drill(&fabrics[seed as usize % fabrics.len()], config)
    });
}

#[test]
fn a_seed_gives_the_same_drill_again() {
    let fabric = tree(2, 4, None);
    let config = |seed| Config { failures: 12, seed, ..Config::default() };
    let first = drill(&fabric, config(7));
    assert_eq!(first, drill(&fabric, config(7)));
    assert_ne!(first.records, drill(&fabric, config(8)).records);
    assert!(first.figures.failures == 12 && first.records.len() > 12, "{first:?}");
}

#[test]
fn a_step_alone_is_the_same_failure() {
    let fabric = tree(2, 6, None);
    let whole = drill(&fabric, Config { failures: 10, seed: 3, ..Config::default() });
    for record in &whole.records {
        let alone =
            drill(&fabric, Config { failures: 10, seed: 3, only: Some(record.number), ..Config::default() });
        let [again] = &alone.records[..] else { panic!("{alone:?}") };
        assert_eq!((again.number, again.kind, &again.what), (record.number, record.kind, &record.what));
        assert_eq!(again.cut_off, record.cut_off);
    }
}

#[test]
fn compute_time_is_counted_where_a_clock_is_given() {
    let fabric = tree(2, 6, None);
    let kinds = vec![drill::Kind::Link];
    let free = Config { failures: 5, kinds, ..Config::default() };
    // A clock that goes on by a millisecond each time that it is read.
    fn slow() -> std::time::Instant {
        use std::sync::atomic::{AtomicU64, Ordering};
        static READ: AtomicU64 = AtomicU64::new(0);
        static BEGAN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        let began = *BEGAN.get_or_init(std::time::Instant::now);
        began + Duration::from_millis(1) * READ.fetch_add(1, Ordering::Relaxed) as u32
    }
    let counted = Config { clock: Some(slow), ..free.clone() };
    let (free, counted) = (drill(&fabric, free), drill(&fabric, counted));
    assert!(free.is_sound() && counted.is_sound(), "{counted:?}");
    assert!(counted.figures.p50_ms > 2.0 * free.figures.p50_ms, "{free:?} {counted:?}");
}
