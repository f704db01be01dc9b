//! One lost link where paths take several virtual lanes: tables repaired against tables computed anew.

use std::time::Instant;

use clap::Args;
use fabric::generate::{RandomRegularSpec, TorusSpec};
use fabric::{Fabric, NodeId, PortId};
use ib::Lid;
use routing::{Options, Patch, Repairer, Routes, Tables, engine_by_name, verify_routes};

use crate::Common;
use crate::statistics::{figure, grouped, median, percentile};

/// Data lanes that the hardware has.
const LANES: u8 = 8;

/// Which fabrics and failures.
#[derive(Args, Clone)]
pub struct Repair {
    /// Switches of the random-regular fabric
    #[arg(long, default_value_t = 1000)]
    switches: u32,
    /// Neighbours of each of them
    #[arg(long, default_value_t = 16)]
    degree: u32,
    /// Hosts on each of them
    #[arg(long, default_value_t = 8)]
    hosts: u32,
    /// Switches along each side of the torus of three dimensions
    #[arg(long, default_value_t = 10)]
    torus: u32,
    /// Links that are lost, each alone, spread over the fabric
    #[arg(long, default_value_t = 200)]
    failures: usize,
    /// After how many of them all is computed anew as well
    #[arg(long, default_value_t = 3)]
    anew: usize,
    /// What chance is drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Default for Repair {
    fn default() -> Self {
        Self { switches: 1000, degree: 16, hosts: 8, torus: 10, failures: 200, anew: 3, seed: 1 }
    }
}

impl Repair {
    /// Measures and prints a table.
    pub fn run(&self, common: &Common) -> anyhow::Result<()> {
        let (switches, side) = if common.quick { (60, 4) } else { (self.switches, self.torus) };
        println!("### One lost link on several lanes, {LANES} lanes given\n");
        println!(
            "| fabric, engine | hosts, switches | lanes | lost links | repaired | repair: median ms | 99th percentile ms | entries | blocks | waves | computed anew: s | blocks | its time / the repair's | its blocks / the repair's |"
        );
        println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
        let spec = RandomRegularSpec {
            switches,
            degree: self.degree,
            hosts: self.hosts,
            seed: self.seed,
            ..RandomRegularSpec::default()
        };
        let random = with_lids(spec.build()?);
        let spec = TorusSpec { dimensions: vec![side; 3], hosts: self.hosts, ..TorusSpec::default() };
        let torus = with_lids(spec.build()?);
        let torus_name = format!("torus {side}x{side}x{side}");
        self.measure("random-regular", "layered", &random)?;
        self.measure("random-regular", "nue", &random)?;
        self.measure(&torus_name, "torus", &torus)?;
        self.measure(&torus_name, "nue", &torus)?;
        println!(
            "\nRepair: from the cabling at both ends to proven entries in waves. Anew: the engine, the proof of all pairs, and the account of lanes that later repairs begin from. The link is back before the next one is lost; repairs that put it back are not counted.\n"
        );
        Ok(())
    }

    fn measure(&self, name: &str, engine: &str, whole: &Fabric) -> anyhow::Result<()> {
        let (routes, mut repairer) = anew(whole, engine)?;
        let Some(mut keeper) = repairer.take() else {
            println!(
                "| {name}, {engine} | | {} | no repair is possible | | | | | | | | | | |",
                routes.lanes.count()
            );
            return Ok(());
        };
        let between = |&(a, b): &(PortId, PortId)| {
            whole.is_switch(whole.node_of(a)) && whole.is_switch(whole.node_of(b))
        };
        let links: Vec<(PortId, PortId)> = whole.links().filter(between).collect();
        let lost = links.iter().step_by((links.len() / self.failures.max(1)).max(1)).take(self.failures);
        let (mut tables, mut taken, mut patches) = (routes.tables.clone(), Vec::new(), Vec::new());
        let (mut anew_s, mut anew_blocks, mut tried) = (Vec::new(), Vec::new(), 0);
        for &(a, b) in lost {
            tried += 1;
            let mut fabric = whole.clone();
            fabric.disconnect(a);
            let nodes = [whole.node_of(a), whole.node_of(b)];
            if anew_s.len() < self.anew {
                let start = Instant::now();
                let (new, _) = anew(&fabric, engine)?;
                anew_s.push(start.elapsed().as_secs_f64());
                anew_blocks.push(new.tables.changed_blocks(&routes.tables).count() as f64);
            }
            let start = Instant::now();
            let patch = keeper.repair(&fabric, &tables, &nodes);
            let seconds = start.elapsed().as_secs_f64();
            match patch {
                Ok(patch) => {
                    taken.push(1000.0 * seconds);
                    write(&mut keeper, &mut tables, &patch);
                    patches.push((patch.entries().len(), patch.block_count(), patch.waves().count()));
                    let back = keeper.repair(whole, &tables, &nodes)?;
                    write(&mut keeper, &mut tables, &back);
                }
                Err(needs) => {
                    eprintln!("{name}, {engine}: {needs}, after {} ms", figure(1000.0 * seconds));
                    tables = routes.tables.clone();
                    let Some(fresh) = Repairer::new(whole, &routes) else { break };
                    keeper = fresh;
                }
            }
        }
        let middle =
            |of: fn(&(usize, usize, usize)) -> usize| median(patches.iter().map(|patch| of(patch) as f64));
        let (repair_ms, blocks) = (median(taken.iter().copied()), middle(|patch| patch.1));
        let (all_s, all_blocks) = (median(anew_s), median(anew_blocks));
        println!(
            "| {name}, {engine} | {}, {} | {} | {tried} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            grouped(whole.hosts().count() as u64),
            grouped(whole.switch_count() as u64),
            routes.lanes.count(),
            taken.len(),
            figure(repair_ms),
            figure(percentile(&taken, 0.99)),
            figure(middle(|patch| patch.0)),
            figure(blocks),
            figure(middle(|patch| patch.2)),
            figure(all_s),
            figure(all_blocks),
            figure(1000.0 * all_s / repair_ms),
            figure(all_blocks / blocks),
        );
        Ok(())
    }
}

/// All that a manager computes where nothing is repaired.
fn anew(fabric: &Fabric, engine: &str) -> anyhow::Result<(Routes, Option<Repairer>)> {
    let options = Options { most_lanes: LANES, ..Options::default() };
    let routes = engine_by_name(engine)?.route(fabric, &options)?;
    anyhow::ensure!(verify_routes(fabric, &routes).is_clean(), "{engine}'s tables are not sound");
    let repairer = Repairer::new(fabric, &routes);
    Ok((routes, repairer))
}

fn write(repairer: &mut Repairer, tables: &mut Tables, patch: &Patch) {
    for wave in patch.waves() {
        repairer.displace(tables, wave);
        Patch::apply(tables, wave);
    }
    repairer.settle();
}

fn with_lids(mut fabric: Fabric) -> Fabric {
    // Hosts first: the LIDs of each switch's hosts lie together.
    let (hosts, others): (Vec<PortId>, Vec<PortId>) = fabric.end_ports().partition(|&port| {
        let node: NodeId = fabric.node_of(port);
        !fabric.is_switch(node)
    });
    for (number, port) in hosts.into_iter().chain(others).enumerate() {
        fabric.set_lid(port, Lid(number as u32 + 1), 0);
    }
    fabric
}
