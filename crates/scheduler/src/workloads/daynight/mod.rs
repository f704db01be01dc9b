//! Inference by day and training by night on 2,000 GPUs: a pool with a calendar, services whose load follows the office hours
//! ([`loads`]), and a long queue of training ([`training`]).
//!
//! [`compare`] runs a month three ways and more: inference and training on fixed parts, and in one pool with replicas by the
//! last load or by a forecast. How replicas are found is in [`planner`]; none of the workload knows of it. All figures are
//! round numbers of ours.

mod compare;
pub mod fleet;
pub mod loads;
pub mod planner;
pub mod training;

use super::Workload;

pub use compare::{DayNight, Inference, OBJECTIVE_PERCENT, Training, Way, compare};

/// Nodes of the pool.
pub const NODES: u32 = 250;

/// GPUs of a node.
pub const GPUS_A_NODE: u16 = 8;

/// Unix seconds when the jobs begin to come: Monday, 2 November 2026, 00:00 UTC. The history of loads lies before it.
pub const EPOCH_S: i64 = 1_793_577_600;

/// What of the pool is for inference on weekdays from 09:00 to 18:00, per cent; at all other times [`OTHERWISE_PERCENT`].
pub const OFFICE_PERCENT: u8 = 80;

/// What is for inference at all other times, per cent.
pub const OTHERWISE_PERCENT: u8 = 40;

/// How long before each turn draining begins.
pub const DRAIN_MINUTES: u32 = 30;

/// Makes the pool and the training jobs of so many days.
pub fn workload(days: u32, seed: u64) -> Workload {
    let gpus = NODES * u32::from(GPUS_A_NODE);
    Workload { pool: pool(), trace: training::jobs(days, gpus, GPUS_A_NODE, seed) }
}

fn pool() -> String {
    format!(
        "# Inference by day, training by night: what one does not use the other borrows, and gives back.\nheddle-pool = 1\n\n\
         [[node]]\nname = \"node[001-{NODES:03}]\"\nmodel = \"H100-80GB\"\ngpus = {GPUS_A_NODE}\ncpus = [56, 56]\n\
         memory-mib = 2097152\n\n\
         [calendar]\nzone = \"UTC\"\notherwise-inference-percent = {OTHERWISE_PERCENT}\ndrain-minutes = {DRAIN_MINUTES}\n\n\
         [[calendar.window]]\nname = \"office hours\"\ndays = [\"weekdays\"]\nfrom = \"09:00\"\nuntil = \"18:00\"\n\
         inference-percent = {OFFICE_PERCENT}\n"
    )
}

/// The loads of the last days of the history and of the days of the study as a history of demand, in GPUs, as
/// `heddle pool forecast` reads it; the largest of each hour.
pub fn history(days: u32, seed: u64) -> String {
    let services = loads::services(days, seed);
    let mut text = "time".to_owned();
    for service in &services {
        text += ",";
        text += &service.name;
    }
    text += "\n";
    let begun_s = EPOCH_S - i64::from(loads::HISTORY_DAYS) * 86_400;
    let steps = services.first().map_or(0, |service| service.load.len());
    let an_hour = 3600 / loads::STEP_S as usize;
    for step in (0..steps).step_by(an_hour) {
        let at = jiff::Timestamp::from_second(begun_s + step as i64 * i64::from(loads::STEP_S));
        let at = jiff::tz::TimeZone::UTC.to_datetime(at.unwrap_or_default());
        text += &at.strftime("%Y-%m-%d %H:%M:%S").to_string();
        for service in &services {
            let most = service.load[step..step + an_hour].iter().copied().fold(0.0, f64::max);
            text += &format!(",{:.1}", most * f64::from(service.gpus));
        }
        text += "\n";
    }
    text
}
