//! `heddle pool show`: what a pool is.

use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use pool::calendar::{Calendar, Turn};
use pool::formats::Format;
use pool::summary::{self, LimitsSummary, ModelSummary, States, Summary, TenantSummary};
use serde::Serialize;

use super::source::Source;
use crate::Answer;
use crate::failure::Failure;
use crate::files;
use crate::style::{Style, count, thousands};
use crate::table::{Side, Table};

/// Nodes and GPUs that take no work, listed for a person; more are counted.
const MOST_UNWELL: usize = 20;

/// Options of `heddle pool show`.
#[derive(Args)]
#[command(after_help = "Examples:\n  heddle pool show examples/pool.toml\n  \
    scontrol show nodes | heddle pool show - --gres /etc/slurm/gres.conf\n  \
    heddle pool show site.ibnetdiscover --gpus-per-node 8 --model H100-80GB")]
pub struct Show {
    #[command(flatten)]
    source: Source,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    format: Format,
    #[serde(flatten)]
    summary: Summary,
    calendar: Option<Now>,
}

/// What the calendar says now.
#[derive(Serialize)]
struct Now {
    window: Option<String>,
    inference_percent: u8,
    next_turn: Option<Turn>,
    windows: usize,
}

impl Show {
    /// Reads and prints.
    pub fn run(self) -> Result<Answer, Failure> {
        let (site, format) = self.source.read()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
        let calendar = site.calendar.as_ref().map(|calendar| at(calendar, now));
        let report = Report { format, summary: summary::summarize(&site), calendar };
        if self.json {
            files::print_json(&report)?;
        } else {
            files::write("-", render(&report, now, Style::stdout()).as_bytes())?;
        }
        Ok(Answer::Yes)
    }
}

fn at(calendar: &Calendar, now: i64) -> Now {
    let (inference_percent, window) = calendar.at(now);
    Now {
        window: window.map(|window| window.name.clone()),
        inference_percent,
        next_turn: calendar.next_turn(now),
        windows: calendar.windows().len(),
    }
}

fn render(report: &Report, now: i64, style: Style) -> String {
    let summary = &report.summary;
    let mut text = format!(
        "{}, {}\n\n",
        count(summary.nodes as u64, "node"),
        style.green_bold(&count(summary.gpus as u64, "GPU"))
    );
    let mut facts = Table::new([Side::Left, Side::Left]);
    facts.row(["nodes", &states(summary.node_states, summary.nodes)]);
    if summary.nodes_without_gpus > 0 {
        facts.row(["", &format!("{} without a GPU", thousands(summary.nodes_without_gpus as u64))]);
    }
    if summary.cores > 0.0 {
        let memory = thousands(summary.memory_mib / 1024);
        facts.row(["CPU", &format!("{} cores, {memory} GiB", thousands(summary.cores as u64))]);
    }
    facts
        .row(["fabric", &format!("{} sit beside a known port", count(summary.gpus_with_port as u64, "GPU"))]);
    facts.row(["NVLink", &count(summary.nvlink_domains as u64, "domain")]);
    text.push_str(&facts.render(2));
    if !summary.models.is_empty() {
        text.push('\n');
        text.push_str(&models(&summary.models).render(2));
    }
    for model in summary.models.iter().filter(|model| !model.instances.is_empty()) {
        let each: Vec<_> =
            model.instances.iter().map(|(profile, count)| format!("{count} {profile}")).collect();
        text.push_str(&format!("  {} instances: {}\n", model.name, each.join(", ")));
    }
    if !summary.unwell.is_empty() {
        text.push_str(&format!("\n  {}\n", style.yellow("takes no work")));
        let mut table = Table::new([Side::Left, Side::Left, Side::Left]);
        for unwell in summary.unwell.iter().take(MOST_UNWELL) {
            table.row([&unwell.place, unwell.state.name(), &unwell.reason]);
        }
        text.push_str(&table.render(2));
        if summary.unwell.len() > MOST_UNWELL {
            text.push_str(&format!("  and {} more\n", summary.unwell.len() - MOST_UNWELL));
        }
    }
    text.push_str(&tenants(summary));
    if let Some(calendar) = &report.calendar {
        text.push_str(&render_calendar(calendar, now));
    }
    text
}

fn states(states: States, all: usize) -> String {
    let named = [
        (states.healthy, "healthy"),
        (states.draining, "draining"),
        (states.cordoned, "cordoned"),
        (states.failed, "failed"),
    ];
    if states.healthy == all {
        return "all healthy".to_owned();
    }
    let some = named.iter().filter(|(count, _)| *count > 0);
    some.map(|(count, name)| format!("{} {name}", thousands(*count as u64))).collect::<Vec<_>>().join(", ")
}

fn models(models: &[ModelSummary]) -> Table {
    let number = |count: usize| if count == 0 { String::new() } else { thousands(count as u64) };
    let mut sides = vec![Side::Left];
    sides.resize(10, Side::Right);
    let mut table = Table::new(sides);
    table.row([
        "model",
        "MiB",
        "GPUs",
        "healthy",
        "draining",
        "cordoned",
        "failed",
        "whole",
        "MIG",
        "fractions",
    ]);
    for model in models {
        let states = model.states;
        let mut row = vec![model.name.clone(), number(model.memory_mib as usize)];
        row.extend(
            [
                model.gpus,
                states.healthy,
                states.draining,
                states.cordoned,
                states.failed,
                model.whole,
                model.mig,
                model.fractions,
            ]
            .map(number),
        );
        table.row(row);
    }
    table
}

type Limited = fn(&TenantSummary) -> Option<LimitsSummary>;

fn of_cpu(tenant: &TenantSummary) -> Option<LimitsSummary> {
    tenant.cpu
}

fn of_memory(tenant: &TenantSummary) -> Option<LimitsSummary> {
    tenant.memory_mib
}

fn tenants(summary: &Summary) -> String {
    let mut text = String::new();
    if !summary.tenants.is_empty() {
        // CPU and memory where anybody has limits of them.
        let limited: Vec<(&str, Limited)> = [("cores", of_cpu as Limited), ("MiB", of_memory)]
            .into_iter()
            .filter(|(_, limits)| summary.tenants.iter().any(|tenant| limits(tenant).is_some()))
            .collect();
        let mut sides = vec![Side::Left, Side::Right, Side::Right, Side::Right, Side::Right];
        sides.extend(std::iter::repeat_n(Side::Right, limited.len()));
        let mut table = Table::new(sides);
        let mut titles = vec!["tenant", "quota", "borrows", "lends", "weight"];
        titles.extend(limited.iter().map(|(title, _)| title));
        table.row(titles);
        for tenant in &summary.tenants {
            let mut row = vec![
                format!("{}{}", "  ".repeat(tenant.depth), tenant.name),
                tenant.quota.to_string(),
                match (tenant.borrowing_limit, &tenant.parent) {
                    (Some(limit), _) => limit.to_string(),
                    (None, Some(_)) => "any".to_owned(),
                    (None, None) => String::new(),
                },
                if tenant.parent.is_some() { tenant.lends.to_string() } else { String::new() },
                tenant.weight.to_string(),
            ];
            row.extend(
                limited.iter().map(|(_, limits)| {
                    limits(tenant).map_or(String::new(), |limits| limits.quota.to_string())
                }),
            );
            table.row(row);
        }
        text.push('\n');
        text.push_str(&table.render(2));
    }
    if !summary.reservations.is_empty() {
        let mut table = Table::new([Side::Left, Side::Left, Side::Right, Side::Left, Side::Left]);
        table.row(["reserved", "for", "GPUs", "from", "until"]);
        for one in &summary.reservations {
            let gpus = one.gpus.to_string();
            table.row([one.name.clone(), one.tenant.clone(), gpus, time(one.from), time(one.until)]);
        }
        text.push('\n');
        text.push_str(&table.render(2));
    }
    text
}

/// A time for a person, in UTC.
fn time(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).map_or_else(|_| seconds.to_string(), |time| time.to_string())
}

fn render_calendar(calendar: &Now, now: i64) -> String {
    let window = calendar.window.as_deref().unwrap_or("outside all windows");
    let mut text = format!("\n  calendar  now {}% for inference ({window})", calendar.inference_percent);
    match &calendar.next_turn {
        None => text.push_str("; never turns\n"),
        Some(turn) => {
            let hours = (turn.at - now) as f64 / 3600.0;
            let drains = if turn.drain_from <= now {
                "draining".to_owned()
            } else {
                format!("drain from {}", time(turn.drain_from))
            };
            text.push_str(&format!(
                "\n            {}% from {} on, in {hours:.1} h; {drains}\n",
                turn.after_percent,
                time(turn.at)
            ));
        }
    }
    text
}
