//! `heddle drill`: failures on purpose from a seed, healed on an emulated fabric, each judged.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use drill::{Config, Drill, DrillError, Figures, Kind, Outcome, Record};
use fabric::Fabric;
use ib::wide::Addressing;
use indicatif::{ProgressBar, ProgressStyle};
use transport::Memory;

use super::up::duration;
use crate::Answer;
use crate::failure::Failure;
use crate::files;
use crate::style::{Style, count, seconds, thousands};
use crate::table::{Side, Table};

/// Steps that were not healed are told one by one up to this number.
const MOST_TOLD: usize = 10;

/// What becomes of the time that the manager computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum ComputeTime {
    /// It passes in the fabric too, as it would on hardware
    Counted,
    /// None passes: a seed then gives the same drill on every machine
    Free,
}

/// Options of `heddle drill`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  heddle fabric generate fat-tree --hosts 1024 --radix 32 -o tree.toml\n  \
    heddle drill tree.toml --failures 100 --seed 7           failures of every kind\n  \
    heddle drill tree.toml --kinds uplink,flap --json        only lost and flapping links, for programs\n  \
    heddle drill tree.toml --seed 7 --only 34                step 34 of that seed by itself\n\n\
    Exit codes: 0 all was healed, 1 something was not, 2 the request was wrong."
)]
pub struct DrillCommand {
    /// A topology file of any readable format; - is standard input
    file: String,
    /// How many failures; what comes back in between does not count
    #[arg(long, value_name = "N", default_value_t = 100)]
    failures: u32,
    /// What chance is drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Kinds of failures, as in link,host [default: all]. Kinds: link, uplink, switch, host, card, flap, several,
    /// during-heal, during-work, lost-mads, late-mads, restart, lost-trap
    #[arg(long, value_delimiter = ',', value_parser = kind)]
    kinds: Vec<Kind>,
    /// How many failures may be open at once: before the next, one of them is mended
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    open: u32,
    /// Hold this step alone, on the fabric as it stands before it; steps count from 1, mends among them
    #[arg(long, value_name = "STEP", value_parser = clap::value_parser!(u32).range(1..))]
    only: Option<u32>,
    /// Go on, with a fresh manager, after a step that was not healed
    #[arg(long)]
    keep_going: bool,
    /// Judge what all switches hold after every so many steps, instead of after each
    #[arg(long, value_name = "STEPS", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    judge_every: u32,
    /// Look for loops and credit loops after every single write to a table too; for small fabrics
    #[arg(long)]
    check_every_write: bool,
    /// What becomes of the time that the manager computes
    #[arg(long, value_enum, default_value_t = ComputeTime::Counted)]
    compute_time: ComputeTime,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Tell on standard error every step, and what the manager says meanwhile, with the emulated fabric's time
    #[arg(long)]
    events: bool,

    /// Time that a packet takes from port to port
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = duration, help_heading = "Fabric")]
    hop_latency: Duration,
    /// Time that a device takes to answer a request
    #[arg(long, value_name = "TIME", default_value = "20us", value_parser = duration, help_heading = "Fabric")]
    agent_time: Duration,
    /// Management packets that a port's buffers hold; more are dropped
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..), help_heading = "Fabric")]
    vl15_buffers: u8,
    /// The most MADs under way at once
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Subnet")]
    window: u32,
    /// Routing engine, as for heddle up
    #[arg(long, default_value = "auto", help_heading = "Subnet")]
    engine: String,
    /// Time between two light sweeps
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration, help_heading = "Subnet")]
    sweep: Duration,
}

fn kind(name: &str) -> Result<Kind, String> {
    Kind::by_name(name).ok_or_else(|| {
        let names: Vec<&str> = Kind::FAILURES.iter().map(|(_, name, _)| *name).collect();
        format!("no failure is called so: give some of {}", names.join(", "))
    })
}

impl DrillCommand {
    /// Holds the drill.
    pub fn run(self) -> Result<Answer, Failure> {
        if self.engine != "auto" {
            routing::engine_by_name(&self.engine)
                .map_err(|error| Failure::new(error.to_string(), "--engine", "give one of these, or auto"))?;
        }
        if self.sweep < Duration::from_millis(1) {
            return Err(Failure::new("no device answers in so short a time", "--sweep", "give 1ms or more"));
        }
        let fabric = files::read_fabric(&self.file)?.fabric;
        let no_seat =
            || Failure::new("there is no host and no switch in it", &self.file, "is it the right file?");
        let seat = Memory::seat(&fabric).ok_or_else(no_seat)?;
        let bar = std::io::stderr().is_terminal().then(|| bar(self.failures));
        let failed = |error: DrillError| self.failed(&error);
        let mut drill = Drill::new(&fabric, seat, self.config(&fabric)).map_err(failed)?;
        if self.events {
            drill.listen(Box::new(|time, event| {
                eprintln!("{time}  {}", serde_json::to_string(event).unwrap_or_default());
            }));
        }
        let outcome = drill.run(&mut |record, failures| {
            if self.events {
                eprintln!("step {} ({}), as above: {}", record.number, record.kind.name(), record.what);
            }
            if let Some(bar) = &bar {
                bar.set_position(failures.into());
                bar.set_message(record.what.clone());
            }
        });
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        let outcome = outcome.map_err(failed)?;
        if self.json {
            files::print_json(&outcome)?;
        } else {
            files::write("-", self.render(&fabric, &outcome, Style::stdout()).as_bytes())?;
        }
        let mut wrong = outcome.records.iter().filter(|record| record.wrong.is_some());
        for record in wrong.by_ref().take(MOST_TOLD) {
            eprint!("{}", tell(record, Style::stderr()));
        }
        match wrong.count() {
            0 => {}
            more => eprintln!("and {} more", count(more as u64, "step")),
        }
        Ok(if outcome.is_sound() { Answer::Yes } else { Answer::No })
    }

    fn config(&self, fabric: &Fabric) -> Config {
        // What 16-bit LIDs cannot address is emulated with 17-bit ones.
        let most = Addressing::Standard.unicast_max().0 as usize;
        let addressing =
            if fabric.end_ports().count() > most { Addressing::Wide } else { Addressing::Standard };
        let defaults = Config::default();
        Config {
            failures: self.failures,
            seed: self.seed,
            open: self.open,
            kinds: if self.kinds.is_empty() { defaults.kinds } else { self.kinds.clone() },
            only: self.only,
            keep_going: self.keep_going,
            judge_every: self.judge_every,
            check_every_write: self.check_every_write,
            clock: (self.compute_time == ComputeTime::Counted).then_some(Instant::now),
            emulated: emulator::Config {
                hop_latency: self.hop_latency,
                agent_time: self.agent_time,
                vl15_buffers: self.vl15_buffers,
                addressing,
                seed: self.seed,
                ..emulator::Config::default()
            },
            managed: subnet::Config {
                engine: self.engine.clone(),
                addressing,
                max_wire_smps: self.window,
                sweep_interval: self.sweep,
                ..subnet::Config::default()
            },
            patience: defaults.patience.max(self.sweep * 100),
        }
    }

    fn failed(&self, error: &DrillError) -> Failure {
        let help = match error {
            DrillError::NothingToBreak => "give other --kinds, or a fabric with more links",
            DrillError::NotUp(_) => "`heddle up FILE --once` says more",
            DrillError::NoSuchStep(_) => "give a smaller --only",
            DrillError::NoSeat(_) => "is it the right file?",
        };
        Failure::new(error.to_string(), &self.file, help)
    }

    fn render(&self, fabric: &Fabric, outcome: &Outcome, style: Style) -> String {
        let Figures { failures, healed, .. } = outcome.figures;
        let headline = match outcome.kinds[..] {
            [mends] if mends.kind == Kind::Mend => {
                format!("{} of {} healed", mends.figures.healed, count(mends.figures.failures.into(), "mend"))
            }
            _ => format!("{healed} of {} healed", count(failures.into(), "failure")),
        };
        let headline =
            if outcome.is_sound() { style.green_bold(&headline) } else { style.red_bold(&headline) };
        let hosts = count(fabric.hosts().count() as u64, "host");
        let switches = count(fabric.switch_count() as u64, "switch");
        let mut text = format!("{headline}: {hosts}, {switches}, seed {}\n\n", outcome.seed);
        let mut sides = vec![Side::Left];
        sides.resize(8, Side::Right);
        let mut table = Table::new(sides);
        let titles = ["kind", "count", "healed", "half in", "99 % in", "all in", "blocks", "MADs"];
        table.row(titles.map(|title| style.dim(title)));
        for kind in outcome.kinds.iter().filter(|kind| kind.kind != Kind::Mend) {
            row(&mut table, kind.kind.name(), &kind.figures);
        }
        row(&mut table, "all failures", &outcome.figures);
        for kind in outcome.kinds.iter().filter(|kind| kind.kind == Kind::Mend) {
            row(&mut table, "mended", &kind.figures);
        }
        text += &table.render(2);
        let mut cuts = outcome.records.iter().filter_map(|record| record.cut_off.as_ref());
        if let Some(first) = cuts.next() {
            let steps = count(1 + cuts.count() as u64, "step");
            text += &format!("\n  parts were cut off from the manager after {steps}, first: {first}\n");
        }
        text
    }
}

fn row(table: &mut Table, name: &str, figures: &Figures) {
    let time = |ms: f64| if ms == 0.0 { String::new() } else { seconds(ms * 1e-3) };
    table.row([
        name.to_owned(),
        thousands(figures.failures.into()),
        thousands(figures.healed.into()),
        time(figures.p50_ms),
        time(figures.p99_ms),
        time(figures.max_ms),
        format!("{:.1}", figures.blocks_mean),
        format!("{:.1}", figures.mads_mean),
    ]);
}

/// A step that was not healed, and how to have it again.
fn tell(record: &Record, style: Style) -> String {
    let wrong = record.wrong.as_deref().unwrap_or_default();
    let mut again: Vec<String> = std::env::args().skip(1).collect();
    if !again.iter().any(|argument| argument.starts_with("--only")) {
        again.extend(["--only".to_owned(), record.number.to_string()]);
    }
    format!(
        "{} step {} ({}) was not healed: {wrong}\n  {} {}\n  {} heddle {}\n",
        style.red_bold("error:"),
        record.number,
        record.kind.name(),
        style.blue("what happened:"),
        record.what,
        style.green("again, by itself:"),
        again.join(" ")
    )
}

fn bar(failures: u32) -> ProgressBar {
    let bar = ProgressBar::new(failures.into());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {pos}/{len} {bar:30} {elapsed} {wide_msg}") {
        bar.set_style(style);
    }
    bar
}
