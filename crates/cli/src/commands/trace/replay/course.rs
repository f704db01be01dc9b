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

/// More policies than these are drawn by one line each.
const MOST_DRAWN_TWICE: usize = 3;

/// Writes courses in the format that the path's ending tells.
pub fn write(path: &str, figures: &[Figures]) -> Result<(), Failure> {
    let text = if path.ends_with(".svg") {
        draw(figures)
    } else if path.ends_with(".json") {
        let courses: std::collections::BTreeMap<_, _> =
            figures.iter().map(|figures| (&figures.policy, &figures.course)).collect();
        serde_json::to_string(&courses)
            .map_err(|error| Failure::new(format!("cannot write as JSON: {error}"), path, ""))?
    } else {
        table(figures)
    };
    files::write(path, text.as_bytes())
}

/// What holds from each point to the next, as corners of a line.
fn steps(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut corners: Vec<(f64, f64)> = Vec::new();
    for (at, value) in points {
        corners.extend(corners.last().map(|&(_, before)| (at, before)));
        corners.push((at, value));
    }
    corners
}

fn draw(figures: &[Figures]) -> String {
    let mut lines = Vec::new();
    for Figures { policy, course, .. } in figures {
        match course {
            Course::Demand(points) => lines.push(Line {
                name: policy.clone(),
                points: points.iter().map(|point| (point.arrived_percent, point.allocated_percent)).collect(),
            }),
            Course::Time(moments) => {
                let line = |name: String, percent: fn(&Moment) -> f64| Line {
                    name,
                    points: steps(moments.iter().map(|moment| (moment.at_s / 3600.0, percent(moment)))),
                };
                let shared = moments.iter().any(|m| m.gpu_occupied_percent > m.gpu_used_percent);
                if shared && figures.len() <= MOST_DRAWN_TWICE {
                    lines.push(line(format!("{policy}: occupied"), |moment| moment.gpu_occupied_percent));
                    lines.push(line(format!("{policy}: used"), |moment| moment.gpu_used_percent));
                } else {
                    lines.push(line(policy.clone(), |moment| moment.gpu_used_percent));
                }
            }
        }
    }
    match figures.first().map(|figures| &figures.course) {
        Some(Course::Demand(_)) => {
            picture::svg("GPUs allocated", "demand that has arrived, in per cent of all GPUs", &lines)
        }
        _ => picture::svg("GPUs in use", "hours", &lines),
    }
}

fn table(figures: &[Figures]) -> String {
    let mut text = match figures.first().map(|figures| &figures.course) {
        Some(Course::Demand(_)) => "policy,arrived_percent,allocated_percent,fragmented_percent\n",
        _ => "policy,at_s,gpu_used_percent,gpu_occupied_percent,gpu_fragmented_percent,waiting,running\n",
    }
    .to_owned();
    for Figures { policy, course, .. } in figures {
        match course {
            Course::Demand(points) => {
                for Point { arrived_percent, allocated_percent, fragmented_percent } in points {
                    text += &format!("{policy},{arrived_percent},{allocated_percent},{fragmented_percent}\n");
                }
            }
            Course::Time(moments) => {
                for moment in moments {
                    let Moment { at_s, waiting, running, .. } = moment;
                    let (used, occupied) = (moment.gpu_used_percent, moment.gpu_occupied_percent);
                    let fragmented = moment.gpu_fragmented_percent;
                    text += &format!("{policy},{at_s},{used},{occupied},{fragmented},{waiting},{running}\n");
                }
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_holds_until_the_next() {
        let points = [(0.0, 1.0), (2.0, 3.0), (5.0, 0.0)].into_iter();
        assert_eq!(steps(points), [(0.0, 1.0), (2.0, 1.0), (2.0, 3.0), (5.0, 3.0), (5.0, 0.0)]);
    }
}
