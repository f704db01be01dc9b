//! Which of several groups take a number of members: as few as can be, and of those the ones with the least room to spare,
//! so that large free groups stay whole.

/// Groups that were picked, by their numbers, each with what it takes.
pub(super) type Picked = Vec<(u32, u64)>;

/// Shares `members` out over groups with `room`, which comes as (room, group). The number of groups is the least
/// possible; a single group is the one with the least room that holds them all. Of equals the first is taken. In
/// the order of the groups; empty where the room is too small.
pub(super) fn pick(room: &mut Vec<(u64, u32)>, members: u64) -> Picked {
    room.retain(|&(room, _)| room > 0);
    let best_fit = room.iter().filter(|&&(room, _)| room >= members).min();
    if let Some(&(_, group)) = best_fit {
        return vec![(group, members)];
    }
    // Largest first, of equals the first group.
    room.sort_unstable_by_key(|&(room, group)| (std::cmp::Reverse(room), group));
    let Some(count) = fewest_of(room, members) else { return Picked::new() };
    let mut chosen = with_least_to_spare(room, count, members);
    let total: u64 = chosen.iter().map(|&(room, _)| room).sum();
    // What is to spare stays on the group with the most room: with the fewest groups it is less than any of them has.
    let mut spare = total - members;
    chosen.sort_unstable_by_key(|&(room, group)| (std::cmp::Reverse(room), group));
    let mut picked: Picked = chosen
        .into_iter()
        .map(|(room, group)| {
            let left = spare.min(room);
            spare -= left;
            (group, room - left)
        })
        .collect();
    picked.sort_unstable();
    picked
}

/// How many groups, taken from the one with the most room on, hold `members`; `None` where all together do not.
fn fewest_of(largest_first: &[(u64, u32)], members: u64) -> Option<usize> {
    let mut rest = members;
    for (at, &(room, _)) in largest_first.iter().enumerate() {
        rest = rest.saturating_sub(room);
        if rest == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// `count` groups that hold `members` with little to spare. Two ways are tried and the better one is taken: groups that
/// follow each other in order of room; and the largest with the best fit for what remains.
fn with_least_to_spare(largest_first: &[(u64, u32)], count: usize, members: u64) -> Vec<(u64, u32)> {
    let mut sum: u64 = largest_first[..count].iter().map(|&(room, _)| room).sum();
    let mut best = (sum, 0);
    for start in 1..=largest_first.len() - count {
        sum = sum - largest_first[start - 1].0 + largest_first[start + count - 1].0;
        if sum < members {
            break;
        }
        if sum < best.0 {
            best = (sum, start);
        }
    }
    let (largest, others) = largest_first.split_at(count - 1);
    let held: u64 = largest.iter().map(|&(room, _)| room).sum();
    let rest = members.saturating_sub(held);
    let last = others.iter().filter(|&&(room, _)| room >= rest).min();
    match last {
        Some(&last) if held + last.0 < best.0 => largest.iter().copied().chain([last]).collect(),
        _ => largest_first[best.1..best.1 + count].to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn picked(room: &[u64], members: u64) -> Picked {
        let mut room: Vec<(u64, u32)> = room.iter().copied().zip(0..).collect();
        pick(&mut room, members)
    }

    #[test]
    fn the_tightest_fit_is_taken_and_whole_groups_stay_whole() {
        assert_eq!(picked(&[32, 9, 8, 20], 8), [(2, 8)]);
        assert_eq!(picked(&[32, 9, 8, 20], 10), [(3, 10)]);
        // One group would not do; 32 and 8 fit to the last place.
        assert_eq!(picked(&[32, 9, 8, 20], 40), [(0, 32), (2, 8)]);
        // Two halves rather than a whole one and a part.
        assert_eq!(picked(&[32, 20, 20, 3], 40), [(1, 20), (2, 20)]);
        assert_eq!(picked(&[5, 0, 5], 11), []);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

        #[test]
        fn as_few_groups_as_can_be(room in prop::collection::vec(0u64..12, 1..9), members in 1u64..40) {
            let picked = picked(&room, members);
            let holds = |set: u32| {
                let inside = (0..room.len()).filter(|at| set >> at & 1 == 1).map(|at| room[at]);
                inside.sum::<u64>() >= members
            };
            let least = (0u32..1 << room.len()).filter(|&set| holds(set)).map(u32::count_ones).min();
            prop_assert_eq!(least.map_or(0, |least| least as usize), picked.len());
            if let Some(least) = least {
                prop_assert_eq!(picked.iter().map(|&(_, taken)| taken).sum::<u64>(), members);
                for &(group, taken) in &picked {
                    prop_assert!(taken > 0 && taken <= room[group as usize]);
                }
                if least == 1 {
                    let tightest = room.iter().copied().filter(|&room| room >= members).min();
                    prop_assert_eq!(Some(room[picked[0].0 as usize]), tightest);
                }
            }
        }
    }
}
