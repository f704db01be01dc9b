//! The study of inference by day and training by night.

use scheduler::replay::picture::{self, Line};
use scheduler::workloads::daynight::fleet::PEAK_PERCENT;
use scheduler::workloads::daynight::{DayNight, OBJECTIVE_PERCENT};

use crate::style::{Style, seconds, thousands};
use crate::table::{Side, Table};

/// For people.
pub(super) fn render(study: &DayNight, style: Style) -> String {
    let mut text = format!(
        "{} services by day and {} training jobs on {} GPUs, {} days, seed {}; replicas for the {} percentile of demand\n\n",
        study.services,
        thousands(study.jobs as u64),
        thousands(study.gpus as u64),
        study.days,
        study.seed,
        study.percentile
    );
    let mut sides = vec![Side::Right; 8];
    sides[0] = Side::Left;
    let mut table = Table::new(sides.clone());
    let titles = [
        "GPUs",
        "allocated",
        "used",
        "without lost work",
        "headroom",
        "training",
        "lost by stopping",
        "waits",
    ];
    table.row(titles.map(|title| style.dim(title)));
    let gpu_hours = |hours: f64| thousands(hours.round().max(0.0) as u64) + " GPU h";
    for way in &study.ways {
        table.row([
            way.way.to_owned(),
            format!("{:.1} %", way.gpu_allocated_percent),
            format!("{:.1} %", way.gpu_used_percent),
            format!("{:.1} %", way.gpu_worked_percent),
            gpu_hours(way.inference.headroom_gpu_h),
            gpu_hours(way.training.held_gpu_h),
            gpu_hours(way.training.lost_gpu_h),
            seconds(way.training.waiting_s.mean),
        ]);
    }
    text += &table.render(2);
    let mut table = Table::new(sides);
    let titles = [
        "inference",
        "load served",
        "worst service",
        "within objective",
        "steps missed",
        "peaks missed",
        "peaks short",
        "idle before turns",
    ];
    table.row(titles.map(|title| style.dim(title)));
    for way in &study.ways {
        let inference = &way.inference;
        let within = format!("{} of {}", inference.services_within_objective, study.services);
        let missed = format!("{} of {}", thousands(inference.peaks_missed as u64), inference.peaks);
        let good = |good: bool, text: &str| if good { style.green(text) } else { style.yellow(text) };
        table.row([
            way.way.to_owned(),
            format!("{:.3} %", inference.served_percent),
            format!("{:.3} %", inference.worst_service_served_percent),
            good(inference.services_within_objective == study.services, &within),
            format!("{:.2} %", inference.steps_missed_percent),
            good(inference.peaks_missed == 0, &missed),
            thousands(inference.peaks_short as u64),
            gpu_hours(inference.idle_before_turns_gpu_h),
        ]);
    }
    text += "\n";
    text += &table.render(2);
    text += &format!(
        "\n  used: training and needed replicas, without the headroom of services. A service is within its objective where \
         {OBJECTIVE_PERCENT} % of its\n  load found a replica, a step of 5 minutes is missed where less than {PEAK_PERCENT} % of it did, and short where not all did.\n"
    );
    text
}

/// As a picture.
pub(super) fn draw(study: &DayNight) -> String {
    let lines: Vec<Line> = study
        .ways
        .iter()
        .map(|way| Line {
            name: way.way.to_owned(),
            points: way.course.iter().map(|&(at_s, percent)| (at_s / 86_400.0, percent)).collect(),
        })
        .collect();
    picture::svg("GPUs allocated: inference by day, training by night", "days", &lines)
}
