//! What each GPU model can be cut into by MIG: `catalog/mig.toml` as values.
//!
//! The catalogue that ships is compiled in; a site reads one of its own with [`MigCatalog::read`].

use serde::Deserialize;
use toml::Spanned;

use crate::FormatError;
use crate::formats::place::Place;

const SHIPPED: &str = include_str!("../../../catalog/mig.toml");
const KEYS: &str = "a catalogue has heddle-mig and [[model]] with name, memory-mib, memory-slices, compute-slices, source, \
                    confidence, starts-confidence and profiles; a profile has name, memory-slices, compute-slices, \
                    starts, max and media";

/// The most profiles of one model.
pub const MOST_PROFILES: usize = 15;

/// How well a figure is founded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// Measured by its source.
    Measured,
    /// In a maker's manual or a paper.
    Published,
    /// In a maker's advertisement.
    VendorClaimed,
    /// Concluded from something alike.
    Estimated,
}

/// One kind of MIG instance.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Profile {
    /// As `nvidia-smi` calls it: `3g.40gb`.
    pub name: String,
    /// Memory slices that an instance takes, side by side.
    pub memory_slices: u8,
    /// Compute slices that it takes.
    pub compute_slices: u8,
    /// Memory slices at which it may begin.
    pub starts: Vec<u8>,
    /// The most instances of it on one GPU.
    pub max: u8,
    /// Whether it holds the media engines, which one instance of a GPU can have.
    #[serde(default)]
    pub media: bool,
}

impl Profile {
    /// The memory slices of an instance at `start`, a bit each.
    pub const fn mask(&self, start: u8) -> u8 {
        (((1u16 << self.memory_slices) - 1) << start) as u8
    }
}

/// What one GPU model can be cut into.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MigModel {
    /// The model's name, as pools call it.
    pub name: String,
    /// Its memory, MiB.
    pub memory_mib: u32,
    /// Memory slices, at most eight.
    pub memory_slices: u8,
    /// Compute slices.
    pub compute_slices: u8,
    /// Where the figures are from.
    pub source: String,
    /// How well they are founded.
    pub confidence: Confidence,
    /// The same for the starts alone.
    pub starts_confidence: Confidence,
    /// Its profiles, smallest first.
    pub profiles: Vec<Profile>,
}

impl MigModel {
    /// The profile of that name.
    pub fn profile(&self, name: &str) -> Option<usize> {
        self.profiles.iter().position(|profile| profile.name == name)
    }
}

/// The models that can be cut.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MigCatalog {
    models: Vec<MigModel>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "heddle-mig")]
    version: Spanned<u32>,
    #[serde(default)]
    model: Vec<Spanned<MigModel>>,
}

impl MigCatalog {
    /// The catalogue that ships.
    ///
    /// # Errors
    /// None as it ships: a test reads it.
    pub fn shipped() -> Result<Self, FormatError> {
        Self::read("catalog/mig.toml", SHIPPED)
    }

    /// Reads a catalogue.
    ///
    /// # Errors
    /// Where it is no TOML, has unknown keys, or a profile cannot be on its model.
    pub fn read(name: &str, text: &str) -> Result<Self, FormatError> {
        let place = Place::new(name, text);
        let file: File = place.parse(KEYS)?;
        if *file.version.get_ref() != 1 {
            let what = format!("version {} of the catalogue", file.version.get_ref());
            return Err(place.error(file.version.span().start, what, "this Heddle reads version 1"));
        }
        let mut models: Vec<MigModel> = Vec::with_capacity(file.model.len());
        for entry in file.model {
            let at = entry.span().start;
            let model = entry.into_inner();
            if let Some((what, mend)) = fault_of(&model) {
                return Err(place.error(at, format!("{}: {what}", model.name), mend));
            }
            if models.iter().any(|other| other.name == model.name) {
                return Err(place.error(at, format!("a second model {}", model.name), "keep one of the two"));
            }
            models.push(model);
        }
        Ok(Self { models })
    }

    /// Every model.
    pub fn models(&self) -> &[MigModel] {
        &self.models
    }

    /// The model of that name. `None`: it cannot be cut.
    pub fn model(&self, name: &str) -> Option<&MigModel> {
        self.models.iter().find(|model| model.name == name)
    }
}

fn fault_of(model: &MigModel) -> Option<(String, &'static str)> {
    if !(1..=8).contains(&model.memory_slices) || model.compute_slices == 0 {
        return Some(("memory-slices or compute-slices out of range".to_owned(), "a GPU has 1 to 8 of them"));
    }
    if model.profiles.len() > MOST_PROFILES {
        return Some((format!("{} profiles", model.profiles.len()), "a model has at most 15 profiles"));
    }
    for (at, profile) in model.profiles.iter().enumerate() {
        let fits = profile.starts.iter().all(|start| {
            profile.memory_slices >= 1
                && start.checked_add(profile.memory_slices).is_some_and(|end| end <= model.memory_slices)
        });
        if !fits || profile.starts.is_empty() {
            let what = format!("an instance of {} would not lie on the GPU", profile.name);
            return Some((what, "every start plus memory-slices is at most the model's memory-slices"));
        }
        if profile.compute_slices == 0 || profile.compute_slices > model.compute_slices || profile.max == 0 {
            let what = format!("compute-slices or max of {} out of range", profile.name);
            return Some((what, "an instance has at least one compute slice and at most the model's"));
        }
        if model.profiles[..at].iter().any(|other| other.name == profile.name) {
            return Some((format!("{} stands twice", profile.name), "keep one of the two"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ships_is_whole() {
        let catalog = MigCatalog::shipped().unwrap();
        let names: Vec<_> = catalog.models().iter().map(|model| model.name.as_str()).collect();
        assert_eq!(names, ["A100-40GB", "A100-80GB", "A30", "H100-80GB", "H200-141GB", "B200-180GB"]);
        for model in catalog.models() {
            assert!(!model.source.is_empty());
            // The largest profile is the whole GPU, and as many of a profile fit by its starts as it says.
            let largest = model.profiles.last().unwrap();
            assert_eq!(
                (largest.memory_slices, largest.compute_slices),
                (model.memory_slices, model.compute_slices)
            );
            for profile in &model.profiles {
                let max = if profile.media { 1 } else { profile.starts.len() };
                assert_eq!(usize::from(profile.max), max, "{} of {}", profile.name, model.name);
            }
        }
    }

    #[test]
    fn a_wrong_catalogue_is_refused_by_line() {
        let wrong = SHIPPED.replacen("starts = [0, 4]", "starts = [0, 5]", 1);
        let error = MigCatalog::read("mig.toml", &wrong).unwrap_err().to_string();
        assert!(error.contains("A100-40GB: an instance of 3g.20gb would not lie on the GPU"), "{error}");
        let wrong = SHIPPED.replacen("memory-mib", "memory-gib", 1);
        let error = MigCatalog::read("mig.toml", &wrong).unwrap_err().to_string();
        assert!(error.starts_with("mig.toml:") && error.contains("memory-gib"), "{error}");
        assert!(MigCatalog::read("m", "heddle-mig = 2").unwrap_err().to_string().contains("version 1"));
    }
}
