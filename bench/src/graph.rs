//! How long a fabric of more than 130,000 nodes and 400,000 links takes to build.

use std::time::Instant;

use fabric::generate::FatTreeSpec;

use crate::Common;
use crate::statistics::{figure, grouped, median, range};

/// Measures and prints a table.
pub fn run(common: &Common) -> anyhow::Result<()> {
    // Three full levels: 2 x 41^3 hosts and 5 x 41^2 switches.
    let radix = if common.quick { 16 } else { 82 };
    let spec = FatTreeSpec { levels: Some(3), radix, ..FatTreeSpec::default() };
    let mut seconds = Vec::new();
    let mut built = None;
    for _ in 0..common.runs() {
        drop(built.take());
        let start = Instant::now();
        let fabric = spec.build()?;
        seconds.push(start.elapsed().as_secs_f64());
        built = Some(fabric);
    }
    let Some(fabric) = built else { return Ok(()) };
    fabric.check_invariants();
    let (low, high) = range(seconds.iter().copied());
    println!("### The graph, median of {}\n", common.runs());
    println!("| nodes | links | s | range |\n| --- | --- | --- | --- |");
    println!(
        "| {} | {} | {} | {} to {} |\n",
        grouped(fabric.node_count() as u64),
        grouped(fabric.link_count() as u64),
        figure(median(seconds)),
        figure(low),
        figure(high)
    );
    Ok(())
}
