//! Slices given out and taken back: stories, and random steps against a second account.

use proptest::prelude::*;

use super::*;
use crate::node::{Gpu, Health, Node, State};

fn pool(models: &[&str]) -> Pool {
    let catalog = MigCatalog::shipped().unwrap();
    let mut pool = Pool::new();
    let gpus = models
        .iter()
        .map(|name| Gpu {
            model: pool.model_named(name, catalog.model(name).map_or(0, |model| model.memory_mib)),
            nvlink: None,
            numa: 0,
            attachment: None,
            health: Health::default(),
        })
        .collect();
    let health = Health::default();
    pool.add_node(Node { name: "n1".to_owned(), cpu_milli: vec![8000], memory_mib: 1000, health, gpus })
        .unwrap();
    pool
}

const G: GpuIndex = GpuIndex(0);

fn slices(pool: &Pool) -> Slices {
    Slices::new(pool, MigCatalog::shipped().unwrap())
}

#[test]
fn a_gpu_is_cut_anew_only_while_it_is_empty() {
    let pool = pool(&["H100-80GB"]);
    let mut slices = slices(&pool);
    slices.cut(&pool, G, &["3g.40gb", "4g.40gb"]).unwrap();
    let three = slices.take_instance(&pool, G, "3g.40gb").unwrap();
    let error = slices.cut(&pool, G, &["7g.80gb"]).unwrap_err().to_string();
    assert_eq!(
        error,
        "n1[0] is in use (1 given out): a GPU is cut anew only while it is empty; drain it first"
    );
    assert!(slices.share(&pool, G).is_err() && slices.make_whole(&pool, G).is_err());
    let error = slices.take_instance(&pool, G, "3g.40gb").unwrap_err().to_string();
    assert_eq!(error, "n1[0] has 4g.40gb left, not 3g.40gb");
    slices.release(three).unwrap();
    assert_eq!(slices.release(three), Err(SliceError::NoSlice));
    slices.cut(&pool, G, &["7g.80gb"]).unwrap();
    let seven = slices.take_instance(&pool, G, "7g.80gb").unwrap();
    assert_eq!(slices.get(three), None, "a number is not used again");
    assert!(slices.get(seven).is_some());
}

#[test]
fn what_cannot_be_is_said() {
    let pool = pool(&["H100-80GB", "T4"]);
    let mut slices = slices(&pool);
    let words = |error: SliceError| error.to_string();
    assert!(words(slices.cut(&pool, GpuIndex(1), &["1g.5gb"]).unwrap_err()).contains("no MIG profiles"));
    assert!(words(slices.cut(&pool, G, &["1g.5gb"]).unwrap_err()).contains("it has 1g.10gb"));
    assert!(words(slices.cut(&pool, G, &["4g.40gb", "4g.40gb"]).unwrap_err()).contains("do not fit"));
    assert!(words(slices.take_whole(&pool, GpuIndex(7)).unwrap_err()).contains("not in the pool"));
    let half = Share::sixteenths(8).unwrap();
    assert!(words(slices.take_fraction(&pool, G, half, 10).unwrap_err()).contains("is whole, not shared"));
}

#[test]
fn two_parts_of_two_gpus_are_not_one() {
    let pool = pool(&["H100-80GB", "H100-80GB"]);
    let mut slices = slices(&pool);
    for gpu in pool.gpus() {
        slices.share(&pool, gpu).unwrap();
        slices.take_fraction(&pool, gpu, Share::thousandths(600).unwrap(), 1000).unwrap();
    }
    let wanted = Share::thousandths(800).unwrap();
    assert!(pool.gpus().all(|gpu| slices.take_fraction(&pool, gpu, wanted, 0).is_err()));
    // Memory bounds as time does.
    let little = Share::sixteenths(1).unwrap();
    assert!(slices.take_fraction(&pool, G, little, 81_000).is_err());
    slices.take_fraction(&pool, G, little, 80_920).unwrap();
    slices.check_invariants(&pool);
}

#[test]
fn a_gpu_that_takes_no_work_gives_no_slice_but_takes_one_back() {
    let mut pool = pool(&["H100-80GB"]);
    let mut slices = slices(&pool);
    let whole = slices.take_whole(&pool, G).unwrap();
    assert!(slices.take_whole(&pool, G).is_err());
    pool.set_gpu_health(G, Health { state: State::Draining, reason: "swap of fans".to_owned() });
    slices.release(whole).unwrap();
    let error = slices.take_whole(&pool, G).unwrap_err().to_string();
    assert_eq!(error, "n1[0] is draining (swap of fans)");
}

#[derive(Clone, Debug)]
enum Step {
    Whole(u32),
    Share(u32),
    Cut(u32, Vec<usize>),
    TakeWhole(u32),
    TakeInstance(u32, usize),
    TakeFraction(u32, u16, u32),
    Release(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let gpu = 0..3u32;
    prop_oneof![
        gpu.clone().prop_map(Step::Whole),
        gpu.clone().prop_map(Step::Share),
        (gpu.clone(), prop::collection::vec(0..7usize, 1..5)).prop_map(|(gpu, list)| Step::Cut(gpu, list)),
        gpu.clone().prop_map(Step::TakeWhole),
        (gpu.clone(), 0..7usize).prop_map(|(gpu, profile)| Step::TakeInstance(gpu, profile)),
        (gpu, 1..1000u16, 0..60_000u32)
            .prop_map(|(gpu, share, memory)| Step::TakeFraction(gpu, share, memory)),
        (0..32usize).prop_map(Step::Release),
        (0..32usize).prop_map(Step::Release),
    ]
}

proptest! {

    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn no_slice_overlaps_another(steps in prop::collection::vec(step(), 1..80)) {
        let pool = pool(&["H100-80GB", "A100-40GB", "A30"]);
        let catalog = MigCatalog::shipped().unwrap();
        let mut slices = slices(&pool);
        let mut held: Vec<SliceId> = Vec::new();
        let name = |gpu: u32, at: usize| {
            let model = catalog.model(&pool.gpu_model(GpuIndex(gpu)).name).unwrap();
            model.profiles[at % model.profiles.len()].name.as_str()
        };
        for step in steps {
            let on = |gpu: u32, held: &[SliceId], slices: &Slices| {
                held.iter().filter(|&&id| slices.get(id).unwrap().gpu == GpuIndex(gpu)).count()
            };
            match step {
                Step::Whole(gpu) => {
                    let empty = on(gpu, &held, &slices) == 0;
                    prop_assert_eq!(slices.make_whole(&pool, GpuIndex(gpu)).is_ok(), empty);
                }
                Step::Share(gpu) => {
                    let empty = on(gpu, &held, &slices) == 0;
                    prop_assert_eq!(slices.share(&pool, GpuIndex(gpu)).is_ok(), empty);
                }
                Step::Cut(gpu, list) => {
                    let names: Vec<_> = list.iter().map(|&at| name(gpu, at)).collect();
                    let empty = on(gpu, &held, &slices) == 0;
                    prop_assert!(slices.cut(&pool, GpuIndex(gpu), &names).is_err() || empty);
                }
                Step::TakeWhole(gpu) => held.extend(slices.take_whole(&pool, GpuIndex(gpu))),
                Step::TakeInstance(gpu, at) => {
                    held.extend(slices.take_instance(&pool, GpuIndex(gpu), name(gpu, at)));
                }
                Step::TakeFraction(gpu, share, memory) => {
                    let share = Share::thousandths(share).unwrap();
                    held.extend(slices.take_fraction(&pool, GpuIndex(gpu), share, memory));
                }
                Step::Release(at) => {
                    if !held.is_empty() {
                        let id = held.swap_remove(at % held.len());
                        prop_assert!(slices.release(id).is_ok() && slices.get(id).is_none());
                    }
                }
            }
            slices.check_invariants(&pool);
        }
    }
}
