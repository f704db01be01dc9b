//! Paths that keep to one lane all the way, each on the first on which what it waits for closes no circle: the layers of
//! Skeie, Lysne and Theiss ("Layered shortest path routing in irregular system area networks", 2002).
//!
//! It takes any paths, also those that turn alike before and after their valley, and as many lanes as they happen to
//! need. A path without a valley waits in no circle with others such, so that the first lane has all of these.

use super::choice::Choice;
use super::order::Order;
use crate::acyclic::Acyclic;
use crate::lanes::MOST_LANES;
use crate::links::Links;

/// Dependencies that searches for circles may look at, all lanes together: bounds the time to a second or two.
const LOOKS: u64 = 100_000_000;

/// One lane: which links wait for which on it.
struct Lane {
    graph: Acyclic,
    /// By link and place of the next link on its switch.
    waits: Vec<bool>,
}

impl Lane {
    fn new(links: &Links, place: Vec<u32>) -> Self {
        let graph = Acyclic::new(place, LOOKS / u64::from(MOST_LANES));
        Self { graph, waits: vec![false; links.len() * links.most] }
    }

    /// Puts a path on the lane; changes nothing and says no where that would close a circle.
    fn take(&mut self, turns: &[Turn], added: &mut Vec<Turn>) -> bool {
        added.clear();
        for &turn in turns {
            if self.waits[turn.number] {
                continue;
            }
            if !self.graph.add(turn.from, turn.to) {
                for turn in added.drain(..).rev() {
                    self.waits[turn.number] = false;
                    self.graph.remove_last(turn.from, turn.to);
                }
                return false;
            }
            self.waits[turn.number] = true;
            added.push(turn);
        }
        true
    }
}

/// Two links in a row.
#[derive(Clone, Copy)]
struct Turn {
    from: u32,
    to: u32,
    /// By link and place.
    number: usize,
}

/// The lane of each path, by source and LID in rows of `width`; `None` where `most` lanes are too few.
pub(super) fn lanes(
    links: &Links,
    order: &Order,
    choice: &mut Choice,
    width: usize,
    most: u8,
) -> Option<Vec<u8>> {
    let place = order.up_before_down(links);
    let (mut lanes, mut turns, mut added) = (Vec::new(), Vec::new(), Vec::new());
    let mut lane_of = vec![0; choice.switches() * width];
    for with_valley in [false, true] {
        for target in 0..choice.targets() {
            for path in choice.paths_to(target, with_valley) {
                turns.clear();
                turns.extend(choice.follow(&path).map(|(link, place)| Turn {
                    from: link as u32,
                    to: links.number(links.peer(link), place) as u32,
                    number: link * links.most + place,
                }));
                let found = lanes.iter_mut().position(|lane: &mut Lane| lane.take(&turns, &mut added));
                let lane = match found {
                    Some(lane) => lane,
                    None if lanes.len() < usize::from(most.min(MOST_LANES)) => {
                        let mut lane = Lane::new(links, place.clone());
                        if !lane.take(&turns, &mut added) {
                            return None;
                        }
                        lanes.push(lane);
                        lanes.len() - 1
                    }
                    None => return None,
                };
                lane_of[path.source as usize * width + path.lid as usize] = lane as u8;
            }
        }
    }
    Some(lane_of)
}
