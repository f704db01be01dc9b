//! How the gangs of a replay lie in the network, whoever placed them: by one measure for schedulers that know the fabric and
//! for those that do not.
//!
//! A gang is a job that needs several parts; it is measured whenever it starts. What its collectives send is followed through
//! the programmed tables. Its ranks are in the order in which the scheduler gave it nodes where that knows the fabric, else in the
//! order of the nodes' list, as Slurm numbers them.
//!
//! Only links between switches count: a host's own link bears what the host sends wherever it is. The loads are what gangs would
//! send if nothing held them up; a link above 100 per cent is one that holds them up. Run times are those of the trace
//! whatever the links bear.

use pool::NodeIndex;
use serde::Serialize;

use fabric::PortId;

use crate::job::JobIndex;
use crate::network::{Level, Load, Spread as Strewn, Topology};
use crate::schedule::Scheduler;
use crate::simulate::{Spread, Watch};

/// How the gangs lay.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct GangFigures {
    /// How often a gang started.
    pub starts: u64,
    /// Leaf groups that a gang touched.
    pub leaves: Spread,
    /// Gangs in one leaf group, in per cent.
    pub one_leaf_percent: f64,
    /// Gangs in one pod, in per cent.
    pub one_pod_percent: f64,
    /// Switches on the way between two parts of a gang, its mean over all pairs.
    pub hops: Spread,
    /// How full the fullest of a gang's links between switches was when it started, beside all that ran, in per cent; 0 for a
    /// gang that needs none.
    pub gang_link_percent: Spread,
    /// How full the fullest link between switches of the whole fabric was, mean over the time, in per cent.
    pub fullest_link_percent_mean: f64,
    /// The most that it ever was.
    pub fullest_link_percent_max: f64,
    /// Starts of gangs for some of whose traffic the tables have no way.
    pub without_way: u64,
}

impl GangFigures {
    /// The means of several runs, figure by figure; nothing of none.
    pub fn mean(runs: &[Self]) -> Option<Self> {
        let number = runs.len() as f64;
        let mean = |value: fn(&Self) -> f64| runs.iter().map(value).sum::<f64>() / number;
        let spread = |value: fn(&Self) -> Spread| {
            let spreads: Vec<Spread> = runs.iter().map(value).collect();
            Spread::mean_of(&spreads)
        };
        Some(Self {
            starts: mean(|run| run.starts as f64).round() as u64,
            leaves: spread(|run| run.leaves)?,
            one_leaf_percent: mean(|run| run.one_leaf_percent),
            one_pod_percent: mean(|run| run.one_pod_percent),
            hops: spread(|run| run.hops)?,
            gang_link_percent: spread(|run| run.gang_link_percent)?,
            fullest_link_percent_mean: mean(|run| run.fullest_link_percent_mean),
            fullest_link_percent_max: mean(|run| run.fullest_link_percent_max),
            without_way: mean(|run| run.without_way as f64).round() as u64,
        })
    }
}

/// Watches a simulation and measures its gangs.
#[derive(Clone, Debug)]
pub struct GangWatch {
    topology: Topology,
    /// Ports of links between switches.
    between: Vec<PortId>,
    is_between: Vec<bool>,
    /// What each job puts on links, by the scheduler's numbers; nothing for one that is no gang or holds nothing.
    loads: Vec<Option<Load>>,
    leaves: Vec<f64>,
    hops: Vec<f64>,
    link: Vec<f64>,
    one_leaf: u64,
    one_pod: u64,
    without_way: u64,
    /// The fullest link as of the last look, and whether loads have changed since.
    fullest: f64,
    stale: bool,
    most: f64,
    /// Fullness times time, in milliseconds, and the time.
    full_ms: f64,
    passed_ms: u64,
}

impl GangWatch {
    /// A watch over a network on which nothing runs.
    pub fn new(topology: Topology) -> Self {
        let fabric = topology.fabric();
        let switch_port = |&port: &PortId| fabric.is_switch(fabric.node_of(port));
        let between: Vec<PortId> = fabric
            .links()
            .flat_map(|(one, other)| [(one, other), (other, one)])
            .filter(|(one, other)| switch_port(one) && switch_port(other))
            .map(|(one, _)| one)
            .collect();
        let mut is_between = vec![false; fabric.port_slot_count()];
        between.iter().for_each(|port| is_between[port.index()] = true);
        Self {
            topology,
            between,
            is_between,
            loads: Vec::new(),
            leaves: Vec::new(),
            hops: Vec::new(),
            link: Vec::new(),
            one_leaf: 0,
            one_pod: 0,
            without_way: 0,
            fullest: 0.0,
            stale: false,
            most: 0.0,
            full_ms: 0.0,
            passed_ms: 0,
        }
    }

    fn enter(&mut self, scheduler: &Scheduler, job: JobIndex) -> Option<Load> {
        let wanted = scheduler.job(job).filter(|job| job.parts > 1)?;
        let mut seats: Vec<(NodeIndex, u32)> = Vec::new();
        for grant in scheduler.grants(job) {
            match seats.iter_mut().find(|seat| seat.0 == grant.node) {
                Some(seat) => seat.1 += 1,
                None => seats.push((grant.node, 1)),
            }
        }
        if seats.is_empty() {
            return None;
        }
        if scheduler.network().is_none() {
            seats.sort_unstable();
        }
        let ranks: Vec<NodeIndex> = seats.iter().map(|&(node, _)| node).collect();
        let load = self.topology.load(&ranks, &wanted.traffic);
        self.topology.start(&load);
        Some(load)
    }

    /// Counts a gang that has just started.
    fn count(&mut self, scheduler: &Scheduler, job: JobIndex, load: &Load) {
        let mut seats: Vec<(NodeIndex, u32)> =
            scheduler.grants(job).iter().map(|grant| (grant.node, 1)).collect();
        seats.sort_unstable();
        seats.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
        let strewn = Strewn::of(self.topology.locality(), &seats);
        self.leaves.push(f64::from(strewn.leaves));
        self.hops.push(strewn.mean_hops);
        self.one_leaf += u64::from(strewn.leaves == 1);
        self.one_pod += u64::from(strewn.pods == 1);
        self.without_way += u64::from(load.lost() > 0);
        let between = load.links().iter().map(|&(port, _)| port).filter(|port| self.is_between[port.index()]);
        let fullest = between.filter_map(|port| self.topology.fullness(port)).fold(0.0, f64::max);
        self.link.push(fullest * 100.0);
    }

    /// How full the fullest link is now.
    fn look(&mut self) {
        if self.stale {
            let fullness = |&port: &PortId| self.topology.fullness(port);
            self.fullest = self.between.iter().filter_map(fullness).fold(0.0, f64::max);
            self.most = self.most.max(self.fullest);
            self.stale = false;
        }
    }

    /// Groups of the network at a level that have nodes.
    pub fn group_count(&self, level: Level) -> usize {
        self.topology.locality().group_count(level)
    }

    /// What was seen.
    pub fn figures(&self) -> GangFigures {
        let starts = self.leaves.len() as u64;
        let percent = |part: u64| if starts > 0 { part as f64 * 100.0 / starts as f64 } else { 0.0 };
        let passed = self.passed_ms.max(1) as f64;
        GangFigures {
            starts,
            leaves: Spread::of(self.leaves.clone()),
            one_leaf_percent: percent(self.one_leaf),
            one_pod_percent: percent(self.one_pod),
            hops: Spread::of(self.hops.clone()),
            gang_link_percent: Spread::of(self.link.clone()),
            fullest_link_percent_mean: self.full_ms * 100.0 / passed,
            fullest_link_percent_max: self.most * 100.0,
            without_way: self.without_way,
        }
    }
}

impl Watch for GangWatch {
    fn holds(&mut self, scheduler: &Scheduler, job: JobIndex, _now_ms: u64) {
        if self.loads.len() <= job.index() {
            self.loads.resize(job.index() + 1, None);
        }
        let before = self.loads[job.index()].take();
        if let Some(before) = &before {
            self.topology.end(before);
        }
        let load = self.enter(scheduler, job);
        self.stale |= before.is_some() || load.is_some();
        if let Some(load) = load.as_ref().filter(|_| before.is_none()) {
            self.count(scheduler, job, load);
        }
        self.loads[job.index()] = load;
    }

    fn passes(&mut self, _scheduler: &Scheduler, from_ms: u64, until_ms: u64) {
        self.look();
        self.full_ms += self.fullest * (until_ms - from_ms) as f64;
        self.passed_ms += until_ms - from_ms;
    }
}
