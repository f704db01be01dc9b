//! `heddle trace replay --why JOB`: why a job waited and why it lies where it does, in one screen.

use clap::Args;
use pool::{NodeIndex, Pool};
use scheduler::network::{Contention, Spread};
use scheduler::replay::timed;
use scheduler::replay::why::{Told, Weighed, WhyWatch, word};
use scheduler::schedule::{Wait, Weights};
use scheduler::trace::{Job, Trace};
use serde::Serialize;

use super::{Replay, Setting, Way};
use crate::failure::Failure;
use crate::files;
use crate::style::{Style, count, seconds};
use crate::table::{Side, Table};

/// The most nodes that are named in text.
const MOST_NODES: usize = 8;

/// Options that ask about one job.
#[derive(Args)]
#[command(next_help_heading = "One job")]
pub struct Asking {
    /// Say why this job waited and why it was placed where it was: its name, or its number in order of submission
    #[arg(long, value_name = "JOB", conflicts_with_all = ["compare", "inflate", "output"])]
    pub why: Option<String>,
    /// And what it waits for or holds at this time since the first submission: seconds, or as in 90m, 2.5h or 3d
    #[arg(long, value_name = "TIME", requires = "why", value_parser = time_ms)]
    at: Option<u64>,
}

fn time_ms(text: &str) -> Result<u64, String> {
    let (number, unit_s) = match text.char_indices().next_back() {
        Some((end, 's')) => (&text[..end], 1.0),
        Some((end, 'm')) => (&text[..end], 60.0),
        Some((end, 'h')) => (&text[..end], 3600.0),
        Some((end, 'd')) => (&text[..end], 86_400.0),
        _ => (text, 1.0),
    };
    let ms = number.parse::<f64>().map(|number| number * unit_s * 1000.0).ok();
    let ms = ms.filter(|ms| (0.0..1e15).contains(ms));
    ms.map(|ms| ms.round() as u64)
        .ok_or_else(|| "give seconds from 0 on, or as in 90m, 2.5h or 3d".to_owned())
}

#[derive(Serialize)]
struct On {
    node: String,
    parts: u32,
}

/// What the scheduler says of the job at a time, with names.
#[derive(Serialize)]
struct Said {
    at_s: f64,
    phase: &'static str,
    before: Option<usize>,
    waits_for: Option<&'static str>,
    wait: Option<String>,
    ahead: Vec<String>,
    promised_s: Option<f64>,
    reserved_nodes: Vec<String>,
    stops: u32,
    nodes: Vec<On>,
    spread: Option<Spread>,
    contention: Option<Contention>,
    cost: Option<f64>,
}

#[derive(Serialize)]
struct Waited {
    waits_for: &'static str,
    seconds: f64,
}

#[derive(Serialize)]
struct Place {
    nodes: Vec<String>,
    #[serde(flatten)]
    weighed: Weighed,
}

/// All that is said of a job.
#[derive(Serialize)]
struct Answer {
    policy: String,
    job: String,
    user: String,
    parts: u32,
    gpus: u16,
    gpu_milli: u16,
    run_s: Option<f64>,
    limit_s: Option<f64>,
    submitted_s: Option<f64>,
    started_s: Option<f64>,
    ended_s: Option<f64>,
    refused: Option<String>,
    waited: Vec<Waited>,
    when_it_came: Option<Said>,
    before_it_started: Option<Said>,
    when_it_started: Option<Said>,
    weighed: Vec<Place>,
    asked_s: Option<f64>,
    asked: Option<Said>,
}

fn in_seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}

/// The place of a job that is called so, or has that number.
fn find(trace: &Trace, wanted: &str) -> Result<usize, Failure> {
    let called: Vec<usize> = (0..trace.jobs.len()).filter(|&at| &*trace.jobs[at].name == wanted).collect();
    if let [one] = called[..] {
        return Ok(one);
    }
    let jobs = trace.jobs.len();
    if let [first, ..] = called[..] {
        let help = format!("give its number in order of submission: the first of them is {}", first + 1);
        return Err(Failure::new(format!("{} jobs are called \"{wanted}\"", called.len()), "--why", help));
    }
    let number = wanted.parse::<usize>().ok().filter(|number| (1..=jobs).contains(number));
    number.map(|number| number - 1).ok_or_else(|| {
        let help = format!("give a name of the trace, or a number from 1 to {jobs} in order of submission");
        Failure::new(format!("no job is called \"{wanted}\""), "--why", help)
    })
}

fn said(told: &Told, pool: &Pool) -> Said {
    let name = |node: NodeIndex| pool.node_name(node).to_owned();
    let of = &told.explanation;
    Said {
        at_s: in_seconds(told.at_ms),
        phase: of.phase,
        before: of.before,
        waits_for: of.wait.as_ref().map(word),
        wait: of.wait.as_ref().map(|wait| match wait {
            Wait::Jobs(_) => format!("it is to come after {}", told.ahead.join(", ")),
            other => other.to_string(),
        }),
        ahead: told.ahead.clone(),
        promised_s: of.promised_ms.map(in_seconds),
        reserved_nodes: of.reserved_nodes.iter().map(|&node| name(node)).collect(),
        stops: of.stops,
        nodes: of.nodes.iter().map(|&(node, parts)| On { node: name(node), parts }).collect(),
        spread: of.fit.as_ref().map(|fit| fit.spread),
        contention: of.fit.as_ref().and_then(|fit| fit.contention),
        cost: of.fit.as_ref().map(|fit| fit.cost),
    }
}

impl Replay {
    /// Follows one job through the replay and prints what is said of it.
    pub(super) fn explain(&self, setting: &Setting, wanted: &str) -> Result<(), Failure> {
        let trace = &setting.trace;
        let at = find(trace, wanted)?;
        let has_fabric = setting.site.is_some();
        let way = Way { kind: self.policy, knows_fabric: has_fabric && self.policy.knows_fabrics() };
        let mut watch = WhyWatch::new(at, self.asking.at);
        timed::replay_on(
            &setting.cluster.stock,
            &setting.tenants,
            setting.site.as_ref().filter(|_| way.knows_fabric).map(|site| site.topology.clone()),
            &setting.arrivals,
            self.config(way.kind, self.seed),
            &mut |_| {},
            &mut watch,
        );
        let pool = &setting.cluster.pool;
        let told = |told: &Option<Told>| told.as_ref().map(|told| said(told, pool));
        let job = &trace.jobs[at];
        let answer = Answer {
            policy: way.name(has_fabric),
            job: name(job, at),
            user: trace.users.get(job.user as usize).cloned().unwrap_or_default(),
            parts: job.parts,
            gpus: job.gpus,
            gpu_milli: job.gpu_milli,
            run_s: job.run_ms.map(in_seconds),
            limit_s: job.limit_ms.map(in_seconds),
            submitted_s: watch.came_ms.map(in_seconds),
            started_s: watch.started.as_ref().map(|told| in_seconds(told.at_ms)),
            ended_s: watch.ended_ms.map(in_seconds),
            refused: watch.refused.clone(),
            waited: watch
                .waited_ms
                .iter()
                .map(|(&waits_for, &ms)| Waited { waits_for, seconds: in_seconds(ms) })
                .collect(),
            when_it_came: told(&watch.first_wait),
            before_it_started: told(&watch.last_wait),
            when_it_started: told(&watch.started),
            weighed: watch
                .weighed
                .iter()
                .map(|weighed| Place {
                    nodes: weighed.nodes.iter().map(|&node| pool.node_name(node).to_owned()).collect(),
                    weighed: weighed.clone(),
                })
                .collect(),
            asked_s: self.asking.at.map(in_seconds),
            asked: told(&watch.asked),
        };
        if self.json {
            files::print_json(&answer)
        } else {
            files::write("-", render(&answer, Style::stdout()).as_bytes())
        }
    }
}

fn name(job: &Job, at: usize) -> String {
    if job.name.is_empty() { format!("job number {}", at + 1) } else { job.name.to_string() }
}

fn render(answer: &Answer, style: Style) -> String {
    let shares = if answer.gpu_milli < 1000 && answer.gpus > 0 {
        format!("{} thousandths of a GPU", answer.gpu_milli)
    } else {
        count(answer.gpus.into(), "GPU")
    };
    let mut text = format!("{}: {} of {shares}", answer.job, count(answer.parts.into(), "part"));
    if !answer.user.is_empty() {
        text += &format!(", of {}", answer.user);
    }
    if let Some(run_s) = answer.run_s {
        text += &format!("; it runs {}", seconds(run_s));
    }
    if let Some(limit_s) = answer.limit_s {
        text += &format!(" and was said to run up to {}", seconds(limit_s));
    }
    text += "\n";
    let Some(submitted_s) = answer.submitted_s else { return text };
    text += &format!("  it came {} after the first job", seconds(submitted_s));
    match (answer.started_s, answer.ended_s) {
        (Some(started_s), ended_s) => {
            text += &format!(", started after {} of waiting", seconds(started_s - submitted_s));
            text += &ended_s.map_or(String::new(), |at_s| format!(" and was over at {}", seconds(at_s)));
        }
        (None, _) if answer.refused.is_none() => text += " and never started",
        (None, _) => {}
    }
    text += "\n";
    if let Some(why) = &answer.refused {
        text += &format!("  it can never run: {why}\n");
    }
    if let Some(asked_s) = answer.asked_s {
        text += &format!("\n{}\n", style.dim(&format!("at {}", seconds(asked_s))));
        match &answer.asked {
            Some(said) => text += &state(said),
            None if asked_s < submitted_s => text += "  it has not come yet\n",
            None => text += "  all is over\n",
        }
    }
    if !answer.waited.is_empty() {
        text += &format!("\n{}\n", style.dim("why it waited"));
        text += &waits(answer, style);
    }
    if let Some(said) = &answer.when_it_started {
        text += &format!("\n{}\n", style.dim("where it was placed"));
        text += &state(said);
        text += &place(answer, style);
    }
    text
}

/// How long it waited for what, and what was said first and last.
fn waits(answer: &Answer, style: Style) -> String {
    let mut table = Table::new([Side::Right, Side::Left]);
    for Waited { waits_for, seconds: waited_s } in &answer.waited {
        let why = match *waits_for {
            "jobs" => "others that come before it were not over",
            "quota" => "its tenant might not hold so much",
            "turn" => "by the calendar it was not its kind of work's turn",
            "room" => "there was too little room",
            "place" => "there was room, but not where it requires it",
            _ => "there was room, but promised to jobs before it",
        };
        table.row([seconds(*waited_s), why.to_owned()]);
    }
    let mut text = table.render(2);
    let both = [("when it came", &answer.when_it_came), ("before it started", &answer.before_it_started)];
    let differ = |said: &Said| answer.before_it_started.as_ref().is_some_and(|last| last.at_s > said.at_s);
    let first = answer.when_it_came.as_ref().is_some_and(differ);
    for (when, said) in both.into_iter().skip(usize::from(!first)) {
        if let Some(said) = said {
            text += &format!("  {}\n", style.dim(&format!("{when}, at {}", seconds(said.at_s))));
            text += &state(said).replace("\n  ", "\n    ").replacen("  ", "    ", 1);
        }
    }
    text
}

/// What is said at one time, a line a fact.
fn state(said: &Said) -> String {
    let mut text = String::new();
    if let Some(wait) = &said.wait {
        text += &format!("  it waits: {wait}\n");
    }
    if let Some(before) = said.before {
        text += &format!(
            "  {} looked at before it\n",
            if before == 1 { "1 job is".into() } else { format!("{before} jobs are") }
        );
    }
    if let Some(promised_s) = said.promised_s {
        let nodes = count(said.reserved_nodes.len() as u64, "node");
        text += &format!("  it was promised to start at {} at the latest, on {nodes}\n", seconds(promised_s));
    }
    if !said.nodes.is_empty() {
        let parts: u32 = said.nodes.iter().map(|on| on.parts).sum();
        let names: Vec<&str> = said.nodes.iter().take(MOST_NODES).map(|on| &*on.node).collect();
        let more = said.nodes.len().saturating_sub(MOST_NODES);
        text += &format!(
            "  {} on {}: {}{}\n",
            count(parts.into(), "part"),
            count(said.nodes.len() as u64, "node"),
            names.join(", "),
            if more > 0 { format!(" and {more} more") } else { String::new() }
        );
    } else if said.wait.is_none() {
        text += &format!("  it is {}\n", said.phase);
    }
    if said.stops > 0 {
        text += &format!("  it was stopped for others {}\n", count(said.stops.into(), "time"));
    }
    text
}

/// What spoke for the place.
fn place(answer: &Answer, style: Style) -> String {
    let mut text = String::new();
    let Some(said) = &answer.when_it_started else { return text };
    if let (Some(Spread { leaves, pods, mean_hops, .. }), Some(cost)) = (said.spread, said.cost) {
        text += &format!(
            "  {leaves} {} in {}, {mean_hops:.2} hops between two parts in the mean",
            if leaves == 1 { "leaf" } else { "leaves" },
            count(pods.into(), "pod")
        );
        if let Some(contention) = said.contention {
            text += &format!(
                "; its links, its hosts' own among them, are up to {:.0} % full, {:.0} % in the mean",
                contention.worst * 100.0,
                contention.mean * 100.0
            );
        }
        let Weights { locality, contention, health } = Weights::default();
        text += &format!(
            "\n  cost {cost:.2}: {locality} for a hop, {contention} for a link in full use, {health} for a link to be avoided\n"
        );
    } else {
        text += &format!("  the policy {} chose it by what is left on the nodes with room\n", answer.policy);
    }
    if answer.weighed.is_empty() {
        return text;
    }
    text += "  places that were weighed, the least cost is taken:\n";
    let mut table = Table::new([Side::Left, Side::Right, Side::Right, Side::Right, Side::Right, Side::Left]);
    table.row(["nodes", "leaves", "hops", "fullest link", "cost", ""].map(|title| style.dim(title)));
    for Place { nodes, weighed } in &answer.weighed {
        table.row([
            match &nodes[..] {
                [first, .., last] => format!("{first} … {last}"),
                _ => nodes.join(""),
            },
            weighed.leaves.to_string(),
            format!("{:.2}", weighed.mean_hops),
            format!("{:.0} %", weighed.fullest_link_percent),
            format!("{:.2}", weighed.cost),
            if weighed.taken { "taken".to_owned() } else { String::new() },
        ]);
    }
    text + &table.render(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let read = |text| time_ms(text).ok();
        assert_eq!(
            [read("90"), read("1.5m"), read("2h"), read("1d")],
            [90_000, 90_000, 7_200_000, 86_400_000].map(Some)
        );
        assert_eq!(["", "h", "-1", "nan", "1w", "1e300d"].map(read), [None; 6]);
    }
}
