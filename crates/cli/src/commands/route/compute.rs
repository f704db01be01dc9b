//! `heddle route compute`: tables for a fabric, with their proof.

use clap::Args;
use fabric::Fabric;
use ib::Lid;
use routing::{Options, Routes, Verification};
use serde::Serialize;

use super::{TablesFormat, judge, tables_file};
use crate::Answer;
use crate::failure::Failure;
use crate::files;
use crate::style::Style;
use crate::table::{Side, Table};

/// Options of `heddle route compute`.
#[derive(Args)]
#[command(after_help = "Examples:\n  heddle route compute site.ibnetdiscover\n  \
    heddle route compute tree.net --engine min-hop -o opensm.fdbs")]
pub struct Compute {
    /// A topology file of any readable format; - is standard input. Ports without a LID get one
    file: String,
    /// Routing engine: auto, fat-tree, min-hop or up-down
    #[arg(long, default_value = "auto")]
    engine: String,
    /// Write the tables to this file: .fdbs gives OpenSM's form, anything else that of dump_lfts
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// Form of the tables, whatever the ending
    #[arg(long, value_enum, requires = "output")]
    format: Option<TablesFormat>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What was computed, for programs.
#[derive(Serialize)]
struct Computed {
    engine: String,
    topology: Option<String>,
    reason: Option<String>,
    seconds: f64,
    verify: Verification,
}

impl Compute {
    /// Computes, proves, prints, writes.
    pub fn run(self) -> Result<Answer, Failure> {
        let mut fabric = files::read_fabric(&self.file)?.fabric;
        assign_lids(&mut fabric, &self.file)?;
        let start = std::time::Instant::now();
        let (Routes { tables, .. }, engine, choice) = route(&fabric, &self.engine)?;
        let seconds = start.elapsed().as_secs_f64();
        let verify = routing::verify(&fabric, &tables);
        let answer = judge::answer(&verify);
        if let Some(path) = &self.output {
            let format = self.format.unwrap_or_else(|| TablesFormat::from_path_ending(path));
            files::write(path, tables_file::write(&fabric, &tables, format).as_bytes())?;
            // Tables on standard output leave no room for a report there.
            if path == "-" {
                return Ok(answer);
            }
        }
        if self.json {
            let (topology, reason) = choice.map(|choice| (choice.topology, choice.reason)).unzip();
            files::print_json(&Computed { engine, topology, reason, seconds, verify })?;
            return Ok(answer);
        }
        let mut table = Table::new([Side::Left, Side::Left]);
        if let Some(choice) = choice {
            table
                .row(["topology", &choice.topology])
                .row(["engine", &format!("{engine}: {}", choice.reason)]);
        } else {
            table.row(["engine", &engine]);
        }
        table.row(["computed in", &crate::style::seconds(seconds)]);
        judge::rows(&mut table, &verify, Style::stdout());
        files::write("-", table.render(0).as_bytes())?;
        Ok(answer)
    }
}

fn route(fabric: &Fabric, engine: &str) -> Result<(Routes, String, Option<routing::Choice>), Failure> {
    if engine == "auto" {
        let (routes, choice) = routing::auto(fabric, &Options::default())?;
        return Ok((routes, choice.engine.to_owned(), Some(choice)));
    }
    let engine = routing::engine_by_name(engine)?;
    Ok((engine.route(fabric, &Options::default())?, engine.name().to_owned(), None))
}

/// Gives every end port without a LID the smallest one that is free.
fn assign_lids(fabric: &mut Fabric, file: &str) -> Result<(), Failure> {
    let ports: Vec<_> = fabric.end_ports().collect();
    let mut used = vec![false; Lid::WIDE_UNICAST_MAX.0 as usize + 1];
    for &port in &ports {
        for lid in routing::tables::lids_of(fabric, port) {
            used[lid as usize] = true;
        }
    }
    let mut next = 1;
    for &port in &ports {
        if fabric.lid(port) != Lid::NONE {
            continue;
        }
        while used.get(next) == Some(&true) {
            next += 1;
        }
        if next >= used.len() {
            return Err(Failure::new(
                format!(
                    "{} end ports need a LID, and even wide addressing has {}",
                    ports.len(),
                    used.len() - 1
                ),
                file,
                "split the fabric into subnets",
            ));
        }
        used[next] = true;
        fabric.set_lid(port, Lid(next as u32), 0);
    }
    Ok(())
}
