//! Random fabrics on random wires: whatever the draw, the manager ends up, and what the devices hold is sound.

use std::time::Duration;

use fabric::{Fabric, NodeKind};
use ib::Guid;
use proptest::prelude::*;
use subnet::{Config, Phase};

use crate::fabrics::NDR;
use crate::judges;
use crate::mischief::Mischief;
use crate::world::World;

/// A drawn cabling: whether each node is a switch, and its ports; pairs of ends to cable.
#[derive(Clone)]
struct Draw {
    nodes: Vec<(bool, u8)>,
    cables: Vec<(u32, u32)>,
}

impl std::fmt::Debug for Draw {
    /// On one line, as code.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (nodes, cables) = (format!("{:?}", self.nodes), format!("{:?}", self.cables));
        write!(f, "Draw {{ nodes: vec!{nodes}, cables: vec!{cables} }}")
    }
}

impl Draw {
    fn build(&self) -> Fabric {
        let mut fabric = Fabric::new();
        let mut ends = Vec::new();
        for (number, &(is_switch, ports)) in self.nodes.iter().enumerate() {
            let kind = if is_switch { NodeKind::Switch } else { NodeKind::ChannelAdapter };
            let ports = if is_switch { ports } else { 1 + ports % 2 };
            let guid = Guid(0x1000 * (number as u64 + 1));
            let node = fabric.add_node(kind, guid, ports, &format!("node-{number}"));
            for number in 1..=ports {
                if !is_switch {
                    let port = fabric.port(node, number).unwrap();
                    fabric.set_port_guid(port, Guid(guid.0 + u64::from(number)));
                }
                ends.push((node, number));
            }
        }
        for &(a, b) in &self.cables {
            let end = |draw: u32| ends[draw as usize % ends.len()];
            // Ports already in use are passed over.
            let _ = fabric.connect(end(a), end(b), NDR);
        }
        fabric
    }
}

/// Any cabling: parallel links, switches cabled to themselves, hosts of two ports, islands, hosts back to back.
fn any_fabric() -> impl Strategy<Value = Draw> {
    let nodes = prop::collection::vec((any::<bool>(), 2u8..9), 1..14);
    let cables = prop::collection::vec((0u32..112, 0u32..112), 0..60);
    (nodes, cables).prop_map(|(nodes, cables)| Draw { nodes, cables })
}

fn any_mischief() -> impl Strategy<Value = Mischief> {
    (0u32..50_000, 0u32..50_000, 0u32..100_000, 0u32..50_000, 1u64..250, any::<u64>()).prop_map(
        |(lose, double, delay, give_back, latest, seed)| Mischief {
            lose,
            double,
            delay,
            give_back,
            latest: Duration::from_millis(latest),
            seed,
            ..Mischief::default()
        },
    )
}

fn seated(draw: &Draw, seat: u32, config: &Config, emulated: emulator::Config) -> Option<World> {
    let fabric = draw.build();
    let ends: Vec<_> = fabric.end_ports().collect();
    let &port = ends.get(seat as usize % ends.len().max(1))?;
    let mut world = World::new(&fabric, emulated);
    world.sit(fabric.node_of(port), fabric.port_number(port), config.clone());
    Some(world)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_fabric_comes_up_on_a_sound_wire(fabric in any_fabric(), seat in 0u32..64) {
        let Some(mut world) = seated(&fabric, seat, &Config::default(), emulator::Config::default()) else {
            return Ok(());
        };
        prop_assert_eq!(world.bring_up(), []);
        judges::is_up(&world);
        judges::is_the_fabric(&world);
        let known_lids = world.known_lids();
        world.restart(Config { known_lids, ..Config::default() });
        prop_assert_eq!(world.bring_up(), []);
        prop_assert_eq!(world.seats[0].sets, 0);
    }

    #[test]
    fn any_fabric_comes_up_on_a_bad_wire(
        fabric in any_fabric(),
        seat in 0u32..64,
        mischief in any_mischief(),
        loss_per_million in 0u32..20_000,
        buffers in 1u8..6,
    ) {
        let config = Config { retries: 16, ..Config::default() };
        let emulated = emulator::Config {
            loss_per_million,
            vl15_buffers: buffers,
            seed: mischief.seed,
            ..emulator::Config::default()
        };
        let Some(world) = seated(&fabric, seat, &config, emulated) else { return Ok(()) };
        let mut world = world.mischief(mischief);
        world.settle();
        let report = world.manager().report();
        prop_assert_eq!(report.state, Phase::Up, "{:#?}", report);
        prop_assert_eq!(report.findings, []);
        judges::is_up(&world);
        judges::is_the_fabric(&world);
    }

    #[test]
    fn spoilt_answers_never_stop_the_manager(
        fabric in any_fabric(),
        seat in 0u32..64,
        spoil in 0u32..300_000,
        seed in any::<u64>(),
    ) {
        let config = Config { sweep_interval: Duration::from_secs(1), ..Config::default() };
        let Some(world) = seated(&fabric, seat, &config, emulator::Config::default()) else { return Ok(()) };
        let mut world = world.mischief(Mischief { spoil, seed, ..Mischief::default() });
        world.settle();
        // Once the wire is sound again, a look at the fabric puts all right.
        world.wire.mischief.spoil = 0;
        world.restart(config);
        prop_assert_eq!(world.bring_up(), []);
        judges::is_up(&world);
        judges::is_the_fabric(&world);
    }
}
