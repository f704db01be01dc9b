//! What the fabric's thread tells the rest of the controller. While it manages it never waits for those who hear it.

use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use ib::Time;
use subnet::{Event, Phase, Progress, Report, SubnetManager};

use crate::session::Observer;
use crate::view::Snapshot;

/// The shortest time between two pictures, and the longest that a change may wait for one while heals follow each other.
const BETWEEN: Duration = Duration::from_millis(50);
const AT_LEAST: Duration = Duration::from_secs(1);
/// Counts of MADs are told so often where nothing else is.
const REPORTS: Duration = Duration::from_secs(5);
/// A first picture is waited for so long at most.
const PATIENCE: Duration = Duration::from_secs(5);

/// News of the fabric.
#[derive(Debug)]
pub enum News {
    /// The manager said something.
    Said {
        /// When, on the fabric's clock.
        at: Time,
        /// What.
        event: Event,
    },
    /// How far a bring-up is.
    Progress(Progress),
    /// A new picture.
    Snapshot(Box<Snapshot>),
    /// All before this is to be seen by readers; then an answer is wanted.
    Seen(Sender<()>),
    /// The manager's counts, where the cabling is as it was.
    Report(Box<Report>),
}

/// Observes a session and tells what it sees.
#[derive(Debug)]
pub struct Feed {
    to: Sender<News>,
    /// Since when the picture is out of date.
    changed: Option<Instant>,
    told: Option<Instant>,
}

impl Feed {
    /// Tells everything to `to`; where nobody listens any more, nobody.
    pub fn new(to: Sender<News>) -> Self {
        Self { to, changed: None, told: None }
    }

    fn tell(&mut self, news: News) {
        // The controller ends its listeners last: then there is nobody to tell.
        let _ = self.to.send(news);
    }
}

impl Feed {
    /// Shows the fabric as it stands, and waits until readers see it: who is told that the fabric is up finds it so.
    pub fn show(&mut self, manager: &SubnetManager) {
        self.picture(manager);
        let (seen, heard) = channel();
        self.tell(News::Seen(seen));
        // A keeper that has broken off keeps nobody waiting, and a slow one not for long.
        let _ = heard.recv_timeout(PATIENCE);
    }

    fn picture(&mut self, manager: &SubnetManager) {
        self.changed = None;
        self.told = Some(Instant::now());
        let snapshot = Snapshot { fabric: manager.fabric().clone(), report: manager.report() };
        self.tell(News::Snapshot(Box::new(snapshot)));
    }
}

impl Observer for Feed {
    fn event(&mut self, at: Time, event: &Event, _: &SubnetManager) {
        let changes_nothing =
            matches!(event, Event::Phase { .. } | Event::Trap { .. } | Event::Resweep { .. });
        if !changes_nothing && self.changed.is_none() {
            self.changed = Some(Instant::now());
        }
        self.tell(News::Said { at, event: event.clone() });
    }

    fn progress(&mut self, manager: &SubnetManager) {
        let now = Instant::now();
        let since = |then: Option<Instant>| then.map_or(Duration::MAX, |then| now - then);
        let is_still = matches!(manager.phase(), Phase::Up | Phase::Standby | Phase::Refused);
        if !is_still {
            if since(self.told) >= BETWEEN {
                self.told = Some(now);
                self.tell(News::Progress(manager.progress()));
            }
            return;
        }
        let waits = self.changed.map(|then| now - then);
        let is_due = waits.is_some_and(|waits| manager.is_settled() || waits >= AT_LEAST);
        if is_due {
            self.picture(manager);
        } else if since(self.told) >= REPORTS {
            self.told = Some(now);
            self.tell(News::Report(Box::new(manager.report())));
        }
    }
}
