//! Repairs of tables on several lanes after random changes: proven whole afterwards, and sound on every lane after every
//! single write.

mod common;

use common::build::{degraded, random, small, with_lids};
use common::changes::{change, is_whole, one_part, write};
use fabric::generate::{DragonflyPlusSpec, RandomRegularSpec, TorusSpec};
use fabric::{Fabric, NodeId};
use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use routing::{Options, Patch, Repairer, Routes, engine_by_name};

/// Lanes that the hardware of these tests has.
const LANES: u8 = 4;

fn route(engine: &str, fabric: &Fabric) -> Option<Routes> {
    let options = Options { most_lanes: LANES, ..Options::default() };
    engine_by_name(engine).unwrap().route(fabric, &options).ok()
}

/// How many changes were repaired, and how many left to the engine; none where paths take one lane.
fn journey(engine: &str, mut fabric: Fabric, seed: u64, changes: usize) -> (usize, usize) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut counts = (0, 0);
    let Some(mut routes) = route(engine, &fabric).filter(|routes| routes.lanes.count() > 1) else {
        return counts;
    };
    let mut repairer = Repairer::new(&fabric, &routes).unwrap();
    assert!(repairer.has_lanes());
    let mut gone = Vec::new();
    for _ in 0..changes {
        let mut together = one_part(&fabric);
        let mut changed = change(&mut fabric, &mut gone, &mut rng);
        let lanes = routes.lanes.count();
        loop {
            match repairer.repair(&fabric, &routes.tables, &changed) {
                Ok(patch) => {
                    let most = if rng.next_u32().is_multiple_of(4) { 2 } else { usize::MAX };
                    if write(&fabric, &mut routes, &mut repairer, &patch, &mut rng, most, together) {
                        counts.0 += 1;
                        break;
                    }
                    together &= one_part(&fabric);
                    // Something else happens in the middle of it.
                    changed = change(&mut fabric, &mut gone, &mut rng);
                }
                Err(_) => {
                    counts.1 += 1;
                    let Some(anew) = route(engine, &fabric) else { return counts };
                    assert!(anew.lanes.count() <= LANES);
                    routes = anew;
                    match Repairer::new(&fabric, &routes) {
                        Some(anew) if anew.has_lanes() => repairer = anew,
                        _ => return counts,
                    }
                    break;
                }
            }
        }
        assert!(counts.1 > 0 || routes.lanes.count() == lanes, "a repair takes no lane more");
        is_whole(&fabric, &routes);
    }
    counts
}

fn torus(dimensions: &[u32]) -> Fabric {
    let spec = TorusSpec { dimensions: dimensions.to_vec(), hosts: 1, ..TorusSpec::default() };
    with_lids(spec.build().unwrap())
}

fn regular(switches: u32, degree: u32, hosts: u32, seed: u64) -> Fabric {
    let spec = RandomRegularSpec { switches, degree, hosts, seed, ..Default::default() };
    with_lids(spec.build().unwrap())
}

fn dragonfly(seed: u64) -> Fabric {
    let spec = DragonflyPlusSpec {
        groups: 4,
        leaves: 2,
        spines: 3,
        hosts: 1,
        global_links: 2,
        ..Default::default()
    };
    degraded(with_lids(spec.build().unwrap()), 12, seed)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, rng_seed: proptest::test_runner::RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn repairs_of_generated_fabrics_hold(kind in 0usize..64, seed: u64) {
        for engine in ["layered", "nue"] {
            journey(engine, degraded(small(kind), 10 * (kind as u32 % 2), seed), seed, 6);
        }
    }

    #[test]
    fn repairs_of_random_fabrics_hold(seed: u64) {
        for engine in ["layered", "nue"] {
            journey(engine, random(seed), seed, 6);
        }
    }

    #[test]
    fn repairs_of_tori_hold(shape in 0usize..4, seed: u64) {
        let shape = [&[5, 4][..], &[4, 4], &[3, 3, 4], &[7]][shape];
        for engine in ["torus", "layered"] {
            journey(engine, torus(shape), seed, 4);
        }
    }

    #[test]
    fn repairs_of_random_regular_fabrics_hold(degree in 3u32..6, seed: u64) {
        journey("layered", regular(16, degree, 1, seed), seed, 5);
    }

    #[test]
    fn repairs_of_dragonflies_hold(seed: u64) {
        for engine in ["layered", "nue"] {
            journey(engine, dragonfly(seed), seed, 5);
        }
    }
}

/// How many of a fabric's links can be lost, each alone, and be healed by a repair; how many of them, once they are back, have all
/// entries where they were; and how many links there are.
fn single_losses(engine: &str, whole: &Fabric) -> (usize, usize, usize) {
    let routes = route(engine, whole).unwrap();
    assert!(routes.lanes.count() > 1, "{engine} takes one lane");
    let between = whole
        .links()
        .filter(|&(a, b)| whole.is_switch(whole.node_of(a)) && whole.is_switch(whole.node_of(b)));
    let (mut repaired, mut restored, mut all) = (0, 0, 0);
    let mut repairer = Repairer::new(whole, &routes).unwrap();
    for (a, b) in between {
        let (mut fabric, mut tables) = (whole.clone(), routes.tables.clone());
        let nodes = [fabric.node_of(a), fabric.node_of(b)];
        let mut repair = |fabric: &Fabric, nodes: &[NodeId]| {
            let patch = repairer.repair(fabric, &tables, nodes).ok()?;
            for wave in patch.waves() {
                repairer.displace(&tables, wave);
                Patch::apply(&mut tables, wave);
            }
            repairer.settle();
            Some(repairer.displaced())
        };
        all += 1;
        fabric.disconnect(a);
        if repair(&fabric, &nodes).is_some() {
            repaired += 1;
            let displaced = repair(whole, &nodes).unwrap();
            if displaced == 0 {
                assert!(tables == routes.tables, "{engine}");
                restored += 1;
            } else {
                repairer = Repairer::new(whole, &routes).unwrap();
            }
        } else {
            repairer = Repairer::new(whole, &routes).unwrap();
        }
    }
    (repaired, restored, all)
}

#[test]
fn every_lost_link_is_repaired() {
    for (engine, fabric) in [
        ("torus", torus(&[5, 4])),
        ("torus", torus(&[4, 4, 4])),
        ("layered", torus(&[5, 5])),
        ("layered", regular(24, 6, 1, 1)),
        ("layered", regular(40, 8, 2, 2)),
        ("nue", torus(&[5, 5])),
        ("nue", regular(24, 6, 1, 1)),
    ] {
        let (repaired, restored, all) = single_losses(engine, &fabric);
        let said = format!("{engine}: of {all} lost links {repaired} are repaired and {restored} go back");
        assert!(repaired == all && restored * 10 >= all * 9, "{said}");
    }
}
