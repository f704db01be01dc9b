//! `heddle pool forecast`: demand ahead, and how well it was foreseen so far.

use clap::{Args, ValueEnum};
use jiff::civil::DateTime;
use scheduler::forecast::{self, Baseline, Errors, History, Part, Report};
use serde::Serialize;

use crate::Answer;
use crate::failure::Failure;
use crate::files;
use crate::style::{Style, count};
use crate::table::{Side, Table};

/// The part of a history that is judged where nothing else is asked for: the last 40 per cent.
const JUDGED_FROM_TENTHS: usize = 6;

/// How far ahead.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Horizon {
    #[value(name = "1h")]
    Hour,
    #[value(name = "24h")]
    Day,
}

impl Horizon {
    const fn seconds(self) -> u32 {
        match self {
            Self::Hour => 3600,
            Self::Day => 86_400,
        }
    }
}

/// Options of `heddle pool forecast`.
#[derive(Args)]
#[command(after_help = "Examples:\n  heddle pool forecast history.csv\n  \
    heddle pool forecast history.csv --horizon 24h --from 2026-11-01 --json\n\n\
    A history is CSV: the first line is `time` and a name for each queue, every other a time as\n\
    2026-11-02 14:00:00 and each queue's demand. Every forecast is made from what lies a horizon or more before it.")]
pub struct Forecast {
    /// A history of demand; - is standard input
    history: String,
    /// How far ahead
    #[arg(long, value_enum, default_value = "1h")]
    horizon: Horizon,
    /// Only this queue
    #[arg(long, value_name = "NAME")]
    queue: Option<String>,
    /// Judge from this time on; left out: the last 40 per cent
    #[arg(long, value_name = "TIME")]
    from: Option<DateTime>,
    /// Judge until this time, not included; left out: to the end
    #[arg(long, value_name = "TIME")]
    until: Option<DateTime>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document {
    horizon_s: u32,
    step_s: u32,
    steps: usize,
    steps_filled: usize,
    judged_from: DateTime,
    judged_until: DateTime,
    forecast_for: DateTime,
    queues: Vec<Named>,
}

#[derive(Serialize)]
struct Named {
    queue: String,
    #[serde(flatten)]
    report: Report,
}

impl Forecast {
    /// Reads, forecasts, prints.
    pub fn run(self) -> Result<Answer, Failure> {
        let name = if self.history == "-" { "standard input" } else { &self.history };
        let bytes = files::read(&self.history)?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let place = format!("{name}, byte {}", error.utf8_error().valid_up_to());
            Failure::new("the history is no text", place, "give it as CSV in UTF-8")
        })?;
        let history = forecast::read(name, &text)?;
        let document = self.document(name, &history)?;
        if self.json {
            files::print_json(&document)?;
        } else {
            files::write("-", render(&document, Style::stdout()).as_bytes())?;
        }
        Ok(Answer::Yes)
    }

    fn document(&self, name: &str, history: &History) -> Result<Document, Failure> {
        let part = Part {
            from: self.from.map_or(history.len() * JUDGED_FROM_TENTHS / 10, |time| history.step_at(time)),
            until: self.until.map_or(history.len(), |time| history.step_at(time)),
        };
        let horizon_s = self.horizon.seconds();
        let mut queues = Vec::new();
        for queue in &history.queues {
            if self.queue.as_ref().is_some_and(|wanted| *wanted != queue.name) {
                continue;
            }
            let report = forecast::evaluate(&queue.values, history.step_s, horizon_s, part)
                .map_err(|error| Failure::new(error.to_string(), name, ""))?
                .ok_or_else(|| {
                    let what = format!(
                        "no step from {} until {}",
                        history.time(part.from),
                        history.time(part.until)
                    );
                    Failure::new(
                        what,
                        name,
                        "judge a part that lies in the history, a horizon after its beginning",
                    )
                })?;
            queues.push(Named { queue: queue.name.clone(), report });
        }
        if queues.is_empty() {
            let names: Vec<_> = history.queues.iter().map(|queue| queue.name.as_str()).collect();
            let what = format!("there is no queue \"{}\"", self.queue.as_deref().unwrap_or_default());
            return Err(Failure::new(what, name, format!("the history has {}", names.join(", "))));
        }
        Ok(Document {
            horizon_s,
            step_s: history.step_s,
            steps: history.len(),
            steps_filled: history.filled,
            judged_from: history.time(part.from),
            judged_until: history.time(part.until),
            forecast_for: history.time(history.len() - 1 + (horizon_s / history.step_s) as usize),
            queues,
        })
    }
}

fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1000.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}

fn render(document: &Document, style: Style) -> String {
    let mut text = format!(
        "{} of {} s, {}; {} h ahead, judged from {} until {}\n",
        count(document.steps as u64, "step"),
        document.step_s,
        if document.steps_filled > 0 {
            format!("{} of them filled in", document.steps_filled)
        } else {
            "none missing".to_owned()
        },
        document.horizon_s / 3600,
        document.judged_from,
        document.judged_until,
    );
    for Named { queue, report } in &document.queues {
        let next = report.next;
        text.push_str(&format!(
            "\n{}\n  at {}  median {}, 5% {}, 90% {}, 95% {}\n\n",
            style.green_bold(queue),
            document.forecast_for,
            number(next.p50),
            number(next.p05),
            number(next.p90),
            number(next.p95)
        ));
        text.push_str(&errors(report).render(2));
        text.push_str(&format!(
            "\n  {:.1}% of what came lay between the 5th and the 95th percentile (90% wanted)\n\n",
            report.inside_percent
        ));
        let mut table = Table::new([Side::Left, Side::Right, Side::Right, Side::Right]);
        table.row(["had as much been freed as", "idle", "short", "steps short"]);
        for freed in &report.freed {
            table.row([
                if freed.percentile == 50 {
                    "the median".to_owned()
                } else {
                    format!("the {}th percentile", freed.percentile)
                },
                number(freed.idle),
                number(freed.short),
                format!("{:.1}%", freed.steps_short_percent),
            ]);
        }
        text.push_str(&table.render(2));
    }
    text
}

fn errors(report: &Report) -> Table {
    let mut table = Table::new([Side::Left, Side::Right, Side::Right, Side::Right, Side::Right]);
    table.row(["", "MAE", "RMSE", "SMAPE", "pinball"]);
    let row = |name: &str, errors: &Errors| {
        if errors.steps == 0 {
            return vec![name.to_owned(), "not known yet".to_owned()];
        }
        vec![
            name.to_owned(),
            number(errors.mae),
            number(errors.rmse),
            format!("{:.2}%", errors.smape_percent),
            number(errors.pinball),
        ]
    };
    table.row(row("forecast", &report.errors));
    for judged in &report.baselines {
        let name = match judged.baseline {
            Baseline::LastValue => "last value",
            Baseline::SameHourYesterday => "same hour yesterday",
            Baseline::SameHourLastWeek => "same hour last week",
        };
        table.row(row(name, &judged.errors));
    }
    table
}
