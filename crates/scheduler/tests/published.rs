//! The published comparison of policies on openb, held: `../shared/traces/openb/README.md` has the figures and their source.
//! The files are not part of this repository; without them the test says so and passes.
// A test's own door to its data, and to the person who runs it.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use std::path::PathBuf;

use pool::Stock;
use pool::formats::Beside;
use pool::stock::Demand;
use scheduler::policy::Kind;
use scheduler::replay::inflate::inflate;
use scheduler::trace::{ReadOptions, openb};

fn openb_file(name: &str) -> Option<Vec<u8>> {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared"));
    let shared = std::env::var_os("HEDDLE_SHARED").map_or_else(beside, PathBuf::from);
    let bytes = std::fs::read(shared.join("traces/openb").join(name)).ok();
    if bytes.is_none() {
        println!("skipped: no shared data");
    }
    bytes
}

fn load(tasks: &str) -> Option<(Stock, Vec<Demand>)> {
    let nodes = openb_file("openb_node_list_gpu_node.csv")?;
    let (site, _) = pool::formats::read("nodes", &nodes, &Beside::default()).unwrap();
    let stock = Stock::of(&site.pool).unwrap();
    let options = ReadOptions { times_wanted: false, ..ReadOptions::default() };
    let trace = openb::jobs(tasks, &openb_file(&format!("openb_pod_list_{tasks}.csv"))?, options).unwrap();
    let demands = trace.demands(&stock);
    Some((stock, demands))
}

/// The mean of some seeds. What arrives beyond all GPUs does not change the figure.
fn mean(stock: &Stock, demands: &[Demand], kind: Kind, seeds: u64) -> f64 {
    let one = |seed| inflate(stock, demands, 1.0, kind, seed).allocated_percent_at_full;
    (0..seeds).map(one).sum::<f64>() / seeds as f64
}

/// Per cent of all GPUs allocated when the demand that arrived is all of them, by tasks and policy; mean of 10 seeds.
const PUBLISHED: [(&str, [(Kind, f64); 6]); 5] = {
    use Kind::{BestFit, DotProduct, Fgd, GpuClustering, GpuPacking, Random};
    const fn row(figures: [f64; 6]) -> [(Kind, f64); 6] {
        [
            (Random, figures[0]),
            (DotProduct, figures[1]),
            (GpuClustering, figures[2]),
            (GpuPacking, figures[3]),
            (BestFit, figures[4]),
            (Fgd, figures[5]),
        ]
    }
    [
        ("default", row([86.30, 90.62, 91.65, 91.78, 92.86, 95.23])),
        ("cpu250", row([80.00, 83.57, 87.75, 88.05, 91.21, 93.20])),
        ("gpushare100", row([78.90, 81.98, 82.22, 82.13, 84.62, 86.64])),
        ("gpuspec33", row([83.87, 79.82, 81.09, 82.22, 80.40, 87.84])),
        ("multigpu50", row([81.28, 94.73, 95.69, 96.06, 95.62, 97.09])),
    ]
};

#[test]
fn six_policies_come_out_as_published() {
    for (tasks, figures) in PUBLISHED {
        let Some((stock, demands)) = load(tasks) else { return };
        for (kind, published) in figures {
            let found = mean(&stock, &demands, kind, 2);
            println!("{tasks} {}: {found:.2}, published {published:.2}", kind.name());
            assert!((found - published).abs() < 0.9, "{tasks} {}: {found:.2}, {published:.2}", kind.name());
        }
    }
}

#[test]
fn heddles_policy_is_better_than_fgd() {
    // By how much at least, on the same draws.
    let ahead =
        [("default", 0.6), ("cpu250", 2.0), ("gpushare100", 1.0), ("gpuspec33", 4.0), ("multigpu50", 0.2)];
    for (tasks, least) in ahead {
        let Some((stock, demands)) = load(tasks) else { return };
        let [fgd, heddle] = [Kind::Fgd, Kind::Heddle].map(|kind| mean(&stock, &demands, kind, 2));
        println!("{tasks}: heddle {heddle:.2}, FGD {fgd:.2}");
        assert!(heddle > fgd + least, "{tasks}: heddle {heddle:.2}, FGD {fgd:.2}");
    }
}
