//! `heddle replay`: a recording fed to the same core again.

use clap::Args;
use controller::recording::{self, Difference, Reader};
use serde::Serialize;

use crate::Answer;
use crate::failure::Failure;
use crate::files;
use crate::style::{Style, count};
use crate::table::{Side, Table};

/// Options of `heddle replay`.
#[derive(Args)]
#[command(
    after_help = "Example:\n  heddle up --once --record bring-up.rec\n  heddle replay bring-up.rec\n\n\
    Exit code 1: the core does something else than was recorded."
)]
pub struct Replay {
    /// What `heddle up --record` wrote
    file: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print what the manager says, with times
    #[arg(long)]
    events: bool,
}

/// What a replay did, for programs.
#[derive(Serialize)]
struct Outcome {
    same: bool,
    records: u64,
    seconds: f64,
    ended: bool,
    bytes_left_over: usize,
    recorded_by: String,
    door: String,
    difference: Option<Differs>,
    report: subnet::Report,
}

/// Where the outputs differ.
#[derive(Serialize)]
struct Differs {
    record: u64,
    seconds: f64,
    recorded_packets: u32,
    recorded_events: u32,
    replayed_packets: u32,
    replayed_events: u32,
    first_packet: Option<String>,
}

impl Replay {
    /// Replays and compares.
    pub fn run(self) -> Result<Answer, Failure> {
        let bytes = files::read(&self.file)?;
        let failed = |error: recording::ReadError| {
            Failure::new(error.to_string(), &self.file, "give a file that `heddle up --record FILE` wrote")
        };
        let reader = Reader::new(&bytes).map_err(failed)?;
        let header = reader.header().clone();
        let show = self.events && !self.json;
        let replayed = recording::replay(reader, |time, event| {
            if show {
                let text = serde_json::to_string(event).unwrap_or_default();
                // A reader that has gone ends the program by its signal.
                let _ = files::write("-", format!("{time}  {text}\n").as_bytes());
            }
        })
        .map_err(failed)?;
        let same = replayed.difference.is_none();
        let outcome = Outcome {
            same,
            records: replayed.records,
            seconds: replayed.time.since(header.began).as_secs_f64(),
            ended: replayed.ended,
            bytes_left_over: replayed.left_over,
            recorded_by: header.version,
            door: header.door,
            difference: replayed.difference.map(Differs::from),
            report: replayed.manager.report(),
        };
        if self.json {
            files::print_json(&outcome)?;
        } else {
            files::write("-", outcome.render(Style::stdout()).as_bytes())?;
        }
        Ok(if same { Answer::Yes } else { Answer::No })
    }
}

impl From<Difference> for Differs {
    fn from(difference: Difference) -> Self {
        let Difference { record, time, recorded, replayed, first_packet } = difference;
        Self {
            record,
            seconds: time.0 as f64 * 1e-9,
            recorded_packets: recorded.packets,
            recorded_events: recorded.events,
            replayed_packets: replayed.packets,
            replayed_events: replayed.events,
            first_packet,
        }
    }
}

impl Outcome {
    fn render(&self, style: Style) -> String {
        let mut text = match &self.difference {
            None => format!("{}: all outputs as recorded\n", style.green_bold("the same")),
            Some(difference) => format!(
                "{} at record {} ({:.6} s)\n  recorded: {}, {}\n  now:      {}, {}\n{}",
                style.red_bold("different"),
                difference.record,
                difference.seconds,
                count(difference.recorded_packets.into(), "MAD"),
                count(difference.recorded_events.into(), "event"),
                count(difference.replayed_packets.into(), "MAD"),
                count(difference.replayed_events.into(), "event"),
                difference
                    .first_packet
                    .as_ref()
                    .map_or_else(String::new, |mad| format!("  first MAD now: {mad}\n")),
            ),
        };
        let mut table = Table::new([Side::Left, Side::Left]);
        let session = format!("{} over {:.3} s, {}", count(self.records, "record"), self.seconds, self.door);
        table.row(["recording", &session]).row(["recorded by", &format!("heddle {}", self.recorded_by)]);
        if !self.ended && self.difference.is_none() {
            let cut =
                format!("it is cut off ({} of a last record)", count(self.bytes_left_over as u64, "byte"));
            table.row(["its end", &style.yellow(&cut)]);
        }
        let report = &self.report;
        let stands = format!(
            "{:?}: {}, {}, {}, {}",
            report.state,
            count(report.switches as u64, "switch"),
            count(report.hosts as u64, "host"),
            count(report.links as u64, "link"),
            count(report.findings.len() as u64, "finding")
        );
        table.row(["stands at", &stands]);
        text.push_str(&table.render(2));
        text
    }
}
