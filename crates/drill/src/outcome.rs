//! What came of a drill, in figures.

use serde::Serialize;

use crate::kind::Kind;

/// One step as it went.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// The step's number.
    pub number: u32,
    /// What kind of failure.
    pub kind: Kind,
    /// What happened, for a person.
    pub what: String,
    /// What was wrong in the end; `None` where it was healed.
    pub wrong: Option<String>,
    /// Virtual time from the first trap, or from the failure where there was none before, to the last block written, or,
    /// where none was, until the manager had nothing left to do. Milliseconds.
    pub ms: f64,
    /// Blocks of forwarding tables that switches took.
    pub blocks: u64,
    /// MADs that the manager sent until then.
    pub mads: u64,
    /// The parts of the fabric that the manager cannot reach any more, where there are any.
    pub cut_off: Option<String>,
}

/// Figures of some failures. Times in milliseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Figures {
    /// How many failures.
    pub failures: u32,
    /// How many of them were healed.
    pub healed: u32,
    /// Half of them were healed in this time.
    pub p50_ms: f64,
    /// 99 of 100 were.
    pub p99_ms: f64,
    /// All were.
    pub max_ms: f64,
    /// Blocks of forwarding tables written for one, in the mean.
    pub blocks_mean: f64,
    /// MADs sent for one, in the mean.
    pub mads_mean: f64,
}

/// Figures of one kind of failure.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct KindFigures {
    /// The kind.
    pub kind: Kind,
    /// Its figures.
    #[serde(flatten)]
    pub figures: Figures,
}

/// What came of a drill.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Outcome {
    /// What chance was drawn from.
    pub seed: u64,
    /// Figures of all failures; mends are not among them.
    #[serde(flatten)]
    pub figures: Figures,
    /// Figures by kind, mends too.
    pub kinds: Vec<KindFigures>,
    /// Every step.
    #[serde(skip)]
    pub records: Vec<Record>,
}

impl Outcome {
    /// From the steps of a drill.
    pub fn new(seed: u64, records: Vec<Record>) -> Self {
        let of =
            |wanted: &dyn Fn(Kind) -> bool| Figures::of(records.iter().filter(|record| wanted(record.kind)));
        let mut kinds: Vec<Kind> = records.iter().map(|record| record.kind).collect();
        kinds.sort();
        kinds.dedup();
        let kinds =
            kinds.into_iter().map(|kind| KindFigures { kind, figures: of(&|other| other == kind) }).collect();
        Self { seed, figures: of(&|kind| kind != Kind::Mend), kinds, records }
    }

    /// Whether every step was healed, mends too.
    pub fn is_sound(&self) -> bool {
        self.records.iter().all(|record| record.wrong.is_none())
    }
}

impl Figures {
    /// Times are of what was healed; blocks and MADs of everything.
    fn of<'a>(records: impl Iterator<Item = &'a Record> + Clone) -> Self {
        let failures = records.clone().count();
        let mut times: Vec<f64> =
            records.clone().filter(|record| record.wrong.is_none()).map(|record| record.ms).collect();
        times.sort_by(f64::total_cmp);
        let mean = |sum: u64| if failures == 0 { 0.0 } else { sum as f64 / failures as f64 };
        Self {
            failures: failures as u32,
            healed: times.len() as u32,
            p50_ms: ranked(&times, 50),
            p99_ms: ranked(&times, 99),
            max_ms: ranked(&times, 100),
            blocks_mean: mean(records.clone().map(|record| record.blocks).sum()),
            mads_mean: mean(records.map(|record| record.mads).sum()),
        }
    }
}

/// The smallest of some sorted values that so many of a hundred do not exceed; 0 of none.
fn ranked(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: Kind, ms: f64, wrong: Option<&str>) -> Record {
        Record {
            number: 1,
            kind,
            what: String::new(),
            wrong: wrong.map(str::to_owned),
            ms,
            blocks: 4,
            mads: 10,
            cut_off: None,
        }
    }

    #[test]
    fn mends_count_among_the_kinds_alone() {
        let mut records: Vec<Record> = (1..=100).map(|ms| record(Kind::Link, f64::from(ms), None)).collect();
        records.push(record(Kind::Mend, 5000.0, None));
        records.push(record(Kind::Host, 7000.0, Some("wrong")));
        let outcome = Outcome::new(9, records);
        let Figures { failures, healed, p50_ms, p99_ms, max_ms, blocks_mean, mads_mean } = outcome.figures;
        assert_eq!((failures, healed, p50_ms, p99_ms, max_ms), (101, 100, 50.0, 99.0, 100.0));
        assert_eq!((blocks_mean, mads_mean), (4.0, 10.0));
        let kinds: Vec<Kind> = outcome.kinds.iter().map(|figures| figures.kind).collect();
        assert_eq!(kinds, [Kind::Link, Kind::Host, Kind::Mend]);
        assert!(!outcome.is_sound());
        assert_eq!(Outcome::new(1, Vec::new()).figures, Figures::default());
    }
}
