//! Paths that fit no class of turns, put on the service levels left over: each level learns the lane of one turn of one
//! switch after another, as the paths on it need.

use super::choice::{Choice, Path};
use super::classes::{self, DOWN_UP};
use super::order::Order;
use crate::lanes::SERVICE_LEVELS;
use crate::links::Links;

/// A turn whose lane no path has asked for yet.
const OPEN: u8 = 255;

/// The lanes that the levels beyond [`classes::COUNT`] have learned.
pub(super) struct Packing {
    most: usize,
    /// By link and place of the next link on its switch, for each level.
    learned: Vec<Vec<u8>>,
    /// The level of each path.
    pub(super) levels: Vec<u8>,
}

impl Packing {
    /// Puts `paths` on levels, the first that each fits; `None` where that needs more levels than there are or more than
    /// `lanes` lanes.
    pub(super) fn of(
        links: &Links,
        order: &Order,
        choice: &Choice,
        paths: &[Path],
        lanes: u8,
    ) -> Option<Self> {
        let mut packing =
            Self { most: links.most, learned: Vec::new(), levels: Vec::with_capacity(paths.len()) };
        let (mut turns, mut asked) = (Vec::new(), Vec::new());
        for path in paths {
            turns.clear();
            turns.extend(choice.follow(path).map(|(link, place)| {
                let next = links.number(links.peer(link), place);
                (link * links.most + place, order.turn(link, next) == DOWN_UP)
            }));
            let fits = |learned: &mut Vec<u8>| take(learned, &turns, lanes, &mut asked);
            let level = match packing.learned.iter_mut().position(fits) {
                Some(level) => level,
                None if packing.learned.len() < SERVICE_LEVELS - usize::from(classes::COUNT) => {
                    let mut learned = vec![OPEN; links.len() * links.most];
                    if !take(&mut learned, &turns, lanes, &mut asked) {
                        return None;
                    }
                    packing.learned.push(learned);
                    packing.learned.len() - 1
                }
                None => return None,
            };
            packing.levels.push(classes::COUNT + level as u8);
        }
        Some(packing)
    }

    /// The levels that have learned a turn, with its lane.
    pub(super) fn lanes_of(&self, link: usize, place: usize) -> impl Iterator<Item = (u8, u8)> + '_ {
        let lane = move |learned: &Vec<u8>| learned[link * self.most + place];
        let known = self.learned.iter().enumerate().map(move |(level, learned)| (level, lane(learned)));
        known.filter(|&(_, lane)| lane != OPEN).map(|(level, lane)| (classes::COUNT + level as u8, lane))
    }
}

/// Teaches a level the lanes that a path needs, the lowest ones; changes nothing and says no where it cannot.
fn take(learned: &mut [u8], turns: &[(usize, bool)], lanes: u8, asked: &mut Vec<usize>) -> bool {
    asked.clear();
    let mut lane = 0;
    for &(turn, valley) in turns {
        let least = lane + u8::from(valley);
        if learned[turn] == OPEN && least < lanes {
            learned[turn] = least;
            asked.push(turn);
        } else if learned[turn] == OPEN || learned[turn] < least {
            asked.iter().for_each(|&turn| learned[turn] = OPEN);
            return false;
        }
        lane = learned[turn];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_learns_what_a_path_needs_and_keeps_it() {
        let mut learned = vec![OPEN; 4];
        let mut asked = Vec::new();
        assert!(take(&mut learned, &[(0, false), (1, true), (2, false)], 2, &mut asked));
        assert_eq!(learned, [0, 1, 1, OPEN]);
        // On from lane 1 to a turn that leads to lane 0, or to a third lane: no.
        assert!(!take(&mut learned, &[(3, true), (0, false)], 2, &mut asked));
        assert!(!take(&mut learned, &[(1, false), (3, true)], 2, &mut asked));
        assert_eq!(learned, [0, 1, 1, OPEN]);
        assert!(take(&mut learned, &[(1, false), (3, true)], 3, &mut asked));
        assert_eq!(learned, [0, 1, 1, 2]);
    }
}
