//! The published experiment: tasks arrive one by one and none leaves, until the GPUs asked for are so many times those of
//! the cluster.
//!
//! As in the published simulator (hkust-adsl/kubernetes-scheduler-simulator, Apache 2.0) every task of the file comes once,
//! in an order drawn from the seed; then tasks are drawn with replacement until the demand is reached. Where the file has
//! more, the order is cut there.

use pool::Stock;
use pool::stock::Demand;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use serde::Serialize;

use crate::placement::{Classes, Cluster, Mix};
use crate::policy::{Kind, Policy};
use crate::random::{below, shuffle};

/// A point of the course: what had arrived and what was allocated, in per cent of all GPUs.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Point {
    /// Demand for GPUs that had arrived.
    pub arrived_percent: f64,
    /// GPUs that were allocated.
    pub allocated_percent: f64,
    /// GPUs that were left, but of no use to a task drawn from the mix.
    pub fragmented_percent: f64,
}

/// How an experiment went.
#[derive(Clone, PartialEq, Debug)]
pub struct Inflated {
    /// Tasks that arrived.
    pub tasks: usize,
    /// Tasks that no node had room for.
    pub failed: usize,
    /// GPUs allocated, in per cent, when the demand that had arrived was all GPUs.
    pub allocated_percent_at_full: f64,
    /// GPUs allocated, in per cent, at the end.
    pub allocated_percent_at_end: f64,
    /// The course, a point for each per cent of demand.
    pub course: Vec<Point>,
}

/// The order in which tasks arrive, by their places in `demands`.
pub fn draw(demands: &[Demand], gpu_milli: u64, times: f64, seed: u64) -> Vec<u32> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let wanted = gpu_milli as f64 * times;
    let mut order: Vec<u32> = (0..demands.len() as u32).collect();
    shuffle(&mut random, &mut order);
    let milli = |task: u32| f64::from(demands[task as usize].gpu_milli_total());
    let mut sum = 0.0;
    let kept = order.iter().take_while(|&&task| {
        sum += milli(task);
        sum <= wanted
    });
    let kept = kept.count();
    order.truncate(kept);
    if sum <= wanted && demands.iter().any(|demand| demand.gpu_milli_total() > 0) {
        while let Some(task) = below(&mut random, demands.len()) {
            sum += milli(task as u32);
            if sum > wanted {
                break;
            }
            order.push(task as u32);
        }
    }
    order
}

/// The nodes in an order drawn from a seed: it decides between nodes that are as good.
fn shuffled(stock: &Stock, seed: u64) -> Stock {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(!seed);
    let mut nodes: Vec<_> = stock.nodes().collect();
    shuffle(&mut random, &mut nodes);
    stock.reordered(&nodes)
}

/// Lets the tasks of `demands` arrive until they want `times` all GPUs of the stock.
pub fn inflate(stock: &Stock, demands: &[Demand], times: f64, kind: Kind, seed: u64) -> Inflated {
    let stock = &shuffled(stock, seed);
    let all = stock.gpu_taken_total_milli() + stock.gpu_free_total_milli();
    let order = draw(demands, all, times, seed);
    let mix = Mix::new(demands, stock.models().len());
    let mut classes = Classes::default();
    let class: Vec<_> = demands.iter().map(|demand| classes.class(demand)).collect();
    let mut policy = Policy::new(kind, stock, demands, seed);
    let mut cluster = Cluster::new(stock.clone(), kind.keeps_sizes());
    let percent = |milli: u64| if all == 0 { 0.0 } else { milli as f64 * 100.0 / all as f64 };
    let (mut arrived, mut failed, mut at_full) = (0_u64, 0, 0.0);
    let mut course: Vec<Point> = Vec::new();
    for &task in &order {
        arrived += u64::from(demands[task as usize].gpu_milli_total());
        let grant = policy.choose(&cluster, &classes, class[task as usize]);
        if grant.is_none_or(|grant| cluster.allocate(&grant).is_err()) {
            failed += 1;
        }
        let allocated_percent = percent(cluster.stock().gpu_taken_total_milli());
        if arrived <= all {
            at_full = allocated_percent;
        }
        let arrived_percent = percent(arrived);
        if arrived_percent.floor() >= course.len() as f64 {
            let fragmented: f64 = cluster
                .groups()
                .iter()
                .map(|group| mix.fragmentation(&group.state) * group.nodes().len() as f64)
                .sum();
            let fragmented_percent = fragmented * 100.0 / (all.max(1)) as f64;
            course.push(Point { arrived_percent, allocated_percent, fragmented_percent });
        }
    }
    Inflated {
        tasks: order.len(),
        failed,
        allocated_percent_at_full: at_full,
        allocated_percent_at_end: percent(cluster.stock().gpu_taken_total_milli()),
        course,
    }
}
