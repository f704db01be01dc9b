//! What a drill is to be.

use std::time::{Duration, Instant};

use crate::kind::Kind;

/// Where real time is read, to count how long the manager computes.
pub type Clock = fn() -> Instant;

/// What a drill is to be.
#[derive(Clone, Debug)]
pub struct Config {
    /// How many failures. What is mended in between does not count.
    pub failures: u32,
    /// What chance is drawn from.
    pub seed: u64,
    /// How many failures may be open at once; before the next one, one is mended.
    pub open: u32,
    /// Which kinds of failures.
    pub kinds: Vec<Kind>,
    /// Hold this step alone, on a fabric that stands as it stood before it. Steps count from 1, mends among them.
    pub only: Option<u32>,
    /// Go on after a step that was not healed, with a fresh manager.
    pub keep_going: bool,
    /// Have the oracle judge every so many steps, and the last one. At least 1.
    pub judge_every: u32,
    /// Judge what switches hold after every single write to a table. For small fabrics.
    pub check_every_write: bool,
    /// Adds the real time that the manager computes to the virtual time; `None` lets it compute in no time.
    pub clock: Option<Clock>,
    /// How devices behave.
    pub emulated: emulator::Config,
    /// How the manager is set.
    pub managed: subnet::Config,
    /// How long a failure may take to heal, light sweeps included.
    pub patience: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            failures: 1000,
            seed: 1,
            open: 4,
            kinds: Kind::FAILURES.iter().map(|(kind, _, _)| *kind).collect(),
            only: None,
            keep_going: false,
            judge_every: 1,
            check_every_write: false,
            clock: None,
            emulated: emulator::Config::default(),
            managed: subnet::Config { max_wire_smps: 64, ..subnet::Config::default() },
            patience: Duration::from_secs(900),
        }
    }
}
