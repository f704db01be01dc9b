//! What a node takes, held against every way to place parts on it one after another.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::{Capacity, ModelSet};
use super::*;

const NODE: NodeIndex = NodeIndex(0);

/// A node of A30s, which have four memory slices, with its NUMA domains.
fn stock(domains: &[Domain], of_gpu: &[u8]) -> Stock {
    let mut stock = Stock::new();
    let model = stock.model_named("A30").unwrap();
    let sum = |amount: fn(&Domain) -> u32| domains.iter().map(amount).sum();
    let capacity = Capacity {
        cpu_milli: sum(|domain| domain.cpu_milli),
        memory_mib: sum(|domain| domain.memory_mib),
        gpus: of_gpu.len(),
        model: (!of_gpu.is_empty()).then_some(model),
    };
    stock.add_node_of(&capacity, domains, of_gpu).unwrap();
    stock.know_mig(&crate::catalog::MigCatalog::shipped().unwrap()).unwrap();
    stock
}

/// Two halves with 8 cores and 4 GPUs each.
fn halves() -> Stock {
    let half = Domain { cpu_milli: 8000, memory_mib: 800 };
    stock(&[half; 2], &[0, 0, 0, 0, 1, 1, 1, 1])
}

fn whole(gpus: u16, numa: NumaWant) -> Demand {
    Demand { cpu_milli: 1000, memory_mib: 10, gpus, gpu_milli: WHOLE_GPU, numa, ..Demand::default() }
}

fn copies(stock: &Stock, demand: &Demand) -> u32 {
    Room::of(stock, NODE).copies(demand)
}

fn take(stock: &mut Stock, demand: &Demand) -> Grant {
    let grant = Room::of(stock, NODE).place(demand).unwrap();
    stock.allocate(&grant).unwrap();
    grant
}

#[test]
fn four_free_gpus_of_which_two_are_in_each_half_are_no_place_for_four_in_one() {
    let mut stock = halves();
    for gpus in [0b0011, 0b0011_0000] {
        stock.allocate(&Grant::new(NODE, &whole(2, NumaWant::Anywhere), GpuSet(gpus))).unwrap();
    }
    assert_eq!(Room::of(&stock, NODE).idle_gpus(), (4, SmallVec::from_slice(&[2, 2])));
    assert_eq!(copies(&stock, &whole(4, NumaWant::Anywhere)), 1);
    assert_eq!(copies(&stock, &whole(4, NumaWant::PreferOne)), 1);
    assert_eq!(copies(&stock, &whole(4, NumaWant::One)), 0);
    assert_eq!(copies(&stock, &whole(2, NumaWant::One)), 2);
    let grant = take(&mut stock, &whole(4, NumaWant::PreferOne));
    assert_eq!((grant.gpus, grant.pin), (GpuSet(0b1100_1100), Pin::Floating));
}

#[test]
fn a_half_that_is_begun_is_filled_before_another_is_broken() {
    let mut stock = halves();
    let pins: Vec<Pin> = [3, 2, 1].map(|gpus| take(&mut stock, &whole(gpus, NumaWant::One)).pin).into();
    assert_eq!(pins, [Pin::Domain(0), Pin::Domain(1), Pin::Domain(0)]);
}

#[test]
fn cpu_is_counted_in_the_half_that_it_is_pinned_in_and_what_floats_makes_way() {
    let mut stock = halves();
    let wide = |numa| Demand { cpu_milli: 6000, ..whole(1, numa) };
    // What floats takes ten cores of sixteen, wherever: there is room for one of six cores pinned, no more.
    let floating = Demand { cpu_milli: 10_000, ..whole(1, NumaWant::Anywhere) };
    let grant = take(&mut stock, &floating);
    assert_eq!(copies(&stock, &wide(NumaWant::One)), 1);
    stock.release(&grant).unwrap();
    let pinned = [take(&mut stock, &wide(NumaWant::One)), take(&mut stock, &wide(NumaWant::One))];
    assert_eq!(pinned.map(|grant| grant.pin), [Pin::Domain(0), Pin::Domain(1)]);
    // Four cores are left, two in each half.
    let small = |numa| Demand { cpu_milli: 3000, ..whole(2, numa) };
    assert_eq!(copies(&stock, &small(NumaWant::Anywhere)), 1);
    assert_eq!(copies(&stock, &small(NumaWant::One)), 0);
    let grant = take(&mut stock, &small(NumaWant::Beside));
    assert_eq!((grant.pin, grant.gpus.len()), (Pin::Beside, 2));
    let error = stock.allocate(&Grant { gpus: GpuSet(0b1000), pin: Pin::Domain(0), ..pinned[0] });
    assert!(error.is_err());
}

#[test]
fn an_instance_goes_where_larger_ones_lose_least() {
    let mut stock = stock(&[Domain { cpu_milli: 8000, memory_mib: 800 }], &[0, 0]);
    let profile = |name: &str| stock.profile_named(name).unwrap();
    let of = |profile| Demand { mig: Some(profile), gpu_milli: 250, ..whole(1, NumaWant::Anywhere) };
    let (one, two, four) = (of(profile("1g.6gb")), of(profile("2g.12gb")), of(profile("4g.24gb")));
    assert_eq!([one, two, four].map(|demand| copies(&stock, &demand)), [8, 4, 2]);
    let first = take(&mut stock, &one);
    let places = |grant: Grant| grant.instances.unwrap().iter().collect::<Vec<_>>();
    assert_eq!(places(first), [(0, 3)]);
    assert_eq!([one, two, four].map(|demand| copies(&stock, &demand)), [7, 3, 1]);
    assert_eq!(stock.gpus_free_milli(NODE), [0, 1000]);
    assert_eq!(stock.gpu_taken_total_milli(), 250);
    // Beside it, not on the other GPU; then the hole of one slice is filled before the other half.
    assert_eq!(places(take(&mut stock, &two)), [(0, 0)]);
    assert_eq!(places(take(&mut stock, &one)), [(0, 2)]);
    assert_eq!(copies(&stock, &whole(1, NumaWant::Anywhere)), 1);
    // No share goes to a GPU that is cut, and what was given back is not given back twice.
    assert!(stock.allocate(&Grant::new(NODE, &whole(1, NumaWant::Anywhere), GpuSet(1))).is_err());
    stock.release(&first).unwrap();
    assert!(stock.release(&first).is_err());
    assert!(stock.release(&Grant::new(NODE, &whole(1, NumaWant::Anywhere), GpuSet(1))).is_err());
}

/// What a node has left, by a plain record.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Left {
    floating: [u32; 2],
    domains: Vec<[u32; 2]>,
    gpus: Vec<u16>,
    /// Memory slices taken by instances; a GPU with any is no whole one.
    slices: Vec<u8>,
}

/// Every way to take so many GPUs or instances, of any domain.
fn ways(
    left: &Left,
    of_gpu: &[u8],
    demand: &Demand,
    profile: Option<(u8, &[u8])>,
) -> Vec<(Left, Vec<usize>)> {
    let mut ways = vec![(left.clone(), Vec::new())];
    for _ in 0..demand.gpus {
        let mut more = Vec::new();
        for (left, taken) in &ways {
            for gpu in 0..of_gpu.len() {
                if let Some((width, starts)) = profile {
                    for start in starts {
                        let mask = (((1_u16 << width) - 1) << start) as u8;
                        let idle = left.slices[gpu] != 0 || left.gpus[gpu] == WHOLE_GPU;
                        if idle && left.slices[gpu] & mask == 0 {
                            let mut after = (left.clone(), [&taken[..], &[gpu]].concat());
                            after.0.slices[gpu] |= mask;
                            after.0.gpus[gpu] = 0;
                            more.push(after);
                        }
                    }
                } else if left.gpus[gpu] >= demand.gpu_milli && !taken.contains(&gpu) {
                    let mut after = (left.clone(), [&taken[..], &[gpu]].concat());
                    after.0.gpus[gpu] -= demand.gpu_milli;
                    more.push(after);
                }
            }
        }
        more.sort();
        more.dedup();
        ways = more;
    }
    ways
}

/// The most parts that can be placed, whatever the order and the places.
fn most(
    left: &Left,
    of_gpu: &[u8],
    demand: &Demand,
    profile: Option<(u8, &[u8])>,
    known: &mut BTreeMap<Left, u32>,
) -> u32 {
    if let Some(&most) = known.get(left) {
        return most;
    }
    let part = [demand.cpu_milli, demand.memory_mib];
    let mut best = 0;
    if left.floating[0] >= part[0] && left.floating[1] >= part[1] {
        for (mut after, taken) in ways(left, of_gpu, demand, profile) {
            after.floating = [after.floating[0] - part[0], after.floating[1] - part[1]];
            let mut afters = Vec::new();
            match demand.numa {
                NumaWant::One => {
                    for domain in 0..after.domains.len() {
                        if taken.iter().all(|&gpu| usize::from(of_gpu[gpu]) == domain)
                            && (0..2).all(|what| after.domains[domain][what] >= part[what])
                        {
                            let mut after = after.clone();
                            (0..2).for_each(|what| after.domains[domain][what] -= part[what]);
                            afters.push(after);
                        }
                    }
                }
                NumaWant::Beside => {
                    let each = part.map(|amount| amount / taken.len().max(1) as u32);
                    let mut possible = true;
                    for &gpu in &taken {
                        let domain = &mut after.domains[usize::from(of_gpu[gpu])];
                        for what in 0..2 {
                            possible &= domain[what] >= each[what];
                            domain[what] = domain[what].saturating_sub(each[what]);
                        }
                    }
                    afters.extend(possible.then_some(after));
                }
                _ => afters.push(after),
            }
            for after in afters {
                best = best.max(1 + most(&after, of_gpu, demand, profile, known));
            }
        }
    }
    known.insert(left.clone(), best);
    best
}

fn wants() -> impl Strategy<Value = NumaWant> {
    prop::sample::select(NumaWant::ALL.map(|(want, _)| want).to_vec())
}

prop_compose! {
    fn demands()(
        numa in wants(), cpu_milli in 1_u32..5, memory_mib in 0_u32..4, gpus in 0_u16..4, share in 1_u16..=4,
        mig in prop::option::of(prop::sample::select(vec!["1g.6gb", "2g.12gb", "4g.24gb"])),
    ) -> (Demand, Option<&'static str>) {
        let gpus = if mig.is_some() { gpus.clamp(1, 2) } else { gpus };
        let gpu_milli = match (mig, gpus) { (None, 0) => 0, (None, 1) => share * 250, (None, _) => 1000, _ => 250 };
        (Demand { cpu_milli, memory_mib, gpus, gpu_milli, numa, ..Demand::default() }, mig)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 160, ..ProptestConfig::default() })]
    #[test]
    fn as_many_are_placed_as_can_be(
        amounts in prop::collection::vec((0_u32..9, 0_u32..9), 1..4),
        of_gpu in prop::collection::vec(0_u8..3, 0..4),
        before in prop::collection::vec(demands(), 0..4),
        (demand, mig) in demands(),
    ) {
        let domains: Vec<Domain> =
            amounts.iter().map(|&(cpu_milli, memory_mib)| Domain { cpu_milli, memory_mib }).collect();
        let of_gpu: Vec<u8> = of_gpu.iter().map(|of| of % domains.len() as u8).collect();
        let mut stock = stock(&domains, &of_gpu);
        let idle = stock.clone();
        let named = |stock: &Stock, (demand, mig): (Demand, Option<&str>)| {
            let mig = mig.and_then(|name| stock.profile_named(name));
            Demand { mig, ..demand }
        };
        let mut left = Left {
            floating: [stock.cpu_free_milli(NODE), stock.memory_free_mib(NODE)],
            domains: domains.iter().map(|domain| [domain.cpu_milli, domain.memory_mib]).collect(),
            gpus: vec![WHOLE_GPU; of_gpu.len()],
            slices: vec![0; of_gpu.len()],
        };
        let mut held = Vec::new();
        for other in before {
            let other = named(&stock, other);
            let Some(grant) = Room::of(&stock, NODE).place(&other) else { continue };
            stock.allocate(&grant).unwrap();
            held.push(grant);
            left.floating[0] -= grant.cpu_milli;
            left.floating[1] -= grant.memory_mib;
            if let Pin::Domain(domain) = grant.pin {
                left.domains[usize::from(domain)][0] -= grant.cpu_milli;
                left.domains[usize::from(domain)][1] -= grant.memory_mib;
            }
            let (model, number) = other.mig.map_or((None, 0), |mig| {
                let (model, number) = stock.cut_of(stock.model(NODE).unwrap(), mig).unwrap();
                (Some(model), number)
            });
            let places: Vec<(usize, u8)> = match grant.instances {
                Some(instances) => instances.iter().collect(),
                None => grant.gpus.iter().map(|gpu| (gpu, 0)).collect(),
            };
            for &(gpu, start) in &places {
                if let Some(model) = model {
                    let mask = model.profiles[number].mask(start);
                    prop_assert_eq!(left.slices[gpu] & mask, 0);
                    left.slices[gpu] |= mask;
                    left.gpus[gpu] = 0;
                } else {
                    left.gpus[gpu] -= grant.gpu_milli;
                }
                if grant.pin == Pin::Beside {
                    let domain = &mut left.domains[usize::from(of_gpu[gpu])];
                    domain[0] -= grant.cpu_milli / places.len() as u32;
                    domain[1] -= grant.memory_mib / places.len() as u32;
                }
            }
        }
        let demand = named(&stock, (demand, mig));
        let profile = demand.mig.map(|mig| {
            let (model, number) = stock.cut_of(stock.model(NODE).unwrap_or(crate::ModelIndex(0)), mig).unwrap();
            (model.profiles[number].memory_slices, &model.profiles[number].starts[..])
        });
        let expected = if demand.gpus > 0 && of_gpu.is_empty() { 0 } else {
            most(&left, &of_gpu, &demand, profile, &mut BTreeMap::new())
        };
        prop_assert_eq!(copies(&stock, &demand), expected);
        prop_assert_eq!(stock.fits(NODE, &demand), expected > 0);
        let mut room = Room::of(&stock, NODE);
        let placed: Vec<Grant> = std::iter::from_fn(|| room.place(&demand)).take(100).collect();
        prop_assert_eq!(placed.len() as u32, expected);
        prop_assert!(stock.allocate_all(&placed).is_ok());
        for grant in placed.iter().chain(&held) {
            prop_assert!(stock.release(grant).is_ok());
        }
        prop_assert_eq!(stock, idle);
    }

    #[test]
    fn instances_never_overlap_and_room_is_counted_exactly(
        model in 0..6_usize, steps in prop::collection::vec((0..7_usize, any::<bool>()), 1..24),
    ) {
        let catalog = crate::catalog::MigCatalog::shipped().unwrap();
        let model = &catalog.models()[model];
        let mut layout = Layout::EMPTY;
        let mut held: Vec<(usize, u8)> = Vec::new();
        for (profile, give_back) in steps {
            let profile = profile % model.profiles.len();
            if give_back && !held.is_empty() {
                let (profile, start) = held.remove(0);
                layout = layout.without(profile, start).unwrap();
            } else if let Some((start, _)) = layout.best_start(model, profile) {
                layout = layout.with(profile, start);
                held.push((profile, start));
            }
            let mut slices = [0; 8];
            for &(profile, start) in &held {
                prop_assert!(model.profiles[profile].starts.contains(&start));
                for slice in start..start + model.profiles[profile].memory_slices {
                    slices[usize::from(slice)] += 1;
                }
            }
            prop_assert!(slices.iter().all(|&times| times <= 1));
            let compute: u8 = held.iter().map(|&(at, _)| model.profiles[at].compute_slices).sum();
            prop_assert!(compute <= model.compute_slices);
            prop_assert!(held.iter().filter(|(at, _)| model.profiles[*at].media).count() <= 1);
            let mut here: Vec<_> = layout.instances().collect();
            here.sort_unstable();
            held.sort_unstable();
            prop_assert_eq!(&here, &held);
            // Every set of starts of one profile, with the rules written down anew.
            for (at, profile) in model.profiles.iter().enumerate() {
                let possible = |set: u32| {
                    let chosen = profile.starts.iter().enumerate().filter(|(bit, _)| set >> bit & 1 == 1);
                    let mut slices = slices;
                    chosen.for_each(|(_, &start)| {
                        (start..start + profile.memory_slices).for_each(|at| slices[usize::from(at)] += 1);
                    });
                    let count = set.count_ones() as usize;
                    let same = held.iter().filter(|(other, _)| *other == at).count();
                    let media = held.iter().filter(|(other, _)| model.profiles[*other].media).count();
                    slices.iter().all(|&times| times <= 1)
                        && usize::from(compute) + count * usize::from(profile.compute_slices)
                            <= usize::from(model.compute_slices)
                        && same + count <= usize::from(profile.max)
                        && (!profile.media || media + count <= 1)
                };
                let sets = 0..1_u32 << profile.starts.len();
                let most = sets.filter(|&set| possible(set)).map(u32::count_ones).max().unwrap();
                prop_assert_eq!(layout.room(model, at), most, "{}", profile.name);
                prop_assert_eq!(layout.best_start(model, at).is_some(), most > 0);
            }
        }
    }
}

#[test]
fn a_profile_counts_as_its_memory_slices_on_the_model_where_they_are_fewest() {
    let mut stock = Stock::new();
    for name in ["A100-40GB", "A100-80GB", "T4"] {
        stock.model_named(name).unwrap();
    }
    stock.know_mig(&crate::catalog::MigCatalog::shipped().unwrap()).unwrap();
    let profile = stock.profile_named("1g.10gb").unwrap();
    let [small, large, other] = [0, 1, 2].map(|model| ModelSet::NONE.with(crate::ModelIndex(model)));
    assert_eq!(stock.profile_milli(profile, ModelSet::ANY), Some(125));
    assert_eq!(
        [small, large, other].map(|of| stock.profile_milli(profile, of)),
        [Some(250), Some(125), None]
    );
    assert_eq!(stock.profile_named("1g.99gb"), None);
}
