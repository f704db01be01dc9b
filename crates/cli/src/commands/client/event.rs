//! `heddle event`: what has happened to the running fabric.

use std::io::{BufRead, BufReader};

use clap::{Args, Subcommand, ValueEnum};
use serde_json::Value;

use super::server::{Server, number, with_query, word};
use crate::Answer;
use crate::failure::Failure;
use crate::files;
use crate::style::Style;

/// Verbs of `heddle event`.
#[derive(Subcommand)]
pub enum EventCommand {
    /// List the newest events
    List(List),
    /// Print events as they happen
    Follow(Follow),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Severity {
    /// All
    Info,
    /// What to know of
    Warning,
    /// What works no longer
    Error,
}

/// Which events.
#[derive(Args)]
struct Which {
    /// Of this severity and above
    #[arg(long, value_enum)]
    severity: Option<Severity>,
    /// Of this kind alone, as in link-lost, healed
    #[arg(long)]
    kind: Option<String>,
    #[command(flatten)]
    server: Server,
    /// Print JSON, a line an event
    #[arg(long)]
    json: bool,
}

/// Options of `heddle event list`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  heddle event list --severity warning\n  heddle event list --kind healed --limit 1000 --json"
)]
pub struct List {
    #[command(flatten)]
    which: Which,
    /// At most so many, the newest
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
}

/// Options of `heddle event follow`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  heddle event follow\n  heddle event follow --after 0 --json      all that was ever kept, then what comes"
)]
pub struct Follow {
    #[command(flatten)]
    which: Which,
    /// Begin after this number [default: now]
    #[arg(long)]
    after: Option<u64>,
}

impl EventCommand {
    /// Carries the command out.
    pub fn run(self) -> Result<Answer, Failure> {
        match self {
            Self::List(list) => list.run(),
            Self::Follow(follow) => follow.run(),
        }
    }
}

impl Which {
    fn query(&self) -> Vec<(&'static str, Option<String>)> {
        let severity =
            self.severity.and_then(|severity| Some(severity.to_possible_value()?.get_name().to_owned()));
        vec![("severity", severity), ("kind", self.kind.clone())]
    }

    fn line(&self, event: &Value) -> String {
        if self.json {
            return format!("{event}\n");
        }
        let style = Style::stdout();
        let time = word(event, "time");
        let text = word(event, "text");
        let text = match word(event, "severity") {
            "error" => style.red_bold(text),
            "warning" => style.yellow(text),
            _ => text.to_owned(),
        };
        let cause = match word(event, "cause") {
            "" => String::new(),
            cause => style.dim(&format!(" ({cause})")),
        };
        format!(
            "{} {} {text}{cause}\n",
            style.dim(&format!("{:>6}", number(event, "number"))),
            time.get(..23).unwrap_or(time)
        )
    }
}

impl List {
    fn run(self) -> Result<Answer, Failure> {
        let mut query = self.which.query();
        query.push(("limit", Some(self.limit.to_string())));
        let page = self.which.server.get(&with_query("/events", &query))?;
        // Read from top to bottom, the newest last.
        let events = page["items"].as_array().into_iter().flatten().rev();
        let text: String = events.map(|event| self.which.line(event)).collect();
        files::write("-", text.as_bytes())?;
        Ok(Answer::Yes)
    }
}

impl Follow {
    fn run(self) -> Result<Answer, Failure> {
        let mut query = self.which.query();
        query.push(("after", self.after.map(|after| after.to_string())));
        let stream = self.which.server.stream(&with_query("/events/stream", &query))?;
        for line in BufReader::new(stream).lines() {
            let line = line.map_err(|error| {
                Failure::new(format!("the stream broke off: {error}"), "", "is the controller still there?")
            })?;
            let Some(data) = line.strip_prefix("data:") else { continue };
            if let Ok(event) = serde_json::from_str::<Value>(data.trim_start()) {
                files::write("-", self.which.line(&event).as_bytes())?;
            }
        }
        // The controller has ended in order.
        Ok(Answer::Yes)
    }
}
