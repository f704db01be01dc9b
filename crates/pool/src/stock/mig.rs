//! MIG instances on GPUs of the stock: which profiles there are, what lies on a GPU, and what else has room there.
//!
//! What lies on a GPU is never moved. An instance is made in memory slices that are free, beside those that run; only an idle
//! GPU is cut, and it is whole again once the last instance has gone. An instance counts as the part of its GPU's memory slices
//! that it takes.

use rustc_hash::FxHashMap;

use super::demand::{GpuSet, WHOLE_GPU};
use crate::catalog::{MOST_PROFILES, MigCatalog, MigModel};
use crate::index::ModelIndex;

/// A MIG profile by its name, whatever the model.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProfileIndex(pub u8);

/// The most instances that one part of a job may have: their places are one word.
pub const MOST_INSTANCES: usize = 7;

/// Bits of a place in [`Instances`]: six for the GPU, three for the memory slice.
const PLACE_BITS: u32 = 9;

/// Instances of one profile on the GPUs of one node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instances {
    /// The profile.
    pub profile: ProfileIndex,
    count: u8,
    places: u64,
}

impl Instances {
    /// None yet.
    pub const fn none(profile: ProfileIndex) -> Self {
        Self { profile, count: 0, places: 0 }
    }

    /// These and one more, by its GPU's place on the node and the memory slice at which it begins; nothing where there are
    /// [`MOST_INSTANCES`] already, or no GPU or slice has such a number.
    #[must_use]
    pub const fn with(self, gpu: usize, start: u8) -> Option<Self> {
        if self.count as usize >= MOST_INSTANCES || gpu >= 64 || start >= 8 {
            return None;
        }
        let place = (gpu as u64) << 3 | start as u64;
        let places = self.places | place << (PLACE_BITS * self.count as u32);
        Some(Self { count: self.count + 1, places, ..self })
    }

    /// How many.
    pub fn len(self) -> u32 {
        u32::from(self.count)
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.count == 0
    }

    /// Each one's GPU and the memory slice at which it begins.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = (usize, u8)> {
        (0..u32::from(self.count)).map(move |at| {
            let place = self.places >> (PLACE_BITS * at);
            ((place >> 3 & 63) as usize, (place & 7) as u8)
        })
    }

    /// The GPUs that bear them.
    pub fn gpus(self) -> GpuSet {
        self.iter().fold(GpuSet::NONE, |gpus, (gpu, _)| gpus.with(gpu))
    }
}

/// What lies on one GPU: for each of its memory slices, which of its model's profiles begins there, if any. Four bits a slice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Layout(u32);

impl Layout {
    /// Nothing.
    pub const EMPTY: Self = Self(0);

    /// Whether nothing lies there.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The instances, by profile of the model and first memory slice.
    pub fn instances(self) -> impl Iterator<Item = (usize, u8)> {
        (0..8).filter_map(move |slice| {
            let profile = self.0 >> (4 * u32::from(slice)) & 15;
            (profile > 0).then(|| (profile as usize - 1, slice))
        })
    }

    /// Memory slices that are taken, a bit each.
    pub fn mask(self, model: &MigModel) -> u8 {
        self.instances().fold(0, |mask, (profile, start)| mask | model.profiles[profile].mask(start))
    }

    /// The memory slices at which an instance of a profile may begin beside what lies there, a bit each.
    pub fn starts(self, model: &MigModel, profile: usize) -> u8 {
        let wanted = &model.profiles[profile];
        let (mut mask, mut compute, mut same, mut media) = (0, 0, 0, false);
        for (other, start) in self.instances() {
            let other_profile = &model.profiles[other];
            mask |= other_profile.mask(start);
            compute += other_profile.compute_slices;
            same += u8::from(other == profile);
            media |= other_profile.media;
        }
        let compute_left = model.compute_slices.saturating_sub(compute);
        if same >= wanted.max || wanted.compute_slices > compute_left || wanted.media && media {
            return 0;
        }
        let free = wanted.starts.iter().filter(|&&start| wanted.mask(start) & mask == 0);
        free.fold(0, |starts, &start| starts | 1 << start)
    }

    /// With an instance more.
    #[must_use]
    pub const fn with(self, profile: usize, start: u8) -> Self {
        Self(self.0 | (profile as u32 + 1) << (4 * start as u32))
    }

    /// Without an instance; nothing where it is not there.
    pub const fn without(self, profile: usize, start: u8) -> Option<Self> {
        let at = 4 * start as u32;
        if self.0 >> at & 15 == profile as u32 + 1 { Some(Self(self.0 & !(15 << at))) } else { None }
    }

    /// How many instances of a profile have room beside what lies there: exact, for there are at most eight slices.
    pub fn room(self, model: &MigModel, profile: usize) -> u32 {
        self.room_from(model, profile, 0)
    }

    /// The same of instances that begin at this memory slice or later.
    fn room_from(self, model: &MigModel, profile: usize, from: u8) -> u32 {
        let starts = self.starts(model, profile);
        let more = (from..8).filter(|start| starts >> start & 1 == 1);
        more.map(|start| 1 + self.with(profile, start).room_from(model, profile, start + 1))
            .max()
            .unwrap_or(0)
    }

    /// How much room there is for all profiles: each start that an instance may take counts the memory slices that it has, so
    /// that the large ones, which lose their room first, count most.
    fn worth(self, model: &MigModel) -> u32 {
        let of = |profile: usize| {
            u32::from(model.profiles[profile].memory_slices) * self.starts(model, profile).count_ones()
        };
        (0..model.profiles.len()).map(of).sum()
    }

    /// Where an instance of a profile costs the others least room, and how much; nothing where it has none. Of starts that are
    /// as good the last one. No start is taken that costs more than one further instance of the profile itself.
    pub fn best_start(self, model: &MigModel, profile: usize) -> Option<(u8, u32)> {
        let (starts, room, worth) =
            (self.starts(model, profile), self.room(model, profile), self.worth(model));
        (0..8)
            .rev()
            .filter(|start| starts >> start & 1 == 1)
            .map(|start| (start, self.with(profile, start)))
            .filter(|(_, after)| after.room(model, profile) + 1 >= room)
            .map(|(start, after)| (start, worth.saturating_sub(after.worth(model))))
            .min_by_key(|&(_, loss)| loss)
    }
}

/// What the models of a stock can be cut into.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Cuts {
    of_model: Vec<Option<MigModel>>,
    names: Vec<String>,
    /// By profile, then by model: the profile's number among the model's.
    numbers: Vec<Vec<Option<u8>>>,
}

impl Cuts {
    /// Of models by their names; nothing where there are too many profiles.
    pub(super) fn new(models: &[String], catalog: &MigCatalog) -> Option<Self> {
        let of_model: Vec<_> = models.iter().map(|name| catalog.model(name).cloned()).collect();
        let mut cuts = Self { of_model, ..Self::default() };
        let mut known = FxHashMap::default();
        for (at, model) in cuts.of_model.iter().enumerate() {
            let profiles = model.as_ref().map_or(&[][..], |model| &model.profiles);
            for (number, profile) in profiles.iter().enumerate().take(MOST_PROFILES) {
                let index = *known.entry(profile.name.clone()).or_insert_with(|| {
                    cuts.names.push(profile.name.clone());
                    cuts.numbers.push(vec![None; models.len()]);
                    cuts.names.len() - 1
                });
                cuts.numbers[index][at] = Some(number as u8);
            }
        }
        (cuts.names.len() <= usize::from(u8::MAX)).then_some(cuts)
    }

    pub(super) fn profile(&self, name: &str) -> Option<ProfileIndex> {
        self.names.iter().position(|known| known == name).map(|at| ProfileIndex(at as u8))
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// How a model is cut, and the number of a profile there; nothing where it has no such profile.
    pub(super) fn of(&self, model: ModelIndex, profile: ProfileIndex) -> Option<(&MigModel, usize)> {
        let number = self.numbers.get(usize::from(profile.0))?.get(model.index()).copied().flatten()?;
        Some((self.of_model[model.index()].as_ref()?, usize::from(number)))
    }

    /// Thousandths of a GPU of a model that an instance takes.
    pub(super) fn milli(&self, model: ModelIndex, profile: ProfileIndex) -> Option<u16> {
        let (model, number) = self.of(model, profile)?;
        let slices = u16::from(model.profiles[number].memory_slices);
        Some(slices * WHOLE_GPU / u16::from(model.memory_slices))
    }
}
