//! What of the stock is given out: whole GPUs, MIG instances, fractions.
//!
//! Every GPU has a [`Partition`]: whole, cut into MIG instances, or shared by fractions. It changes only while nothing of
//! the GPU is given out. Invariant ([`Slices::check_invariants`]): no slice overlaps another, and the sums of what is given
//! out are those of the slices that there are.

mod mig;
mod share;

use serde::Serialize;

pub use mig::pack;
pub use share::{PARTS, Share};

use crate::catalog::{MigCatalog, Profile};
use crate::index::GpuIndex;
use crate::node::Pool;

/// How a GPU is cut.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Partition {
    /// Given out as one piece.
    #[default]
    Whole,
    /// Cut into MIG instances.
    Mig(Vec<Instance>),
    /// Shared: any fractions that do not sum to more than the GPU and its memory.
    Fractions,
}

/// One MIG instance of a GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Instance {
    /// Number of its profile in the catalogue's model.
    pub profile: usize,
    /// The memory slice at which it begins.
    pub start: u8,
}

/// Something that was given out. A number that was released is never taken for a later slice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct SliceId {
    slot: u32,
    generation: u32,
}

/// What a slice is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Piece {
    /// The whole GPU.
    Whole,
    /// An instance of its partition, by its number there.
    Instance(usize),
    /// A fraction with memory of its own.
    Fraction {
        /// Of the GPU's time.
        share: Share,
        /// Of its memory, MiB.
        memory_mib: u32,
    },
}

/// A slice with the GPU it is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Slice {
    /// The GPU.
    pub gpu: GpuIndex,
    /// What of it.
    pub piece: Piece,
}

/// Why a GPU is not cut, or a slice not given.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SliceError {
    /// The number is none of the pool's.
    #[error("GPU number {0} is not in the pool")]
    NoGpu(u32),
    /// Cutting takes an empty GPU.
    #[error("{gpu} is in use ({slices} given out): a GPU is cut anew only while it is empty; drain it first")]
    Busy {
        /// The GPU.
        gpu: String,
        /// How many slices it holds.
        slices: u32,
    },
    /// The model cannot be cut by MIG.
    #[error(
        "{gpu} is a {model}, which the catalogue has no MIG profiles for: use fractions, or add it to the catalogue"
    )]
    NoMig {
        /// The GPU.
        gpu: String,
        /// Its model.
        model: String,
    },
    /// The model has no such profile.
    #[error("{model} has no profile {profile}: it has {known}")]
    NoProfile {
        /// The model.
        model: String,
        /// What was asked for.
        profile: String,
        /// What there is.
        known: String,
    },
    /// The profiles do not fit on one GPU together.
    #[error("{profiles} do not fit on one {model} together: take fewer or smaller ones")]
    DoesNotFit {
        /// The model.
        model: String,
        /// What was asked for.
        profiles: String,
    },
    /// The GPU is cut in another way.
    #[error("{gpu} is {is}, not {wanted}: cut it anew while it is empty")]
    OtherPartition {
        /// The GPU.
        gpu: String,
        /// How it is cut.
        is: &'static str,
        /// How it would have to be.
        wanted: &'static str,
    },
    /// Not enough is left.
    #[error("{gpu} has {left} left, not {wanted}")]
    Full {
        /// The GPU.
        gpu: String,
        /// What is left.
        left: String,
        /// What was asked for.
        wanted: String,
    },
    /// Its state takes no work.
    #[error("{gpu} is {state}{}", if reason.is_empty() { String::new() } else { format!(" ({reason})") })]
    State {
        /// The GPU.
        gpu: String,
        /// Its state.
        state: crate::State,
        /// Why.
        reason: String,
    },
    /// The slice was released, or never given.
    #[error("there is no such slice: it was released before")]
    NoSlice,
}

#[derive(Clone, Debug, Default)]
struct Slot {
    generation: u32,
    slice: Option<Slice>,
}

/// What is given out of a pool.
#[derive(Clone, Debug)]
pub struct Slices {
    catalog: MigCatalog,
    partition: Vec<Partition>,
    /// Instances in use, a bit each; for a whole GPU bit 0.
    in_use: Vec<u8>,
    slices_of: Vec<u32>,
    parts_used: Vec<u16>,
    memory_used: Vec<u32>,
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Slices {
    /// Nothing given out, every GPU whole.
    pub fn new(pool: &Pool, catalog: MigCatalog) -> Self {
        let gpus = pool.gpu_count();
        Self {
            catalog,
            partition: vec![Partition::Whole; gpus],
            in_use: vec![0; gpus],
            slices_of: vec![0; gpus],
            parts_used: vec![0; gpus],
            memory_used: vec![0; gpus],
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    /// How a GPU is cut.
    pub fn partition(&self, gpu: GpuIndex) -> &Partition {
        &self.partition[gpu.index()]
    }

    /// How many slices of a GPU are given out.
    pub fn count(&self, gpu: GpuIndex) -> u32 {
        self.slices_of[gpu.index()]
    }

    /// What a number stands for; `None` once it was released.
    pub fn get(&self, id: SliceId) -> Option<Slice> {
        self.slots.get(id.slot as usize).filter(|slot| slot.generation == id.generation)?.slice
    }

    /// The profile of one instance of a GPU's partition.
    pub fn profile(&self, pool: &Pool, gpu: GpuIndex, instance: usize) -> Option<&Profile> {
        let Partition::Mig(instances) = self.partition.get(gpu.index())? else { return None };
        let model = self.catalog.model(&pool.gpu_model(gpu).name)?;
        model.profiles.get(instances.get(instance)?.profile)
    }

    fn empty(&self, pool: &Pool, gpu: GpuIndex) -> Result<(), SliceError> {
        match self.slices_of.get(gpu.index()) {
            None => Err(SliceError::NoGpu(gpu.0)),
            Some(0) => Ok(()),
            Some(&slices) => Err(SliceError::Busy { gpu: pool.gpu_label(gpu), slices }),
        }
    }

    /// Makes a GPU whole again.
    ///
    /// # Errors
    /// Where something of it is given out.
    pub fn make_whole(&mut self, pool: &Pool, gpu: GpuIndex) -> Result<(), SliceError> {
        self.empty(pool, gpu)?;
        self.partition[gpu.index()] = Partition::Whole;
        Ok(())
    }

    /// Lets a GPU be shared by fractions.
    ///
    /// # Errors
    /// Where something of it is given out.
    pub fn share(&mut self, pool: &Pool, gpu: GpuIndex) -> Result<(), SliceError> {
        self.empty(pool, gpu)?;
        self.partition[gpu.index()] = Partition::Fractions;
        Ok(())
    }

    /// Cuts a GPU into MIG instances of these profiles.
    ///
    /// # Errors
    /// Where something of it is given out, its model has no such profiles, or they do not fit together.
    pub fn cut(&mut self, pool: &Pool, gpu: GpuIndex, profiles: &[&str]) -> Result<(), SliceError> {
        self.empty(pool, gpu)?;
        let name = &pool.gpu_model(gpu).name;
        let Some(model) = self.catalog.model(name) else {
            return Err(SliceError::NoMig { gpu: pool.gpu_label(gpu), model: name.clone() });
        };
        let mut wanted = Vec::with_capacity(profiles.len());
        for profile in profiles {
            wanted.push(model.profile(profile).ok_or_else(|| SliceError::NoProfile {
                model: name.clone(),
                profile: (*profile).to_owned(),
                known:
                    model.profiles.iter().map(|profile| profile.name.as_str()).collect::<Vec<_>>().join(", "),
            })?);
        }
        let starts = pack(model, &wanted)
            .ok_or_else(|| SliceError::DoesNotFit { model: name.clone(), profiles: profiles.join(" + ") })?;
        let instances = wanted.into_iter().zip(starts).map(|(profile, start)| Instance { profile, start });
        self.partition[gpu.index()] = Partition::Mig(instances.collect());
        Ok(())
    }

    fn ready(&self, pool: &Pool, gpu: GpuIndex, wanted: &'static str) -> Result<(), SliceError> {
        let partition = self.partition.get(gpu.index()).ok_or(SliceError::NoGpu(gpu.0))?;
        let is = match partition {
            Partition::Whole => "whole",
            Partition::Mig(_) => "cut into MIG instances",
            Partition::Fractions => "shared by fractions",
        };
        if is != wanted {
            return Err(SliceError::OtherPartition { gpu: pool.gpu_label(gpu), is, wanted });
        }
        if !pool.takes_work(gpu) {
            let health = pool.health(gpu);
            return Err(SliceError::State {
                gpu: pool.gpu_label(gpu),
                state: health.state,
                reason: health.reason.clone(),
            });
        }
        Ok(())
    }

    fn give(&mut self, gpu: GpuIndex, piece: Piece) -> SliceId {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        });
        self.slices_of[gpu.index()] += 1;
        let entry = &mut self.slots[slot as usize];
        entry.slice = Some(Slice { gpu, piece });
        SliceId { slot, generation: entry.generation }
    }

    /// Gives out a whole GPU.
    ///
    /// # Errors
    /// Where it is cut, in use, or its state takes no work.
    pub fn take_whole(&mut self, pool: &Pool, gpu: GpuIndex) -> Result<SliceId, SliceError> {
        self.ready(pool, gpu, "whole")?;
        if self.in_use[gpu.index()] != 0 {
            return Err(SliceError::Full {
                gpu: pool.gpu_label(gpu),
                left: "nothing".to_owned(),
                wanted: "the whole".to_owned(),
            });
        }
        self.in_use[gpu.index()] = 1;
        Ok(self.give(gpu, Piece::Whole))
    }

    /// Gives out a free instance of that profile.
    ///
    /// # Errors
    /// Where the GPU is not cut, has none free, or its state takes no work.
    pub fn take_instance(
        &mut self,
        pool: &Pool,
        gpu: GpuIndex,
        profile: &str,
    ) -> Result<SliceId, SliceError> {
        self.ready(pool, gpu, "cut into MIG instances")?;
        let count = match &self.partition[gpu.index()] {
            Partition::Mig(instances) => instances.len(),
            _ => 0,
        };
        let free = (0..count).filter(|&at| self.in_use[gpu.index()] & (1 << at) == 0);
        let names: Vec<_> =
            free.filter_map(|at| Some((at, self.profile(pool, gpu, at)?.name.as_str()))).collect();
        let Some(&(at, _)) = names.iter().find(|(_, name)| *name == profile) else {
            let left: Vec<_> = names.iter().map(|(_, name)| *name).collect();
            return Err(SliceError::Full {
                gpu: pool.gpu_label(gpu),
                left: if left.is_empty() { "nothing".to_owned() } else { left.join(", ") },
                wanted: profile.to_owned(),
            });
        };
        self.in_use[gpu.index()] |= 1 << at;
        Ok(self.give(gpu, Piece::Instance(at)))
    }

    /// Gives out a fraction of one GPU. Two halves of two GPUs are no GPU: a fraction lies on one.
    ///
    /// # Errors
    /// Where the GPU is not shared, less of it or of its memory is left, or its state takes no work. Where the memory of
    /// the model is not known, it bounds nothing.
    pub fn take_fraction(
        &mut self,
        pool: &Pool,
        gpu: GpuIndex,
        share: Share,
        memory_mib: u32,
    ) -> Result<SliceId, SliceError> {
        self.ready(pool, gpu, "shared by fractions")?;
        let at = gpu.index();
        let parts = PARTS - self.parts_used[at];
        let memory = match pool.gpu_model(gpu).memory_mib {
            0 => u32::MAX - self.memory_used[at],
            whole => whole - self.memory_used[at],
        };
        if share.parts() > parts || memory_mib > memory {
            return Err(SliceError::Full {
                gpu: pool.gpu_label(gpu),
                left: format!("{} of {PARTS} parts and {memory} MiB", parts),
                wanted: format!("{} parts and {memory_mib} MiB", share.parts()),
            });
        }
        self.parts_used[at] += share.parts();
        self.memory_used[at] += memory_mib;
        Ok(self.give(gpu, Piece::Fraction { share, memory_mib }))
    }

    /// Takes a slice back, whatever the state of its GPU.
    ///
    /// # Errors
    /// Where it was released before.
    pub fn release(&mut self, id: SliceId) -> Result<Slice, SliceError> {
        let slice = self.get(id).ok_or(SliceError::NoSlice)?;
        let slot = &mut self.slots[id.slot as usize];
        slot.slice = None;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(id.slot);
        let at = slice.gpu.index();
        self.slices_of[at] -= 1;
        match slice.piece {
            Piece::Whole => self.in_use[at] = 0,
            Piece::Instance(instance) => self.in_use[at] &= !(1 << instance),
            Piece::Fraction { share, memory_mib } => {
                self.parts_used[at] -= share.parts();
                self.memory_used[at] -= memory_mib;
            }
        }
        Ok(slice)
    }

    /// Panics where slices overlap or the sums are wrong. For tests and for the simulator, after every step.
    pub fn check_invariants(&self, pool: &Pool) {
        let gpus = pool.gpu_count();
        let (mut parts, mut memory, mut count) = (vec![0u32; gpus], vec![0u64; gpus], vec![0u32; gpus]);
        let mut masks = vec![0u8; gpus];
        for slice in self.slots.iter().filter_map(|slot| slot.slice) {
            let at = slice.gpu.index();
            count[at] += 1;
            let mask = match slice.piece {
                Piece::Whole => u8::MAX,
                Piece::Instance(instance) => {
                    let Partition::Mig(instances) = &self.partition[at] else { panic!("an uncut GPU") };
                    let profile = self.profile(pool, slice.gpu, instance).expect("a profile");
                    profile.mask(instances[instance].start)
                }
                Piece::Fraction { share, memory_mib } => {
                    parts[at] += u32::from(share.parts());
                    memory[at] += u64::from(memory_mib);
                    assert_eq!(self.partition[at], Partition::Fractions);
                    0
                }
            };
            assert_eq!(masks[at] & mask, 0, "{} is given out twice", pool.gpu_label(slice.gpu));
            masks[at] |= mask;
        }
        for gpu in pool.gpus() {
            let at = gpu.index();
            assert_eq!(count[at], self.slices_of[at]);
            assert_eq!(parts[at], u32::from(self.parts_used[at]));
            assert_eq!(memory[at], u64::from(self.memory_used[at]));
            let whole = pool.gpu_model(gpu).memory_mib;
            assert!(parts[at] <= u32::from(PARTS) && (whole == 0 || memory[at] <= u64::from(whole)));
        }
    }
}

#[cfg(test)]
mod tests;
