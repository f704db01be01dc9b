//! `heddle route compute`: tables for a fabric, with their proof and figures.

use clap::Args;
use fabric::Fabric;
use routing::engines::FromTables;
use routing::{Choice, Engine, Options, Routes, Verification};
use serde::Serialize;

use super::figures::Figures;
use super::progress::Progress;
use super::wishes::Wishes;
use super::{TablesFormat, addresses, groups_file, judge, tables_file};
use crate::Answer;
use crate::failure::Failure;
use crate::files;
use crate::table::{Side, Table};

/// Options of `heddle route compute`.
#[derive(Args)]
// Where these options stand without a verb, the file tells that they were given.
#[group(arg = "file")]
#[command(after_help = "Examples:\n  heddle route site.ibnetdiscover\n  \
    heddle route tree.net --engine min-hop -o opensm.fdbs\n  \
    heddle route site.lst --engine file --tables opensm.fdbs --json\n  \
    heddle route site.ibnetdiscover --io-nodes storage.guids --weight 'nas-1 mlx5_0=8'\n\n\
    Exit code 1: something is wrong with the tables.")]
pub struct Compute {
    /// A topology file of any readable format; - is standard input. Ports without a LID get one
    file: String,
    /// Routing engine: auto, fat-tree, min-hop, up-down, down-up; over several virtual lanes layered, nue, torus,
    /// dragonfly-plus; or file with --tables
    #[arg(long, default_value = "auto")]
    engine: String,
    /// Of --engine file: the tables to take, as dump_lfts or OpenSM wrote them; min-hop serves destinations that they do
    /// not reach from everywhere
    #[arg(long, value_name = "DUMP")]
    tables: Option<String>,
    /// Write the tables to this file: .fdbs gives OpenSM's form, anything else that of dump_lfts
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// Form of the tables, whatever the ending
    #[arg(long, value_enum, requires = "output")]
    format: Option<TablesFormat>,
    /// Write adaptive-routing groups to this file: for each pair of switches all equal next ports. The standard has no
    /// attribute for them, so on standard hardware they stay off; they are for simulators and for devices that take them
    #[arg(long, value_name = "FILE")]
    adaptive_groups: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    wishes: Wishes,
}

/// What was computed, for programs.
#[derive(Serialize)]
struct Computed {
    engine: String,
    topology: Option<String>,
    reason: Option<String>,
    seconds: f64,
    #[serde(flatten)]
    figures: Figures,
    /// The verdict's keys once more, where they stood first.
    verify: Verification,
}

impl Compute {
    /// Computes, proves, measures, prints, writes.
    pub fn run(self) -> Result<Answer, Failure> {
        let progress = Progress::new();
        progress.say("reading");
        let mut fabric = files::read_fabric(&self.file)?.fabric;
        addresses::assign(&mut fabric, self.wishes.lmc, &self.file)?;
        let options = self.wishes.options(&fabric, &self.engine)?;
        let given = self.given(&fabric)?;
        progress.say("computing tables");
        let start = std::time::Instant::now();
        let (routes, engine, choice) = self.route(&fabric, &options, given)?;
        let seconds = start.elapsed().as_secs_f64();
        progress.say("proving");
        let verdict = routing::verify_routes(&fabric, &routes);
        let answer = judge::answer(&verdict);
        if let Some(path) = &self.adaptive_groups {
            let groups = routing::adaptive_groups(&fabric, &options, &routes)
                .map_err(|error| Failure::new(error.to_string(), "--adaptive-groups", ""))?;
            files::write(path, groups_file::write(&fabric, &engine, &groups).as_bytes())?;
            if path == "-" {
                return Ok(answer);
            }
        }
        if let Some(path) = &self.output {
            let format = self.format.unwrap_or_else(|| TablesFormat::from_path_ending(path));
            files::write(path, tables_file::write(&fabric, &routes.tables, format).as_bytes())?;
            // Tables on standard output leave no room for a report there.
            if path == "-" {
                return Ok(answer);
            }
        }
        let verify = verdict.clone();
        let figures = Figures::measure(&fabric, &routes.tables, verdict, routes.lanes.count(), &progress);
        drop(progress);
        if self.json {
            let (topology, reason) = choice.map(|choice| (choice.topology, choice.reason)).unzip();
            files::print_json(&Computed { engine, topology, reason, seconds, figures, verify })?;
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
        figures.rows(&mut table);
        files::write("-", table.render(0).as_bytes())?;
        Ok(answer)
    }

    /// The engine that takes tables as they are, where it was asked for.
    fn given(&self, fabric: &Fabric) -> Result<Option<FromTables>, Failure> {
        match (&*self.engine, &self.tables) {
            ("file", Some(path)) => Ok(Some(FromTables::new(tables_file::load(path, fabric)?))),
            ("file", None) => Err(Failure::new(
                "the engine 'file' takes its tables from a file",
                "--engine file",
                "name what dump_lfts or OpenSM wrote: --tables opensm.fdbs",
            )),
            (_, Some(_)) => {
                let help = "give --engine file as well, or leave it out";
                Err(Failure::new("only the engine 'file' takes tables", "--tables", help))
            }
            (_, None) => Ok(None),
        }
    }

    fn route(
        &self,
        fabric: &Fabric,
        options: &Options,
        given: Option<FromTables>,
    ) -> Result<(Routes, String, Option<Choice>), Failure> {
        if let Some(engine) = given {
            return Ok((engine.route(fabric, options)?, engine.name().to_owned(), None));
        }
        by_engine(fabric, options, &self.engine)
    }
}

/// Routes by an engine, `auto` or one by name: the routes, whose they are, and why `auto` chose that one.
pub fn by_engine(
    fabric: &Fabric,
    options: &Options,
    engine: &str,
) -> Result<(Routes, String, Option<Choice>), Failure> {
    if engine == "auto" {
        let (routes, choice) = routing::auto(fabric, options)?;
        return Ok((routes, choice.engine.to_owned(), Some(choice)));
    }
    let engine = routing::engine_by_name(engine).map_err(|error| {
        Failure::new(error.to_string(), "--engine", "give one of these or auto; heddle route also takes file")
    })?;
    Ok((engine.route(fabric, options)?, engine.name().to_owned(), None))
}
