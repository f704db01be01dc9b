//! `heddle fabric status`: where the running fabric stands.

use clap::Args;
use serde_json::Value;

use super::server::{Server, number, word};
use crate::Answer;
use crate::failure::Failure;
use crate::files;
use crate::style::{Style, count, seconds, thousands};
use crate::table::{Side, Table};

/// Options of `heddle fabric status`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  heddle fabric status\n  heddle fabric status --server http://127.0.0.1:7981 --json\n\n\
    Exit codes: 0 it is up and every link that was there is in service, 1 it is not, 2 no controller answers."
)]
pub struct Status {
    #[command(flatten)]
    server: Server,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Status {
    /// Asks and prints.
    pub fn run(self) -> Result<Answer, Failure> {
        let fabric = self.server.get("/fabric")?;
        if self.json {
            files::print_json(&fabric)?;
        } else {
            files::write("-", render(&fabric, &Style::stdout()).as_bytes())?;
        }
        let lost = number(&fabric["links"], "down") + number(&fabric["links"], "held_down");
        let is_sound = word(&fabric, "state") == "up" && lost == 0;
        Ok(if is_sound { Answer::Yes } else { Answer::No })
    }
}

fn render(fabric: &Value, style: &Style) -> String {
    let state = match word(fabric, "state") {
        "up" => style.green_bold("up"),
        "refused" => style.red_bold("refused"),
        other => style.yellow(other),
    };
    let links = &fabric["links"];
    let mut down = count(number(links, "down"), "link");
    down.push_str(" down");
    let held = number(links, "held_down");
    if held > 0 {
        down.push_str(&format!(", {held} held down for flapping"));
    }
    let down = if number(links, "down") + held > 0 { style.red_bold(&down) } else { down };
    let mut table = Table::new([Side::Left, Side::Left]);
    table.row(["fabric".to_owned(), format!("{state}: {}", word(fabric, "place"))]);
    if let Some(refused) = fabric["refused"].as_str() {
        table.row(["refused", refused]);
    }
    table.row([
        "devices".to_owned(),
        format!(
            "{}, {}, {}{}",
            count(number(fabric, "switches"), "switch"),
            count(number(fabric, "hosts"), "host"),
            count(number(fabric, "lids"), "LID"),
            match number(fabric, "absent") {
                0 => String::new(),
                absent => format!("; {absent} that were there are gone"),
            }
        ),
    ]);
    table.row(["links".to_owned(), format!("{} in service, {down}", thousands(number(links, "active")))]);
    table.row(["routing", fabric["routing"].as_str().unwrap_or("not yet")]);
    let proof = &fabric["proof"];
    if !proof.is_null() {
        let bad = ["unreachable", "loops", "credit_loops"].map(|key| number(proof, key));
        let text = if bad == [0; 3] {
            format!("all {} reachable, no loop, no credit loop", count(number(proof, "pairs"), "pair"))
        } else {
            style
                .red_bold(&format!("{} pairs unreachable, {} loops, {} credit loops", bad[0], bad[1], bad[2]))
        };
        table.row(["proof".to_owned(), text]);
    }
    let heals = &fabric["heals"];
    let of = |key: &str| seconds(heals[key].as_f64().unwrap_or_default() * 1e-3);
    let text = match number(heals, "count") {
        0 => "none yet".to_owned(),
        times => format!("{times}, the last in {}, the longest in {}", of("last_ms"), of("longest_ms")),
    };
    table.row(["heals".to_owned(), text]);
    let mut text = table.render(0);
    for finding in fabric["findings"].as_array().into_iter().flatten() {
        text.push_str(&format!(
            "\n{} ({}): {}\n",
            style.yellow(word(finding, "message")),
            word(finding, "place"),
            word(finding, "mend")
        ));
    }
    text
}
