//! Where MIG instances go on one GPU: the starts that a wanted set of profiles can take.

use crate::catalog::MigModel;

/// Starts for `wanted` (numbers of the model's profiles), in their order; `None` where no arrangement holds them all.
///
/// An exact search: the largest first, each at its latest start first, so that the low slices, where most profiles may
/// begin, stay free longest. A GPU has at most eight slices, so the search is short.
pub fn pack(model: &MigModel, wanted: &[usize]) -> Option<Vec<u8>> {
    if !counts_allow(model, wanted) {
        return None;
    }
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|&at| {
        let profile = &model.profiles[wanted[at]];
        (std::cmp::Reverse(profile.memory_slices), profile.starts.len(), wanted[at], at)
    });
    let mut starts = vec![0; wanted.len()];
    search(model, wanted, &order, 0, &mut starts).then_some(starts)
}

/// What holds however instances lie: the most of each profile, compute slices, memory slices, one set of media engines.
fn counts_allow(model: &MigModel, wanted: &[usize]) -> bool {
    let sum = |each: fn(&crate::catalog::Profile) -> u8| -> usize {
        wanted.iter().map(|&at| usize::from(each(&model.profiles[at]))).sum()
    };
    let most =
        model.profiles.iter().enumerate().all(|(at, profile)| {
            wanted.iter().filter(|&&other| other == at).count() <= usize::from(profile.max)
        });
    most && sum(|profile| profile.memory_slices) <= usize::from(model.memory_slices)
        && sum(|profile| profile.compute_slices) <= usize::from(model.compute_slices)
        && sum(|profile| u8::from(profile.media)) <= 1
}

fn search(model: &MigModel, wanted: &[usize], order: &[usize], taken: u8, starts: &mut [u8]) -> bool {
    let Some((&at, rest)) = order.split_first() else { return true };
    let profile = &model.profiles[wanted[at]];
    profile.starts.iter().rev().any(|&start| {
        let mask = profile.mask(start);
        starts[at] = start;
        taken & mask == 0 && search(model, wanted, rest, taken | mask, starts)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::catalog::MigCatalog;

    /// Every arrangement, one after another, with the rules written down anew.
    fn brute_force(model: &MigModel, wanted: &[usize]) -> bool {
        let choices: Vec<&[u8]> = wanted.iter().map(|&at| model.profiles[at].starts.as_slice()).collect();
        let arrangements: usize = choices.iter().map(|starts| starts.len()).product();
        (0..arrangements).any(|mut number| {
            let mut slices = [0u8; 8];
            for (starts, &at) in choices.iter().zip(wanted) {
                let start = starts[number % starts.len()];
                number /= starts.len();
                for slice in start..start + model.profiles[at].memory_slices {
                    slices[usize::from(slice)] += 1;
                }
            }
            let compute: u8 = wanted.iter().map(|&at| model.profiles[at].compute_slices).sum();
            let media = wanted.iter().filter(|&&at| model.profiles[at].media).count();
            slices.iter().all(|&times| times <= 1) && compute <= model.compute_slices && media <= 1
        })
    }

    proptest! {

        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn packs_what_brute_force_packs(
            model in 0..6usize,
            wanted in prop::collection::vec(0..7usize, 0..6),
        ) {
            let catalog = MigCatalog::shipped().unwrap();
            let model = &catalog.models()[model];
            let wanted: Vec<_> = wanted.into_iter().map(|at| at % model.profiles.len()).collect();
            let packed = pack(model, &wanted);
            prop_assert_eq!(packed.is_some(), brute_force(model, &wanted));
            if let Some(starts) = packed {
                let mut taken = 0u8;
                for (&start, &at) in starts.iter().zip(&wanted) {
                    prop_assert!(model.profiles[at].starts.contains(&start));
                    let mask = model.profiles[at].mask(start);
                    prop_assert_eq!(taken & mask, 0);
                    taken |= mask;
                }
            }
        }
    }

    #[test]
    fn what_the_manual_shows_fits_and_what_it_rules_out_does_not() {
        let catalog = MigCatalog::shipped().unwrap();
        let fits = |model: &str, names: &[&str]| {
            let model = catalog.model(model).unwrap();
            let wanted: Vec<_> = names.iter().map(|name| model.profile(name).unwrap()).collect();
            pack(model, &wanted).is_some()
        };
        assert!(fits("A100-40GB", &["4g.20gb", "2g.10gb", "1g.5gb"]));
        assert!(fits("A100-40GB", &["3g.20gb", "3g.20gb"]));
        assert!(!fits("A100-40GB", &["3g.20gb", "3g.20gb", "1g.5gb"]));
        assert!(fits("H100-80GB", &["1g.10gb"; 7]));
        assert!(!fits("H100-80GB", &["4g.40gb", "4g.40gb"]));
        assert!(fits("H200-141GB", &["1g.35gb"; 4]));
        assert!(fits("B200-180GB", &["3g.90gb", "2g.45gb", "1g.23gb", "1g.23gb+me"]));
        assert!(!fits("A30", &["1g.6gb+me", "2g.12gb+me"]));
    }
}
