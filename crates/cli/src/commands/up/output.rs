//! What a bring-up found and did: for programs as JSON, for people as a table.

use controller::Times;
use fabric::compare::Difference;
use serde::Serialize;
use subnet::{MadCounts, Phase, Report, Verified};

use crate::style::{Style, count, seconds, thousands};
use crate::table::{Side, Table};

/// Seconds of real time.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Seconds {
    discover: f64,
    route: f64,
    program: f64,
    /// From the start of the program.
    total: f64,
}

/// One thing that is not as it should be.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    kind: String,
    place: String,
    message: String,
    mend: String,
}

/// Where the fabric stands; the shape of the JSON that `heddle up --json` prints.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Outcome {
    state: Phase,
    door: String,
    switches: usize,
    hosts: usize,
    links: usize,
    lids: usize,
    routing: Option<String>,
    mads: MadCounts,
    lft_blocks_written: u64,
    seconds: Seconds,
    /// The same by the emulated fabric's clock.
    virtual_seconds: Option<subnet::Seconds>,
    virtual_lanes: u8,
    verify: Verified,
    refused: Option<String>,
    findings: Vec<Finding>,
}

/// What an [`Outcome`] is made of.
pub struct Standing<'a> {
    /// What the manager says.
    pub report: &'a Report,
    /// The real time of each phase.
    pub times: Times,
    /// Seconds since the program started.
    pub total: f64,
    /// Where the door leads.
    pub door: &'a str,
    /// Whether the fabric is emulated under a virtual clock.
    pub emulated: bool,
    /// Where the fabric differs from its plan.
    pub differences: &'a [Difference],
}

impl Outcome {
    /// From what the manager says and what the session measured.
    pub fn new(standing: &Standing<'_>) -> Self {
        let &Standing { report, times, total, door, emulated, differences } = standing;
        let finding = |finding: &subnet::Finding| Finding {
            // A unit variant always prints as its name.
            kind: serde_json::to_value(finding.kind)
                .ok()
                .and_then(|kind| kind.as_str().map(str::to_owned))
                .unwrap_or_default(),
            place: finding.place.clone(),
            message: finding.message.clone(),
            mend: finding.mend.clone(),
        };
        let difference = |difference: &Difference| Finding {
            kind: "differs-from-plan".to_owned(),
            place: difference.ends.join(" - "),
            message: difference.to_string(),
            mend: "mend the cabling, or the plan".to_owned(),
        };
        Self {
            state: report.state,
            door: door.to_owned(),
            switches: report.switches,
            hosts: report.hosts,
            links: report.links,
            lids: report.lids,
            routing: report.routing.clone(),
            mads: report.mads.clone(),
            lft_blocks_written: report.lft_blocks_written,
            seconds: Seconds {
                discover: times.discover.as_secs_f64(),
                route: times.route.as_secs_f64(),
                program: times.program.as_secs_f64(),
                total,
            },
            virtual_seconds: emulated.then_some(report.seconds),
            virtual_lanes: report.virtual_lanes,
            verify: report.verify,
            refused: report.refused.clone(),
            findings: report.findings.iter().map(finding).chain(differences.iter().map(difference)).collect(),
        }
    }

    /// Whether the fabric is up and every pair has its path.
    pub fn is_sound(&self) -> bool {
        let Verified { unreachable, loops, credit_loops, .. } = self.verify;
        self.state == Phase::Up && unreachable == 0 && loops == 0 && credit_loops == 0
    }

    /// The table for people.
    pub fn render(&self, style: Style) -> String {
        let mut text = self.headline(style);
        text.push('\n');
        let mut facts = Table::new([Side::Left, Side::Left]);
        facts.row([style.dim("fabric"), self.fabric()]);
        if let Some(routing) = &self.routing {
            for (at, line) in wrap(routing, 82).into_iter().enumerate() {
                facts.row([if at == 0 { style.dim("routing") } else { String::new() }, line]);
            }
        }
        facts.row([style.dim("proof"), self.proof(style)]);
        text.push_str(&facts.render(2));
        text.push('\n');
        text.push_str(&self.phases(style));
        text.push('\n');
        text.push_str(&self.kinds(style));
        text.push_str(&self.findings(style));
        text
    }

    fn headline(&self, style: Style) -> String {
        let total = seconds(self.seconds.total);
        match self.state {
            Phase::Up if self.is_sound() => format!("{} in {total}: {}\n", style.green_bold("up"), self.door),
            Phase::Up => format!("{} in {total}: {}\n", style.red_bold("up, but not sound"), self.door),
            Phase::Standby => {
                format!(
                    "{} after {total}: another manager is the master ({})\n",
                    style.yellow("standby"),
                    self.door
                )
            }
            _ => format!("{} after {total}: {}\n", style.red_bold("not up"), self.door),
        }
    }

    fn fabric(&self) -> String {
        format!(
            "{}, {}, {}, {}",
            count(self.switches as u64, "switch"),
            count(self.hosts as u64, "host"),
            count(self.links as u64, "link"),
            count(self.lids as u64, "LID")
        )
    }

    fn proof(&self, style: Style) -> String {
        let Verified { pairs, unreachable, loops, credit_loops } = self.verify;
        if unreachable == 0 && loops == 0 && credit_loops == 0 {
            let lanes = match self.virtual_lanes {
                1 => "one lane".to_owned(),
                lanes => format!("{lanes} lanes"),
            };
            let pairs = count(pairs, "pair");
            let text = format!("all {pairs} reachable, no loop, no credit loop on {lanes}");
            return style.green(&text);
        }
        style.red_bold(&format!(
            "{} of {} unreachable, {}, {}",
            thousands(unreachable),
            count(pairs, "pair"),
            count(loops, "loop"),
            count(credit_loops, "credit loop")
        ))
    }

    fn phases(&self, style: Style) -> String {
        let mut table = Table::new([Side::Left, Side::Right, Side::Right, Side::Left]);
        let heading = |text: &str| style.dim(text);
        let emulated = self.virtual_seconds;
        let mut first = vec![heading("phase"), heading("time")];
        if emulated.is_some() {
            first.push(heading("emulated"));
        }
        table.row(first);
        let blocks = format!("{} written", count(self.lft_blocks_written, "table block"));
        let rows = [
            ("discover", self.seconds.discover, emulated.map(|e| e.discover), String::new()),
            ("route", self.seconds.route, None, String::new()),
            ("program", self.seconds.program, emulated.map(|e| e.program), blocks),
            ("in all", self.seconds.total, emulated.map(|e| e.total), String::new()),
        ];
        for (phase, real, virtual_time, note) in rows {
            let mut row = vec![phase.to_owned(), seconds(real)];
            if emulated.is_some() {
                row.push(virtual_time.map_or_else(String::new, seconds));
            }
            row.push(style.dim(&note));
            table.row(row);
        }
        table.render(2)
    }

    fn kinds(&self, style: Style) -> String {
        let mut table = Table::new([Side::Left, Side::Right, Side::Right, Side::Right]);
        table.row(["MADs", "sent", "again", "answered"].map(|text| style.dim(text)));
        let none_as_blank = |number: u64| if number == 0 { String::new() } else { thousands(number) };
        let mut kinds: Vec<_> = self.mads.kinds.iter().filter(|(_, kind)| kind.sent > 0).collect();
        kinds.sort_by_key(|(_, kind)| std::cmp::Reverse(kind.sent));
        for (name, kind) in kinds {
            table.row([
                name.clone(),
                thousands(kind.sent),
                none_as_blank(kind.retried),
                thousands(kind.answered),
            ]);
        }
        let answered = self.mads.kinds.values().map(|kind| kind.answered).sum();
        table.row([
            "in all".to_owned(),
            thousands(self.mads.sent),
            none_as_blank(self.mads.retried),
            thousands(answered),
        ]);
        table.render(2)
    }

    fn findings(&self, style: Style) -> String {
        const MOST: usize = 20;
        if self.findings.is_empty() {
            return String::new();
        }
        let mut text = format!("\n  {}\n", style.yellow(&count(self.findings.len() as u64, "finding")));
        for finding in self.findings.iter().take(MOST) {
            text.push_str(&finding.render(style, 2));
        }
        if self.findings.len() > MOST {
            text.push_str(&format!(
                "  and {} more: see --json\n",
                thousands((self.findings.len() - MOST) as u64)
            ));
        }
        text
    }
}

impl Finding {
    fn render(&self, style: Style, indent: usize) -> String {
        let pad = " ".repeat(indent);
        let mut text = format!("{pad}{} {}\n", style.yellow("!"), self.message);
        if !self.place.is_empty() && !self.message.contains(&self.place) {
            text.push_str(&format!("{pad}  {} {}\n", style.dim("at"), self.place));
        }
        if !self.mend.is_empty() {
            text.push_str(&format!("{pad}  {} {}\n", style.dim("help:"), self.mend));
        }
        text
    }
}

/// Cuts text into lines of up to `width` letters between words.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}
