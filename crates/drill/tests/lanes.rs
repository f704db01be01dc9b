//! Drills with engines for several virtual lanes: every failure is healed, each lane judged by what devices hold.

use drill::{Config, Drill};
use fabric::Fabric;
use fabric::generate::{RandomRegularSpec, TorusSpec};

/// What is wrong after the failures of a seed, where something is.
fn wrong(fabric: &Fabric, engine: &str, seed: u64) -> Option<String> {
    let usual = Config::default();
    let managed = subnet::Config { engine: engine.to_owned(), ..usual.managed.clone() };
    let host = fabric.hosts().next().unwrap();
    let config = Config { seed, failures: 4, managed, ..usual };
    let outcome = Drill::new(fabric, (host, 1), config).unwrap().run(&mut |_, _| {}).unwrap();
    let last = outcome.records.last().unwrap();
    let said = last.wrong.as_ref()?;
    Some(format!("{engine}, seed {seed}, {:?}: {}: {said}", last.kind, last.what))
}

#[test]
fn failures_on_several_lanes_are_healed() {
    let torus = TorusSpec { dimensions: vec![4, 4], ..TorusSpec::default() }.build().unwrap();
    let random =
        RandomRegularSpec { switches: 10, degree: 4, hosts: 1, seed: 3, ..RandomRegularSpec::default() };
    let random = random.build().unwrap();
    let drills = (0..24)
        .flat_map(|seed| [(&torus, "layered", seed), (&torus, "nue", seed), (&random, "layered", seed)]);
    let broken: Vec<String> =
        drills.filter_map(|(fabric, engine, seed)| wrong(fabric, engine, seed)).collect();
    assert!(broken.is_empty(), "{} drills:\n{}", broken.len(), broken.join("\n"));
}
