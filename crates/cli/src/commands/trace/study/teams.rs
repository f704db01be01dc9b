//! The study of five teams: parts of their own, and one pool.

use scheduler::replay::picture::{self, Line};
use scheduler::schedule::Idle;
use scheduler::workloads::sharing::{Sharing, Way};

use crate::style::{Style, seconds, thousands};
use crate::table::{Side, Table};

/// Hours of a step of the picture.
const PICTURE_STEP_H: usize = 12;

/// For people.
pub(super) fn render(sharing: &Sharing, style: Style) -> String {
    let mut text = format!(
        "{} jobs of {} teams in {} days on {} GPUs, seed {}\n\n",
        thousands(sharing.jobs as u64),
        sharing.teams.len(),
        sharing.days,
        sharing.gpus,
        sharing.seed
    );
    let mut table = Table::new([Side::Left, Side::Right, Side::Right, Side::Right, Side::Right, Side::Right]);
    let titles = ["", "GPUs used", "while any job waits", "wait mean", "95 %", "stopped for others"];
    table.row(titles.map(|title| style.dim(title)));
    for (name, way) in [("separate parts", &sharing.separate), ("one pool", &sharing.pooled)] {
        let waiting = way.gpu_used_percent_while_waiting;
        table.row([
            name.to_owned(),
            format!("{:.1} %", way.gpu_used_percent_mean),
            waiting.map_or(String::new(), |percent| format!("{percent:.1} %")),
            seconds(way.waiting_s.mean),
            seconds(way.waiting_s.p95),
            thousands(way.preemptions),
        ]);
    }
    text += &table.render(2);
    if let Some(idle) = &sharing.pooled.idle_while_waiting_gpu_h {
        text += "\n";
        text += &idle_and_moved(idle, &sharing.pooled);
    }
    let mut sides = vec![Side::Right; 8];
    sides[0] = Side::Left;
    let mut table = Table::new(sides);
    let titles =
        ["team", "GPUs", "jobs", "own part used", "wait mean", "in the pool", "wait 95 %", "in the pool"];
    table.row(titles.map(|title| style.dim(title)));
    for team in &sharing.teams {
        let better = |there: f64, here: f64| {
            let text = seconds(there);
            if there <= here { style.green(&text) } else { style.yellow(&text) }
        };
        let (separate, pooled) = (team.separate_waiting_s, team.pooled_waiting_s);
        table.row([
            team.team.to_owned(),
            team.gpus.to_string(),
            thousands(team.jobs as u64),
            format!("{:.1} %", team.separate_gpu_used_percent_mean),
            seconds(separate.mean),
            better(pooled.mean, separate.mean),
            seconds(separate.p95),
            better(pooled.p95, separate.p95),
        ]);
    }
    text += "\n";
    text += &table.render(2);
    if sharing.failed > 0 {
        text += &format!("\n  {} jobs never came to their end\n", sharing.failed);
    }
    text
}

/// Why GPUs of the pool were idle while any job waited, and what was moved so that they were not.
fn idle_and_moved(idle: &Idle, pooled: &Way) -> String {
    let causes = [
        ("strewn over nodes", idle.strewn),
        ("fewer than any job wants", idle.too_few),
        ("promised to a job that waits for more", idle.promised),
        ("free for too short a time", idle.in_the_way),
        ("beyond a quota", idle.quota),
    ];
    let all = idle.total().max(f64::MIN_POSITIVE);
    let parts = causes.into_iter().filter(|(_, hours)| *hours > 0.0);
    let parts: Vec<String> =
        parts.map(|(cause, hours)| format!("{:.0} % {cause}", hours * 100.0 / all)).collect();
    let migrated = &pooled.migrated;
    format!(
        "  {} GPU hours of the pool idle while any job waited: {}\n  \
         {} moves let {} jobs start earlier: {}; {} GPU hours of work lost by moves and stops\n",
        thousands(idle.total().round() as u64),
        parts.join(", "),
        thousands(migrated.moves),
        thousands(migrated.migrations),
        migrated.sum,
        thousands(pooled.lost_gpu_h.round() as u64),
    )
}

/// As a picture.
pub(super) fn draw(sharing: &Sharing) -> String {
    let line = |name: &str, course: &[f64]| Line {
        name: name.to_owned(),
        points: course
            .chunks(PICTURE_STEP_H)
            .enumerate()
            .map(|(step, hours)| {
                let days = (step as f64 + 0.5) * PICTURE_STEP_H as f64 / 24.0;
                (days, hours.iter().sum::<f64>() / hours.len() as f64)
            })
            .collect(),
    };
    let lines = [line("separate parts", &sharing.separate.course), line("one pool", &sharing.pooled.course)];
    picture::svg("GPUs in use: five teams, the same jobs (means of 12 hours)", "days", &lines)
}
