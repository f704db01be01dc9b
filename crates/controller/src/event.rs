//! What happens, as records that are kept, queried and streamed: when, what, to what, why, and with which figures.

use ib::Time;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use subnet::Event;
use utoipa::ToSchema;

/// What kind of thing has happened.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The controller has started.
    ControllerStarted,
    /// The controller was stopped.
    ControllerStopped,
    /// The configuration was read again and taken up.
    ConfigurationReloaded,
    /// The configuration was read again and is wrong: the former one stays.
    ConfigurationRefused,
    /// The fabric is up.
    FabricUp,
    /// The fabric cannot be brought up as asked.
    FabricRefused,
    /// The fabric is looked at anew.
    Resweep,
    /// A link is lost.
    LinkLost,
    /// A link is there, or is back.
    LinkBack,
    /// The fabric works again after a change.
    Healed,
    /// Paths were spread anew.
    Rebalanced,
    /// All tables are computed anew.
    Reroute,
    /// A link flaps and is left down for a while.
    HeldDown,
    /// A failure has cut the fabric.
    Cut,
    /// Something is not as it should be.
    Finding,
    /// A device has sent a trap.
    Trap,
    /// LIDs were given out.
    LidsAssigned,
    /// Another subnet manager is the master.
    Standby,
    /// This subnet manager is the master now.
    TakeOver,
    /// The pool is known, and jobs may come.
    PoolOpen,
    /// All links of a node of the pool are lost.
    NodeLost,
    /// A node of the pool takes no new work.
    NodeClosed,
    /// A node of the pool takes work again.
    NodeBack,
    /// A job has come.
    JobSubmitted,
    /// A job starts at its places.
    JobStarted,
    /// A job is asked to end.
    JobStopping,
    /// A job goes on at other places.
    JobMoved,
    /// A job has lost its place and waits again.
    JobRequeued,
    /// A job is over.
    JobOver,
    /// What runs a job does not do what it is told.
    JobTrouble,
}

/// How much it matters to who keeps the fabric.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// As it should be.
    Info,
    /// Something to know of.
    Warning,
    /// Something works no longer.
    Error,
}

/// Something that is to be recorded.
#[derive(Clone, PartialEq, Debug)]
pub struct Draft {
    /// What kind of thing.
    pub kind: Kind,
    /// How much it matters.
    pub severity: Severity,
    /// What it happened to: a link's end as `node[port]`, a node.
    pub subject: Option<String>,
    /// Why, as far as it is known.
    pub cause: Option<String>,
    /// A line for people.
    pub text: String,
    /// Its figures.
    pub data: serde_json::Value,
}

/// Something that has happened.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Record {
    /// Its number: from 1, without gaps.
    pub number: u64,
    /// When it was recorded, RFC 3339.
    #[schema(value_type = String, format = DateTime)]
    pub time: Timestamp,
    /// What kind of thing.
    pub kind: Kind,
    /// How much it matters.
    pub severity: Severity,
    /// What it happened to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub subject: Option<String>,
    /// Why, as far as it is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cause: Option<String>,
    /// A line for people.
    pub text: String,
    /// Its figures; which ones depends on the kind.
    #[serde(skip_serializing_if = "serde_json::Value::is_null", default)]
    #[schema(value_type = Object)]
    pub data: serde_json::Value,
}

fn links(lost: usize) -> String {
    format!("{lost} {} lost", if lost == 1 { "link" } else { "links" })
}

impl Draft {
    /// A draft of this kind that tells no more than a line.
    pub fn new(kind: Kind, severity: Severity, text: impl Into<String>) -> Self {
        Self { kind, severity, subject: None, cause: None, text: text.into(), data: serde_json::Value::Null }
    }

    /// With what it happened to.
    #[must_use]
    pub fn of(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    /// With its cause.
    #[must_use]
    pub fn because(mut self, cause: impl Into<String>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// With its figures.
    #[must_use]
    pub fn with(mut self, data: serde_json::Value) -> Self {
        self.data = data;
        self
    }

    /// The record of it.
    pub fn record(self, number: u64, time: Timestamp) -> Record {
        let Self { kind, severity, subject, cause, text, data } = self;
        Record { number, time, kind, severity, subject, cause, text, data }
    }

    /// What is to be recorded of what the subnet manager says; nothing of a phase, which is shown while it lasts.
    pub fn said(at: Time, event: &Event) -> Option<Self> {
        let draft = match event {
            Event::Phase { .. } => return None,
            Event::LidsAssigned { new: 0, .. } => return None,
            Event::LidsAssigned { new, .. } => {
                Self::new(Kind::LidsAssigned, Severity::Info, format!("{new} new LIDs given out"))
            }
            Event::Finding(finding) => Self::new(Kind::Finding, Severity::Warning, &finding.message)
                .of(&finding.place)
                .because(&finding.mend),
            Event::Up { switches, hosts, links } => Self::new(
                Kind::FabricUp,
                Severity::Info,
                format!("the fabric is up: {switches} switches, {hosts} hosts, {links} links"),
            ),
            Event::Refused { reason } => Self::new(Kind::FabricRefused, Severity::Error, reason),
            Event::Trap { number, from, text } => {
                Self::new(Kind::Trap, Severity::Info, format!("trap {number} from LID {from}: {text}"))
            }
            Event::Resweep { cause } => {
                Self::new(Kind::Resweep, Severity::Info, "the fabric is looked at anew").because(cause)
            }
            Event::Healed { cause, lost, back, seconds, .. } => Self::new(
                Kind::Healed,
                Severity::Info,
                format!("healed in {:.1} ms: {}, {back} back", seconds * 1e3, links(*lost)),
            )
            .because(cause),
            Event::Rebalanced { entries, blocks } => Self::new(
                Kind::Rebalanced,
                Severity::Info,
                format!("paths spread anew: {entries} entries, {blocks} blocks"),
            ),
            Event::HeldDown { port, seconds } => Self::new(
                Kind::HeldDown,
                Severity::Warning,
                format!("{port} flaps and is left down for {seconds:.0} s"),
            )
            .of(port),
            Event::Cut { switches, hosts } => Self::new(
                Kind::Cut,
                Severity::Error,
                format!("the fabric is cut: {} switches with {hosts} hosts", switches.len()),
            ),
            Event::Reroute { cause } => {
                Self::new(Kind::Reroute, Severity::Warning, "all tables are computed anew").because(cause)
            }
            Event::Standby { master, priority } => Self::new(
                Kind::Standby,
                Severity::Warning,
                format!("standby: {master} with priority {priority} is the master"),
            ),
            Event::TakeOver { cause } => {
                Self::new(Kind::TakeOver, Severity::Warning, "this manager is the master now").because(cause)
            }
        };
        let mut data = serde_json::to_value(event).unwrap_or_default();
        if let Some(data) = data.as_object_mut() {
            data.remove("event");
            data.insert("fabric_seconds".to_owned(), (at.0 as f64 * 1e-9).into());
        }
        Some(draft.with(data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heal_becomes_a_line_with_its_cause_and_figures() {
        let event = Event::Healed {
            cause: "trap 128 from LID 7".to_owned(),
            lost: 1,
            back: 0,
            fresh: 0,
            blocks: 611,
            mads: 622,
            seconds: 0.00426,
        };
        let draft = Draft::said(Time(2_000_000_000), &event).unwrap();
        assert_eq!(draft.text, "healed in 4.3 ms: 1 link lost, 0 back");
        assert_eq!(draft.cause.as_deref(), Some("trap 128 from LID 7"));
        assert_eq!(draft.data["blocks"], 611);
        assert_eq!(draft.data["fabric_seconds"], 2.0);
        let record = draft.record(3, Timestamp::UNIX_EPOCH);
        let text = serde_json::to_string(&record).unwrap();
        assert!(
            text.starts_with(
                r#"{"number":3,"time":"1970-01-01T00:00:00Z","kind":"healed","severity":"info""#
            )
        );
        assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
    }

    #[test]
    fn phases_are_no_records() {
        assert_eq!(Draft::said(Time::ZERO, &Event::Phase { phase: subnet::Phase::Up }), None);
    }
}
