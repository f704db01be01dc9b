//! What is measured of tables, for people and programs: the verdict, and how well they use the links.

use fabric::Fabric;
use routing::quality::permutations::PERMUTATIONS;
use routing::{Bounds, LinkLoad, PermutationLoad, ShiftLoad, Tables, Verification};
use serde::Serialize;

use super::judge;
use super::progress::Progress;
use crate::style::{Style, count, thousands};
use crate::table::Table;

/// What the permutations are drawn from: everybody's figures are of the same ones.
const SEED: u64 = 1;

/// All figures. Their JSON is flat: the verdict's keys stand beside the others.
#[derive(Serialize)]
pub struct Figures {
    switches: usize,
    lids: u64,
    virtual_lanes: u8,
    /// The verdict.
    #[serde(flatten)]
    pub verdict: Verification,
    load: Load,
    bounds: Bounds,
}

#[derive(Serialize)]
struct Load {
    all_to_all: LinkLoad,
    shifts: ShiftLoad,
    permutations: PermutationLoad,
}

impl Figures {
    /// Measures tables whose verdict is known.
    pub fn measure(
        fabric: &Fabric,
        tables: &Tables,
        verdict: Verification,
        virtual_lanes: u8,
        progress: &Progress,
    ) -> Self {
        progress.say("counting paths: all to all");
        let all_to_all = routing::link_load(fabric, tables);
        progress.say("counting paths: every shift");
        let shifts = routing::shift_load(fabric, tables);
        progress.say("counting paths: permutations");
        let permutations = routing::permutation_load(fabric, tables, PERMUTATIONS, SEED);
        progress.say("looking for what no tables could beat");
        let bounds = routing::bounds(fabric, PERMUTATIONS, SEED);
        let lids = fabric.end_ports().map(|port| routing::tables::lids_of(fabric, port).len() as u64).sum();
        let load = Load { all_to_all, shifts, permutations };
        Self { switches: fabric.switch_count(), lids, virtual_lanes, verdict, load, bounds }
    }

    /// Adds a row for each figure.
    pub fn rows(&self, table: &mut Table) {
        judge::rows(table, &self.verdict, self.virtual_lanes, Style::stdout());
        let Load { all_to_all, shifts, permutations } = &self.load;
        if all_to_all.max == 0 {
            return;
        }
        let at_least = |bound: u64| {
            if bound > 0 { format!("; no tables below {}", thousands(bound)) } else { String::new() }
        };
        table.row([
            "all to all".to_owned(),
            format!(
                "{} on a link at most, {} at the 99th percentile, {:.0} on average{}",
                count(all_to_all.max, "path"),
                thousands(all_to_all.p99),
                all_to_all.mean,
                at_least(self.bounds.all_to_all)
            ),
        ]);
        if all_to_all.max_by_speed > all_to_all.max as f64 {
            let text =
                format!("{:.0} on a link at most where slower links count more", all_to_all.max_by_speed);
            table.row([String::new(), text]);
        }
        table.row([
            "every shift".to_owned(),
            format!("{} on a link at most{}", count(shifts.max, "path"), at_least(self.bounds.shifts)),
        ]);
        table.row([
            format!("{} permutations", thousands(permutations.count.into())),
            format!(
                "{:.1} % of the bandwidth, {:.1} % in the worst; at most {}; no tables above {:.1} %",
                100.0 * permutations.effective_bandwidth,
                100.0 * permutations.worst,
                count(permutations.max, "path"),
                100.0 * self.bounds.effective_bandwidth
            ),
        ]);
    }
}
