//! The course of a replay as a file: a picture, CSV or JSON.

use scheduler::replay::inflate::Point;
use scheduler::replay::picture::{self, Line};
use scheduler::simulate::Moment;
use serde::Serialize;

use super::figures::Figures;
use crate::failure::Failure;
use crate::files;

/// How full a cluster was, point by point.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum Course {
    /// By the demand that has arrived.
    Demand(Vec<Point>),
    /// By time.
    Time(Vec<Moment>),
}

/// Whether the ending of a path tells a format.
pub fn has_format(path: &str) -> bool {
    [".svg", ".csv", ".json"].iter().any(|ending| path.ends_with(ending))
}

/// Writes courses in the format that the path's ending tells.
pub fn write(path: &str, figures: &[Figures]) -> Result<(), Failure> {
    let text = if path.ends_with(".svg") {
        let lines: Vec<Line> = figures
            .iter()
            .map(|figures| Line {
                name: figures.policy.clone(),
                points: match &figures.course {
                    Course::Demand(points) => {
                        points.iter().map(|point| (point.arrived_percent, point.allocated_percent)).collect()
                    }
                    Course::Time(moments) => {
                        moments.iter().map(|moment| (moment.at_s / 3600.0, moment.gpu_used_percent)).collect()
                    }
                },
            })
            .collect();
        let across = match figures.first().map(|figures| &figures.course) {
            Some(Course::Demand(_)) => "demand that has arrived, in per cent of all GPUs",
            _ => "hours",
        };
        picture::svg("GPUs allocated", across, &lines)
    } else if path.ends_with(".json") {
        let courses: std::collections::BTreeMap<_, _> =
            figures.iter().map(|figures| (&figures.policy, &figures.course)).collect();
        serde_json::to_string(&courses)
            .map_err(|error| Failure::new(format!("cannot write as JSON: {error}"), path, ""))?
    } else {
        let mut text = String::new();
        for figures in figures {
            let name = &figures.policy;
            match &figures.course {
                Course::Demand(points) => {
                    text += if text.is_empty() {
                        "policy,arrived_percent,allocated_percent,fragmented_percent\n"
                    } else {
                        ""
                    };
                    for point in points {
                        let Point { arrived_percent, allocated_percent, fragmented_percent } = point;
                        text +=
                            &format!("{name},{arrived_percent},{allocated_percent},{fragmented_percent}\n");
                    }
                }
                Course::Time(moments) => {
                    text += if text.is_empty() {
                        "policy,at_s,gpu_used_percent,gpu_fragmented_percent,waiting,running\n"
                    } else {
                        ""
                    };
                    for moment in moments {
                        let Moment { at_s, gpu_used_percent, gpu_fragmented_percent, waiting, running } =
                            moment;
                        text += &format!(
                            "{name},{at_s},{gpu_used_percent},{gpu_fragmented_percent},{waiting},{running}\n"
                        );
                    }
                }
            }
        }
        text
    };
    files::write(path, text.as_bytes())
}
