//! What is wanted of a node, and what is taken from it.

use std::fmt;

use serde::Serialize;

use super::mig::{Instances, MOST_INSTANCES, ProfileIndex};
use crate::index::{ModelIndex, NodeIndex};
use crate::tenants::Amounts;

/// Thousandths that a whole GPU has.
pub const WHOLE_GPU: u16 = 1000;

/// The most GPUs that one node may have: a set of them is one word.
pub const MOST_GPUS_A_NODE: usize = 64;

/// The most models of GPU that one stock may know: a set of them is one word.
pub const MOST_MODELS: usize = 64;

/// Some models of GPU: a bit each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ModelSet(pub u64);

impl ModelSet {
    /// Every model, those too that no node has yet.
    pub const ANY: Self = Self(u64::MAX);

    /// No model.
    pub const NONE: Self = Self(0);

    /// Whether a model is among them.
    pub const fn contains(self, model: ModelIndex) -> bool {
        self.0 >> model.0 & 1 == 1
    }

    /// These and one more.
    #[must_use]
    pub const fn with(self, model: ModelIndex) -> Self {
        Self(self.0 | 1 << model.0)
    }
}

impl Default for ModelSet {
    fn default() -> Self {
        Self::ANY
    }
}

/// Some GPUs of one node: a bit each, by their places on the node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct GpuSet(pub u64);

impl GpuSet {
    /// No GPU.
    pub const NONE: Self = Self(0);

    /// These and one more.
    #[must_use]
    pub const fn with(self, gpu: usize) -> Self {
        Self(self.0 | 1 << gpu)
    }

    /// How many.
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Their places on the node, in order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            if rest == 0 {
                return None;
            }
            let at = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            Some(at)
        })
    }
}

impl fmt::Display for GpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (count, gpu) in self.iter().enumerate() {
            write!(f, "{}{gpu}", if count == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

/// Where on its node a part has to lie: a NUMA domain is a half (or less) of a node with CPU, memory and GPUs of its own, and
/// what crosses from one to another is slow.
///
/// What is pinned to a domain is counted there. All else floats: it has what is not pinned, wherever that is, and makes way
/// for what is, as the shared pool of CPUs does beside exclusive ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NumaWant {
    /// Anywhere: nothing is pinned.
    #[default]
    Anywhere,
    /// GPUs, CPU and memory within one domain.
    One,
    /// The same where any node has room for it so, else anywhere.
    PreferOne,
    /// With each GPU, in its domain, an equal part of the CPU and memory; the GPUs may be of several domains.
    Beside,
    /// The same where any node has room for it so, else anywhere.
    PreferBeside,
}

impl NumaWant {
    /// All of them, with their words in files.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Anywhere, "anywhere"),
        (Self::One, "one"),
        (Self::PreferOne, "prefer-one"),
        (Self::Beside, "beside"),
        (Self::PreferBeside, "prefer-beside"),
    ];

    /// The want of a word; an empty one is [`Self::Anywhere`].
    ///
    /// # Errors
    /// Which words there are.
    pub fn named(word: &str) -> Result<Self, String> {
        let word = if word.is_empty() { "anywhere" } else { word };
        let known = Self::ALL.iter().find(|(_, known)| *known == word).map(|(want, _)| *want);
        known.ok_or_else(|| {
            let words = Self::ALL.map(|(_, word)| word).join(", ");
            format!("numa is {word:?}, which is none of {words}")
        })
    }

    /// Its word in files.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(want, _)| *want == self).map_or("", |(_, word)| word)
    }

    /// It in words that go behind `a part`.
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::Anywhere => "anywhere on its node",
            Self::One | Self::PreferOne => "in one NUMA domain",
            Self::Beside | Self::PreferBeside => "with its CPU and memory in the NUMA domains of its GPUs",
        }
    }

    /// Whether a node that cannot keep it is no place at all.
    pub const fn is_required(self) -> bool {
        matches!(self, Self::One | Self::Beside)
    }
}

/// What one part of a job wants of one node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Demand {
    /// CPU in thousandths of a core.
    pub cpu_milli: u32,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// How many GPUs, or MIG instances where a profile is named.
    pub gpus: u16,
    /// Thousandths of each of them, from 1 to [`WHOLE_GPU`]; 0 where no GPU is wanted. Of an instance: what it counts for
    /// quotas, [`super::Stock::profile_milli`].
    pub gpu_milli: u16,
    /// Models of GPU that will do.
    pub models: ModelSet,
    /// Where on the node.
    pub numa: NumaWant,
    /// The MIG profile of which each of `gpus` is an instance; nothing where GPUs or shares are wanted.
    pub mig: Option<ProfileIndex>,
}

impl Demand {
    /// Whether so many GPUs at so many thousandths each can be asked for: shares are of one GPU, 0.8 of one is not 0.4 of two.
    pub const fn is_share(gpus: u16, gpu_milli: u16) -> bool {
        match gpus {
            0 => gpu_milli == 0,
            1 => gpu_milli >= 1 && gpu_milli <= WHOLE_GPU,
            _ => gpu_milli == WHOLE_GPU,
        }
    }

    /// Whether it can be asked for: a share, or up to [`MOST_INSTANCES`] instances.
    pub const fn is_possible(&self) -> bool {
        match self.mig {
            Some(_) => self.gpus >= 1 && self.gpus as usize <= MOST_INSTANCES && self.gpu_milli <= WHOLE_GPU,
            None => Self::is_share(self.gpus, self.gpu_milli),
        }
    }

    /// Whether only what a node has in all counts, and not where on it.
    pub const fn is_plain(&self) -> bool {
        self.mig.is_none() && matches!(self.numa, NumaWant::Anywhere)
    }

    /// The demand by what it takes in all: whatever keeps this from a node keeps the demand from it too. Of MIG instances it is
    /// no more than their CPU and memory, for they may lie on a GPU that is no longer whole.
    #[must_use]
    pub const fn in_all(&self) -> Self {
        let numa = NumaWant::Anywhere;
        match self.mig {
            Some(_) => Self { gpus: 0, gpu_milli: 0, numa, mig: None, ..*self },
            None => Self { numa, ..*self },
        }
    }

    /// The demand with what it prefers as if it required it.
    #[must_use]
    pub const fn strictly(&self) -> Self {
        let numa = match self.numa {
            NumaWant::PreferOne => NumaWant::One,
            NumaWant::PreferBeside => NumaWant::Beside,
            other => other,
        };
        Self { numa, ..*self }
    }

    /// What it counts for quotas.
    pub fn amounts(&self) -> Amounts {
        Amounts {
            gpu_milli: u64::from(self.gpu_milli_total()),
            cpu_milli: u64::from(self.cpu_milli),
            memory_mib: u64::from(self.memory_mib),
        }
    }

    /// Thousandths of GPUs in all.
    pub const fn gpu_milli_total(&self) -> u32 {
        self.gpus as u32 * self.gpu_milli as u32
    }
}

/// Where on its node the CPU and memory of a grant are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pin {
    /// Nowhere: they float.
    #[default]
    Floating,
    /// All in this NUMA domain.
    Domain(u8),
    /// With each GPU or instance an equal part, in its domain; what does not divide floats.
    Beside,
}

/// What was or is to be taken from one node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grant {
    /// The node.
    pub node: NodeIndex,
    /// CPU in thousandths of a core.
    pub cpu_milli: u32,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// Which GPUs; those that bear its instances where it is of MIG instances.
    pub gpus: GpuSet,
    /// Thousandths of each of them, or what each instance counts.
    pub gpu_milli: u16,
    /// Where its CPU and memory are counted.
    pub pin: Pin,
    /// Its MIG instances, if it is of such.
    pub instances: Option<Instances>,
}

impl Grant {
    /// What a demand takes on these GPUs of a node, whole or a share of them, its CPU and memory floating.
    pub const fn new(node: NodeIndex, demand: &Demand, gpus: GpuSet) -> Self {
        Self {
            node,
            cpu_milli: demand.cpu_milli,
            memory_mib: demand.memory_mib,
            gpus,
            gpu_milli: demand.gpu_milli,
            pin: Pin::Floating,
            instances: None,
        }
    }

    /// How many GPUs or instances.
    pub fn count(&self) -> u32 {
        self.instances.map_or(self.gpus.len(), Instances::len)
    }

    /// What it counts for quotas.
    pub fn amounts(&self) -> Amounts {
        Amounts {
            gpu_milli: self.gpu_milli_total(),
            cpu_milli: u64::from(self.cpu_milli),
            memory_mib: u64::from(self.memory_mib),
        }
    }

    /// Thousandths of GPUs that it counts in all.
    pub fn gpu_milli_total(&self) -> u64 {
        u64::from(self.count()) * u64::from(self.gpu_milli)
    }
}
