//! A picture of courses as SVG: per cent over time or over demand, a line a policy.

use std::fmt::Write;

/// A line of the picture.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// What it is called.
    pub name: String,
    /// Points from left to right; heights in per cent.
    pub points: Vec<(f64, f64)>,
}

/// Colours that differ for eyes of every kind (Okabe and Ito, 2008); the last line, drawn over all others, has the first.
const COLOURS: [&str; 8] =
    ["#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999"];

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 160.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;

/// Draws lines under a title; `across` says what goes from left to right.
pub fn svg(title: &str, across: &str, lines: &[Line]) -> String {
    let most = lines.iter().flat_map(|line| &line.points).map(|point| point.0).fold(0.0, f64::max).max(1e-9);
    let x = |value: f64| LEFT + value / most * (WIDTH - LEFT - RIGHT);
    let y = |percent: f64| TOP + (100.0 - percent.clamp(0.0, 100.0)) / 100.0 * (HEIGHT - TOP - BOTTOM);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"16\">{}</text>\n",
        escape(title)
    );
    // Writing to a string does not fail.
    for percent in (0..=100).step_by(20) {
        let at = y(f64::from(percent));
        let _ = writeln!(
            text,
            "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{percent} %</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            at + 4.0
        );
    }
    let step = round_step(most / 6.0);
    for part in 0..=(most / step).floor() as u32 {
        let value = step * f64::from(part);
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            x(value),
            HEIGHT - BOTTOM + 18.0,
            (value * 1e6).round() / 1e6
        );
    }
    let _ = writeln!(
        text,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 10.0,
        escape(across)
    );
    for (at, line) in lines.iter().enumerate() {
        let colour = COLOURS[(lines.len() - 1 - at) % COLOURS.len()];
        let points: Vec<String> = line
            .points
            .iter()
            .map(|&(along, percent)| format!("{:.1},{:.1}", x(along), y(percent)))
            .collect();
        let _ = writeln!(
            text,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\" points=\"{}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{}</text>",
            points.join(" "),
            WIDTH - RIGHT + 12.0,
            TOP + 14.0 + 18.0 * at as f64,
            escape(&line.name)
        );
    }
    text.push_str("</svg>\n");
    text
}

/// The smallest of 1, 2, 5, 10, 20 and so on (and of their tenths) that is no less.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0].into_iter().map(|times| times * power).find(|&step| step >= least).unwrap_or(10.0 * power)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        assert_eq!([0.3, 1.0, 1.1, 4.9, 6.0].map(round_step), [0.5, 1.0, 2.0, 5.0, 10.0]);
    }
}
