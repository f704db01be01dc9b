//! The forecast on two real series of demand, beside what needs no forecast.

#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use std::path::PathBuf;

use scheduler::forecast::{self, Part, Report};

const HOUR: u32 = 3600;

/// A series of the shared data with every value times `unit`, and its report; `part` says which steps are judged.
fn report(
    file: &str,
    queue: &str,
    unit: f64,
    horizon_s: u32,
    part: impl Fn(&forecast::History) -> Part,
) -> Option<Report> {
    let shared = std::env::var_os("HEDDLE_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let path = shared.join("traces/demand").join(file);
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: no shared data ({})", path.display());
        return None;
    };
    let history = forecast::read(file, &text).expect("a history");
    let queue = history.queues.iter().find(|of| of.name == queue).expect("the queue");
    let values: Vec<f64> = queue.values.iter().map(|value| value * unit).collect();
    let report = forecast::evaluate(&values, history.step_s, horizon_s, part(&history));
    Some(report.expect("a step that fits").expect("steps to judge"))
}

fn training(horizon_s: u32) -> Option<Report> {
    report("training-nodes-10min.csv", "active_nodes", 1.0, horizon_s, |history| Part {
        from: history.step_at("2017-12-01T00:00:00".parse().unwrap()),
        until: history.step_at("2017-12-15T00:00:00".parse().unwrap()),
    })
}

fn serving(horizon_s: u32) -> Option<Report> {
    report("image-serving-hourly.csv", "gpu_seconds", 1.0 / 3600.0, horizon_s, |history| Part {
        from: history.len() * 6 / 10,
        until: history.len(),
    })
}

fn best_baseline(report: &Report) -> f64 {
    report.baselines.iter().map(|judged| judged.errors.mae).fold(f64::INFINITY, f64::min)
}

#[test]
fn training_an_hour_ahead_is_not_worse_than_the_last_value() {
    let Some(report) = training(HOUR) else { return };
    println!("{report:#?}");
    assert!((best_baseline(&report) - 6.03).abs() < 0.01, "the baseline is the published one");
    assert!(report.errors.mae <= best_baseline(&report), "{:?}", report.errors);
    assert!((87.0..=93.0).contains(&report.inside_percent), "{}", report.inside_percent);
}

#[test]
fn serving_an_hour_ahead_beats_the_best_baseline_by_a_tenth() {
    let Some(report) = serving(HOUR) else { return };
    println!("{report:#?}");
    assert!((best_baseline(&report) - 0.265).abs() < 0.001, "the baseline is the published one");
    assert!(report.errors.mae <= 0.9 * best_baseline(&report), "{:?}", report.errors);
    assert!((87.0..=93.0).contains(&report.inside_percent), "{}", report.inside_percent);
}

#[test]
fn a_day_ahead_beats_the_last_value() {
    for report in [training(24 * HOUR), serving(24 * HOUR)].into_iter().flatten() {
        println!("{report:#?}");
        assert!(report.errors.mae <= report.baselines[0].errors.mae, "{:?}", report.errors);
    }
}
