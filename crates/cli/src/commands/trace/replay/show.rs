//! What a replay shows, as text.

use pool::Stock;

use super::figures::{Figures, Gangs};
use super::site::Described;
use crate::style::{Style, count, seconds, thousands};
use crate::table::{Side, Table};

/// Policies side by side.
pub fn render(stock: &Stock, fabric: Option<&Described>, policies: &[Figures], style: Style) -> String {
    let inflated = policies.iter().any(|figures| figures.gpu_allocated_percent_at_full.is_some());
    let mut text =
        format!("{}, {}\n\n", count(stock.len() as u64, "node"), count(stock.gpu_count() as u64, "GPU"));
    let percent = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.2} %"));
    // Where GPUs are shared, more of them are occupied than used.
    let occupied = |figures: &Figures| {
        figures.gpu_occupied_percent_mean.filter(|&occupied| Some(occupied) > figures.gpu_used_percent_mean)
    };
    let is_shared = policies.iter().any(|figures| occupied(figures).is_some());
    let titles: Vec<&str> = if inflated {
        vec!["policy", "allocated at full", "tasks", "failed", "computed in"]
    } else {
        let (used, rest) = (
            ["policy", "GPUs used"],
            [
                "while any waits",
                "wait mean",
                "half",
                "99 %",
                "completion",
                "slowdown",
                "failed",
                "computed in",
            ],
        );
        used.into_iter().chain(is_shared.then_some("occupied")).chain(rest).collect()
    };
    let mut sides = vec![Side::Right; titles.len()];
    sides[0] = Side::Left;
    let mut table = Table::new(sides);
    table.row(titles.into_iter().map(|title| style.dim(title)));
    for figures in policies {
        let policy = figures.policy.clone();
        let failed = thousands(figures.failed.round() as u64);
        let took = seconds(figures.seconds);
        match (inflated, figures.waiting_s, figures.completion_s, figures.bounded_slowdown) {
            (false, Some(waiting), Some(completion), Some(slowdown)) => {
                let used = [policy, percent(figures.gpu_used_percent_mean)];
                let rest = [
                    percent(figures.gpu_used_percent_while_waiting),
                    seconds(waiting.mean),
                    seconds(waiting.median),
                    seconds(waiting.p99),
                    seconds(completion.mean),
                    format!("{:.2}", slowdown.mean),
                    failed,
                    took,
                ];
                let occupied = is_shared.then(|| percent(figures.gpu_occupied_percent_mean));
                table.row(used.into_iter().chain(occupied).chain(rest))
            }
            _ => table.row([
                policy,
                percent(figures.gpu_allocated_percent_at_full),
                thousands(figures.jobs.round() as u64),
                failed,
                took,
            ]),
        };
    }
    text += &table.render(2);
    if let Some(fabric) = fabric {
        text += "\n";
        text += &network(fabric, policies, style);
    }
    for never in policies.first().map_or(&[][..], |figures| &figures.failures) {
        text += &format!(
            "\n  {} can never run, first {}: {}\n",
            count(never.jobs as u64, "job"),
            never.first,
            never.why
        );
    }
    text
}

/// How the gangs lay in the network, policies side by side.
fn network(fabric: &Described, policies: &[Figures], style: Style) -> String {
    let Described { file, engine, leaves, pods, collective, .. } = fabric;
    let gbps = (fabric.collective_gbps * 100.0).round() / 100.0;
    let mut text = format!("  fabric {file}: ");
    if let Some(topology) = &fabric.topology {
        text += &format!("{topology}, ");
    }
    text += &format!(
        "routed by {engine}; the nodes are on {leaves} {} in {}\n",
        if *leaves == 1 { "leaf" } else { "leaves" },
        count(*pods as u64, "pod"),
    );
    if fabric.bound == "in-order" {
        text += "  no node is called as a host of the fabric: nodes are bound to hosts in the order of the hosts' names\n";
    } else if fabric.nodes_outside > 0 {
        text += &format!("  the fabric does not show {}\n", count(fabric.nodes_outside as u64, "node"));
    }
    text += &format!(
        "  gangs are taken to send as {collective} with {gbps} Gbit/s of data a node; their run times stay as they are\n\n",
    );
    let titles = [
        "policy",
        "gangs",
        "leaves mean",
        "95 %",
        "in one leaf",
        "in one pod",
        "hops mean",
        "95 %",
        "gang's fullest link",
        "95 %",
        "fullest of all links",
    ];
    let mut sides = vec![Side::Right; titles.len()];
    sides[0] = Side::Left;
    let mut table = Table::new(sides);
    table.row(titles.map(|title| style.dim(title)));
    let mut lost = 0;
    for figures in policies {
        let Some(Gangs { figures: gangs, .. }) = &figures.gangs else { continue };
        let percent = |value: f64| format!("{value:.1} %");
        lost = lost.max(gangs.without_way);
        table.row([
            figures.policy.clone(),
            thousands(gangs.starts),
            format!("{:.2}", gangs.leaves.mean),
            format!("{:.0}", gangs.leaves.p95),
            percent(gangs.one_leaf_percent),
            percent(gangs.one_pod_percent),
            format!("{:.2}", gangs.hops.mean),
            format!("{:.2}", gangs.hops.p95),
            percent(gangs.gang_link_percent.mean),
            percent(gangs.gang_link_percent.p95),
            percent(gangs.fullest_link_percent_mean),
        ]);
    }
    text += &table.render(2);
    if lost > 0 {
        text += &format!("\n  for up to {} the routes have no way between some parts\n", count(lost, "gang"));
    }
    text
}
