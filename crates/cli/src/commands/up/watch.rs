//! Shows a session as it runs: progress on a terminal, what changes afterwards, LIDs into their file.

use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, Instant};

use controller::feed::Feed;
use controller::{Observer, Times, lids};
use fabric::compare::Difference;
use ib::Time;
use indicatif::{ProgressBar, ProgressStyle};
use subnet::{Event, Phase, Report, SubnetManager};

use super::options::{Door, Up};
use super::output::{Outcome, Standing};
use crate::failure::Failure;
use crate::files;
use crate::style::{Style, count, seconds};

/// Shows a session.
pub struct Watcher {
    place: String,
    emulated: bool,
    json: bool,
    started: Instant,
    bar: Option<ProgressBar>,
    lids: Option<String>,
    style: Style,
    /// Once the first bring-up is done.
    watching: bool,
    /// When the resweep under way began.
    changing: Option<Instant>,
    /// Who else hears of everything, and where that is served.
    feed: Option<(Feed, String)>,
}

impl Watcher {
    /// For one call of `heddle up`.
    pub fn new(up: &Up, place: String, compares: bool) -> Self {
        let place = if compares {
            format!("{place}, compared with {}", up.file.as_deref().unwrap_or_default())
        } else {
            place
        };
        Self {
            place,
            emulated: up.door() == Door::Emulate,
            json: up.json,
            started: Instant::now(),
            bar: std::io::stderr().is_terminal().then(bar),
            lids: up.lids.clone(),
            style: Style::stdout(),
            watching: false,
            changing: None,
            feed: None,
        }
    }

    /// Lets the controller hear of everything.
    pub fn tell(&mut self, feed: Feed, url: String) {
        self.feed = Some((feed, url));
    }

    /// Where the door leads.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Where the fabric stands now.
    pub fn outcome(&self, report: &Report, times: Times, differences: &[Difference]) -> Outcome {
        Outcome::new(&Standing {
            report,
            times,
            total: self.started.elapsed().as_secs_f64(),
            door: &self.place,
            emulated: self.emulated,
            differences,
        })
    }

    /// Prints where the fabric stands.
    pub fn show(&self, outcome: &Outcome) -> Result<(), Failure> {
        if self.json {
            files::print_json(outcome)
        } else {
            files::write("-", outcome.render(self.style).as_bytes())
        }
    }

    /// The first bring-up is done: from now on, changes are printed.
    pub fn begin_watching(&mut self, manager: &SubnetManager) {
        self.watching = true;
        if let Some((feed, _)) = &mut self.feed {
            feed.show(manager);
        }
        let address = self.feed.as_ref().map(|(_, url)| url);
        let text = match (self.json, address) {
            (true, Some(address)) => format!("{}\n", serde_json::json!({ "listening": address })),
            (true, None) => return,
            (false, address) => {
                let at =
                    address.map_or_else(String::new, |address| format!("the API is at {address}/api/v1; "));
                format!("\n{}\n", self.style.dim(&format!("{at}watching; Ctrl-C ends it")))
            }
        };
        // A reader that has gone ends the program by its signal.
        let _ = files::write("-", text.as_bytes());
    }

    /// Takes the progress away.
    pub fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn line(&self, time: Time, text: &str) {
        let at = format!("{:>10.3} s", time.0 as f64 * 1e-9);
        let _ = files::write("-", format!("{}  {text}\n", self.style.dim(&at)).as_bytes());
    }

    fn json_line(&self, time: Time, event: &Event) {
        let line = serde_json::json!({ "seconds": time.0 as f64 * 1e-9, "said": event });
        let _ = files::write("-", format!("{line}\n").as_bytes());
    }

    fn say(&mut self, time: Time, event: &Event) {
        if self.json {
            return self.json_line(time, event);
        }
        match event {
            Event::Resweep { cause } => {
                self.changing = Some(Instant::now());
                self.line(time, &format!("{}: looking at the fabric anew", self.style.yellow(cause)));
            }
            Event::Finding(finding) => {
                self.line(
                    time,
                    &format!("{} ({}): {}", self.style.yellow(&finding.message), finding.place, finding.mend),
                );
            }
            Event::Up { switches, hosts, links } => {
                let took = self.changing.take().map_or(Duration::ZERO, |since| since.elapsed());
                self.line(
                    time,
                    &format!(
                        "{} after {}: {}, {}, {}",
                        self.style.green_bold("up"),
                        seconds(took.as_secs_f64()),
                        count(*switches as u64, "switch"),
                        count(*hosts as u64, "host"),
                        count(*links as u64, "link")
                    ),
                );
            }
            Event::Refused { reason } => self.line(time, &self.style.red_bold(reason)),
            Event::Trap { number, from, text } => {
                self.line(time, &format!("trap {number} from LID {from}: {text}"))
            }
            Event::Healed { lost, back, fresh, blocks, mads, seconds: took, .. } => {
                let new = match fresh {
                    0 => String::new(),
                    _ => format!(", {} new or restarted", count(*fresh as u64, "device")),
                };
                self.line(
                    time,
                    &format!(
                        "{} after {}: {} lost, {back} back{new}; {} written, {} sent",
                        self.style.green_bold("healed"),
                        seconds(*took),
                        count(*lost as u64, "link"),
                        count(*blocks, "block"),
                        count(*mads, "MAD"),
                    ),
                );
            }
            Event::Rebalanced { entries, blocks } => {
                let entries = count(*entries as u64, "table entry");
                self.line(
                    time,
                    &format!("rebalanced: {entries} changed, {} written", count(*blocks, "block")),
                );
            }
            Event::HeldDown { port, seconds: held } => {
                let held = seconds(*held);
                self.line(
                    time,
                    &format!("{}: left down for {held}", self.style.yellow(&format!("{port} flaps"))),
                );
            }
            Event::Cut { switches, hosts } => {
                let (some, more) = (switches.iter().take(8), switches.len().saturating_sub(8));
                let mut names = some.map(String::as_str).collect::<Vec<_>>().join(", ");
                if more > 0 {
                    names.push_str(&format!(" and {more} more"));
                }
                let hosts = count(*hosts as u64, "host");
                self.line(time, &format!("{}: {names}, with {hosts}", self.style.red_bold("cut off")));
            }
            Event::Reroute { cause } => {
                self.line(time, &format!("{cause}: computing all tables anew"));
            }
            Event::Standby { master, priority } => {
                self.line(time, &format!("standby: {master} with priority {priority} is the master"));
            }
            Event::TakeOver { cause } => self.line(time, &format!("master: {cause}")),
            Event::LidsAssigned { new, .. } if *new > 0 => self.line(time, &count(*new as u64, "new LID")),
            Event::LidsAssigned { .. } | Event::Phase { .. } => {}
        }
    }
}

impl Observer for Watcher {
    fn event(&mut self, time: Time, event: &Event, manager: &SubnetManager) {
        if let Some((feed, _)) = &mut self.feed {
            feed.event(time, event, manager);
        }
        if let (Event::LidsAssigned { lids: assigned, .. }, Some(path)) = (event, &self.lids)
            && let Err(error) = lids::write(Path::new(path), assigned)
        {
            Failure::new(
                format!("cannot keep LIDs: {error}"),
                path,
                "make the folder writable, or give another --lids",
            )
            .print();
        }
        if self.watching {
            self.say(time, event);
        }
    }

    fn progress(&mut self, manager: &SubnetManager) {
        if let Some((feed, _)) = &mut self.feed {
            feed.progress(manager);
        }
        let Some(bar) = &self.bar else { return };
        let progress = manager.progress();
        let nodes = count(progress.nodes as u64, "node");
        let (doing, known) = match progress.phase {
            Phase::Discover => (format!("discovering: {nodes}"), false),
            Phase::Route => (format!("routing {nodes}"), false),
            Phase::Program => ("programming".to_owned(), true),
            Phase::Arm => ("arming links".to_owned(), true),
            Phase::Activate => ("activating links".to_owned(), true),
            Phase::Up | Phase::Standby | Phase::Refused => return,
        };
        let whole = if known { progress.of.max(1) } else { 0 };
        bar.set_length(whole);
        bar.set_position(if known { progress.done.min(whole) } else { 0 });
        bar.set_message(doing);
        bar.tick();
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template("{spinner} {msg:40} {bar:30} {elapsed}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}
