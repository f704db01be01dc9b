//! Summaries of small fabrics, of every shape.

use ib::{LinkRate, LinkSpeed};

use super::*;
use crate::generate::{DragonflyPlusSpec, FatTreeSpec, HypercubeSpec, RandomRegularSpec, TorusSpec};

const NDR: LinkRate = LinkRate::x4(LinkSpeed::Ndr);

fn fat_tree(levels: u8, taper: Vec<f64>) -> Summary {
    let spec = FatTreeSpec {
        levels: Some(levels),
        radix: 16,
        pods: None,
        hosts: None,
        taper,
        parallel: vec![],
        rate: NDR,
    };
    summarize(&spec.build().unwrap())
}

#[test]
fn a_full_fat_tree_has_full_bisection() {
    let summary = fat_tree(3, vec![]);
    assert_eq!(summary.shape, Shape::FatTree { levels: 3 });
    assert_eq!((summary.hosts, summary.switches), (1024, 320));
    let row = &summary.levels[0];
    assert_eq!((row.switches, row.hosts, row.links_up, row.taper), (128, 1024, 1024, Some(1.0)));
    let bisection = summary.bisection.unwrap();
    assert_eq!((bisection.share, bisection.upper_bound), (1.0, false));
    assert_eq!(bisection.gbps, Some(512.0 * 400.0));
    assert_eq!(summary.rates[0].rate, "4xNDR");
}

#[test]
fn taper_halves_the_bisection() {
    let summary = fat_tree(2, vec![3.0]);
    assert_eq!(summary.shape, Shape::FatTree { levels: 2 });
    assert_eq!(summary.levels[0].taper, Some(3.0));
    assert!((summary.bisection.unwrap().share - 1.0 / 3.0).abs() < 1e-9);
    assert!(summary.to_string().contains("3.00:1"), "{summary}");
}

#[test]
fn flat_shapes_are_told_apart() {
    let cube = HypercubeSpec { dimensions: 6, hosts: 2, rate: NDR }.build().unwrap();
    let summary = summarize(&cube);
    assert_eq!(summary.shape, Shape::Hypercube { dimensions: 6 });
    // 32 links cross the middle of a cube of 64 corners; half of the hosts are 64.
    assert_eq!(summary.bisection.unwrap().share, 0.5);
    let torus = TorusSpec { dimensions: vec![5, 6, 7], hosts: 1, parallel: 1, rate: NDR }.build().unwrap();
    assert_eq!(summarize(&torus).shape, Shape::Torus { dimensions: 3 });
    let random = RandomRegularSpec { switches: 64, degree: 6, hosts: 2, seed: 1, rate: NDR }.build().unwrap();
    assert_eq!(summarize(&random).shape, Shape::Regular { degree: 6 });
    let groups = DragonflyPlusSpec { groups: 4, leaves: 4, spines: 4, hosts: 4, global_links: 3, rate: NDR };
    assert_eq!(summarize(&groups.build().unwrap()).shape, Shape::DragonflyPlus);
}

#[test]
fn a_fabric_of_one_switch_or_none_is_summed_up() {
    let mut fabric = Fabric::new();
    assert_eq!(summarize(&fabric).shape, Shape::NoSwitch);
    fabric.add_node(NodeKind::Switch, ib::Guid(1), 2, "only");
    let summary = summarize(&fabric);
    assert_eq!((summary.shape, summary.bisection), (Shape::SingleSwitch, None));
}
