//! The thread that keeps the controller's state: it hears the fabric, keeps the journal and the picture that readers see.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use jiff::Timestamp;
use subnet::Event;

use crate::event::{Draft, Kind, Severity};
use crate::feed::News;
use crate::journal::Journal;
use crate::metrics::Counts;
use crate::view::{Change, Newest, Snapshot, View};

/// News that are recorded with one write.
const AT_ONCE: usize = 1_024;
/// Held links are looked at so often: being left down ends without a word.
const LOOK: Duration = Duration::from_secs(1);
/// Links that are named one by one where many change at once; the rest is counted.
const NAMED: usize = 200;

/// Keeps state.
pub struct Keeper {
    journal: Arc<Journal>,
    newest: Arc<Newest>,
    counts: Arc<Counts>,
    view: View,
    /// Ports that are left down, and until when.
    held: BTreeMap<(Box<str>, u8), Timestamp>,
    /// What was said last of a change: why links are lost or back.
    cause: Option<String>,
}

/// The node and port of a label such as `leaf-1[40]`.
fn port_of(label: &str) -> Option<(Box<str>, u8)> {
    let (node, port) = label.strip_suffix(']')?.rsplit_once('[')?;
    Some((node.into(), port.parse().ok()?))
}

impl Keeper {
    /// Keeps what is shown through `newest` and written to `journal`.
    pub fn new(journal: Arc<Journal>, newest: Arc<Newest>, counts: Arc<Counts>) -> Self {
        let view = (*newest.get()).clone();
        Self { journal, newest, counts, view, held: BTreeMap::new(), cause: None }
    }

    /// Hears news until those who tell them have gone.
    pub fn run(mut self, news: &Receiver<News>) {
        loop {
            let first = match news.recv_timeout(LOOK) {
                Ok(first) => Some(first),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let now = Timestamp::now();
            let mut drafts = Vec::new();
            let mut is_other = false;
            let mut waiting = Vec::new();
            for one in first.into_iter().chain(news.try_iter().take(AT_ONCE - 1)) {
                is_other = true;
                waiting.extend(self.hear(one, now, &mut drafts));
            }
            if let Err(error) = self.journal.add(now, drafts) {
                self.counts.store_failed(&error);
            }
            if is_other {
                self.view.time = now;
                self.newest.set(self.view.clone());
            }
            for answer in waiting {
                // Who waited may have lost patience.
                let _ = answer.send(());
            }
        }
    }

    /// Takes news in; returns who waits until they are shown.
    fn hear(&mut self, news: News, now: Timestamp, drafts: &mut Vec<Draft>) -> Option<Sender<()>> {
        match news {
            News::Said { at, event } => {
                self.counts.said(&event);
                match &event {
                    Event::Healed { cause, seconds, .. } => {
                        let heals = &mut self.view.heals;
                        heals.count += 1;
                        heals.last_ms = seconds * 1e3;
                        heals.longest_ms = heals.longest_ms.max(heals.last_ms);
                        heals.seconds += seconds;
                        self.cause = Some(cause.clone());
                    }
                    Event::Resweep { cause } | Event::Reroute { cause } => self.cause = Some(cause.clone()),
                    Event::HeldDown { port, seconds } => {
                        if let (Some(port), Ok(span)) =
                            (port_of(port), jiff::SignedDuration::try_from_secs_f64(*seconds))
                        {
                            self.held.insert(port, now.saturating_add(span).unwrap_or(now));
                        }
                    }
                    _ => {}
                }
                drafts.extend(Draft::said(at, &event));
            }
            News::Progress(progress) => self.view.progress = Some(progress),
            News::Report(report) => self.view.report = Some(*report),
            News::Snapshot(snapshot) => self.look(*snapshot, now, drafts),
            News::Seen(answer) => return Some(answer),
        }
        None
    }

    fn look(&mut self, snapshot: Snapshot, now: Timestamp, drafts: &mut Vec<Draft>) {
        self.held.retain(|_, until| *until > now);
        let held: Vec<_> = self.held.keys().cloned().collect();
        let (inventory, changes) = self.view.inventory.next(&snapshot.fabric, &held, now);
        let cause = self.cause.take();
        for change in changes.iter().take(NAMED) {
            let (kind, severity, link, what) = match *change {
                Change::Lost(link) => (Kind::LinkLost, Severity::Warning, link, "is lost"),
                Change::Back(link) => (Kind::LinkBack, Severity::Info, link, "is in service"),
            };
            let [a, b] = inventory.link(link).ends.map(|end| inventory.label(end));
            let mut draft = Draft::new(kind, severity, format!("the link {a} to {b} {what}"))
                .of(&a)
                .with(serde_json::json!({ "ends": [a, b] }));
            draft.cause.clone_from(&cause);
            drafts.push(draft);
        }
        if changes.len() > NAMED {
            let more = changes.len() - NAMED;
            drafts.push(Draft::new(
                Kind::Finding,
                Severity::Warning,
                format!("{more} more links have changed: too many at once to name each"),
            ));
        }
        self.view.inventory = Arc::new(inventory);
        self.view.fabric = Some(Arc::new(snapshot.fabric));
        self.view.report = Some(snapshot.report);
        self.view.progress = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_read_out_of_labels() {
        assert_eq!(port_of("leaf-1[40]"), Some(("leaf-1".into(), 40)));
        assert_eq!(port_of("a[b][7]"), Some(("a[b]".into(), 7)));
        for label in ["leaf", "leaf[x]", "leaf[300]", "[", "]"] {
            assert_eq!(port_of(label), None, "{label}");
        }
    }
}
