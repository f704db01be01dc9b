//! How many MADs a second ibsim answers, by the number under way: what a bring-up on it cannot outrun.

use std::time::Instant;

use anyhow::Context;
use fabric::formats::{self, Format};
use ib::{AttributeId, DirectedRoute, Mad, Method};

use crate::exchange::{exchange, routes};
use crate::ibsim::Ibsim;
use crate::statistics::{figure, grouped, median};
use crate::{Common, trees};

const WINDOWS: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// Measures and prints a table.
pub fn run(common: &Common) -> anyhow::Result<()> {
    let fabric = trees::tree(if common.quick { 648 } else { 1944 })?;
    let count = if common.quick { 10_000 } else { 200_000 };
    let folder = tempfile::tempdir()?;
    let net = folder.path().join("fabric.net");
    std::fs::write(&net, formats::write(&fabric, Format::IbsimNet)?)?;
    let ibsim = Ibsim::start(&net, &fabric, folder.path())?;
    let mut client = ibsim.client()?;
    let seat = fabric.hosts().next().context("no host")?;
    let routes = routes(&fabric, seat);
    let far = routes.iter().flatten().max_by_key(|route| route.hops().len()).copied().unwrap_or_default();
    let (near_hops, far_hops) = (0, far.hops().len());

    let mut measure = |route: &DirectedRoute, window: usize| -> anyhow::Result<(f64, f64)> {
        let (mut rates, mut costs) = (Vec::new(), Vec::new());
        for _ in 0..common.runs() {
            let mut requests = (0..count / if window == 1 { 8 } else { 1 })
                .map(|tid| Mad::directed(Method::GET, AttributeId::NODE_INFO, 0, route, tid, 0));
            let (start, before) = (Instant::now(), ibsim.processor_seconds()?);
            let answers = exchange(&mut client, &mut requests, window, &mut |_, _| {})?;
            rates.push(answers as f64 / start.elapsed().as_secs_f64());
            costs.push((ibsim.processor_seconds()? - before) * 1e6 / answers as f64);
        }
        Ok((median(rates), median(costs)))
    };
    println!("### ibsim's own rate, {}, median of {}\n", trees::describe(&fabric), common.runs());
    println!(
        "| MADs under way | {near_hops} hops: MADs a second | ibsim's processor us a MAD | {far_hops} hops: MADs a second | ibsim's processor us a MAD |"
    );
    println!("| --- | --- | --- | --- | --- |");
    for window in WINDOWS {
        let (near, far) = (measure(&DirectedRoute::LOCAL, window)?, measure(&far, window)?);
        println!(
            "| {window} | {} | {} | {} | {} |",
            grouped(near.0 as u64),
            figure(near.1),
            grouped(far.0 as u64),
            figure(far.1)
        );
    }
    println!("\nNodeInfo by directed route, through the socket.\n");
    Ok(())
}
