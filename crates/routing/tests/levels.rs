//! Trees with links missing: the largest load at each level against the least that any tables could have there. A linear
//! program finds that least, with destinations divided at will.

mod common;

use common::build::{degraded, fat_tree};
use fabric::Fabric;
use microlp::{ComparisonOp, LinearExpr, OptimizationDirection, Problem, Variable};
use proptest::prelude::*;
use routing::paths::Paths;
use routing::switches::Switches;
use routing::{Options, Tables, engine_by_name, ranks};

/// A degraded tree, with the paths that the engine chooses from.
struct Tree {
    switches: Switches,
    paths: Paths,
    /// (switch, other switch, port, level) of each direction of a link; the level is an index of `names`.
    links: Vec<(usize, usize, u8, usize)>,
    names: Vec<String>,
    /// Hosts of a leaf: what one entry of a leaf's table adds to a link.
    bundle: f64,
}

impl Tree {
    fn of(fabric: &Fabric) -> Self {
        let switches = Switches::new(fabric);
        let rank = ranks::of(fabric, &switches);
        let paths = Paths::up_down(&switches, &rank);
        let level = |from: usize, to: usize| {
            2 * rank[from].min(rank[to]) as usize + usize::from(rank[from] < rank[to])
        };
        let all = (0..switches.len()).flat_map(|from| switches.links(from).iter().map(move |to| (from, to)));
        let links: Vec<_> = all
            .map(|(from, link)| (from, link.peer as usize, link.port, level(from, link.peer as usize)))
            .collect();
        let top = rank.iter().copied().max().unwrap_or(0);
        let names = (0..top).flat_map(|level| [format!("down to {level}"), format!("up from {level}")]);
        let bundle = (0..switches.len()).map(|switch| switches.hosts(switch)).max().unwrap_or(0);
        Self { names: names.collect(), bundle: f64::from(bundle), switches, paths, links }
    }

    /// The largest load at each level.
    fn loads(&self, tables: &Tables) -> Vec<f64> {
        let mut load = vec![0u32; self.links.len()];
        for to in 0..self.switches.len() {
            for host in self.switches.destinations(to).iter().filter(|to| to.host) {
                for from in (0..self.switches.len()).filter(|&from| self.switches.hosts(from) > 0) {
                    let mut at = from;
                    while at != to {
                        let port = tables.row_at(at)[host.lids.start as usize];
                        let link = self.links.iter().position(|link| (link.0, link.2) == (at, port));
                        let Some(link) = link else { break };
                        load[link] += self.switches.hosts(from);
                        at = self.links[link].1;
                    }
                }
            }
        }
        let mut most = vec![0.0; self.names.len()];
        for (&load, &(.., level)) in load.iter().zip(&self.links) {
            most[level] = f64::from(load).max(most[level]);
        }
        most
    }

    /// The least value of a variable, where loads keep to `limit`: for each level what its links may carry, and how
    /// often the variable on top of that.
    fn least(&self, limit: impl Fn(usize) -> Option<(f64, f64)>) -> f64 {
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        let value = problem.add_var(1.0, (0.0, f64::INFINITY));
        let mut on_link: Vec<Vec<Variable>> = vec![Vec::new(); self.links.len()];
        for to in (0..self.switches.len()).filter(|&to| self.switches.hosts(to) > 0) {
            let cost = |switch: usize| self.paths.row(switch)[to];
            let mut balance: Vec<LinearExpr> =
                (0..self.switches.len()).map(|_| LinearExpr::empty()).collect();
            let mut sends = vec![false; self.switches.len()];
            for (link, &(from, peer, ..)) in self.links.iter().enumerate() {
                if from != to && self.paths.allows(from, cost(from), peer, cost(peer)) {
                    let flow = problem.add_var(0.0, (0.0, f64::INFINITY));
                    on_link[link].push(flow);
                    balance[from].add(flow, 1.0);
                    balance[peer].add(flow, -1.0);
                    sends[from] = true;
                }
            }
            let receives = self.switches.hosts(to);
            for (from, balance) in balance.into_iter().enumerate().filter(|&(from, _)| sends[from]) {
                let own = f64::from(self.switches.hosts(from) * receives);
                problem.add_constraint(balance, ComparisonOp::Eq, own);
            }
        }
        for (flows, &(.., level)) in on_link.iter().zip(&self.links) {
            if let Some((allowed, times)) = limit(level) {
                let mut sum = LinearExpr::empty();
                flows.iter().for_each(|&flow| sum.add(flow, 1.0));
                sum.add(value, -times);
                problem.add_constraint(sum, ComparisonOp::Le, allowed);
            }
        }
        problem.solve().expect("every tree can be routed").objective()
    }

    /// What each level carries at the least by itself, and how many paths more all levels at once need.
    fn best(&self) -> (Vec<f64>, f64) {
        let alone = |level| self.least(|of| (of == level).then_some((0.0, 1.0)));
        let best: Vec<f64> = (0..self.names.len()).map(alone).collect();
        let together = self.least(|of| Some((best[of], self.bundle)));
        (best, together)
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100,
        rng_seed: proptest::test_runner::RngSeed::Fixed(4),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_level_is_within_one_path_of_the_best_possible(shape in 0..6usize, per_cent in 1..25u32, seed: u64) {
        let (levels, radix, taper, parallel) = [
            (2, 8, 1.0, vec![]),
            (2, 12, 2.0, vec![]),
            (2, 8, 1.0, vec![2]),
            (3, 4, 1.0, vec![]),
            (3, 6, 1.0, vec![]),
            (3, 6, 2.0, vec![]),
        ][shape].clone();
        let fabric = degraded(fat_tree(levels, radix, taper, parallel, None).unwrap(), per_cent, seed);
        let tree = Tree::of(&fabric);
        let Ok(routes) = engine_by_name("fat-tree").unwrap().route(&fabric, &Options::default()) else {
            // Some pair has no path that climbs and descends.
            return Ok(());
        };
        if routes.heights.as_deref() != tree.paths.heights() {
            // The tree was hung up otherwise, and has other paths.
            return Ok(());
        }
        let (best, together) = tree.best();
        if together > 1e-6 {
            // Some level is at its best only where another is not.
            return Ok(());
        }
        for ((most, best), name) in tree.loads(&routes.tables).into_iter().zip(best).zip(&tree.names) {
            // Whole paths: a leaf's entry moves all its hosts at once.
            let whole = (best / tree.bundle - 1e-6).ceil() * tree.bundle;
            prop_assert!(most <= whole + tree.bundle, "{name}: {most}, where {best:.2} is possible");
        }
    }
}
