//! Service levels that tell lanes by turns alone: on level 0 all is lane 0; on each other level the turn down-up leads to
//! lane 1, and the other three turns lead to lane 0 or 1 as the level has it. A path fits a level where it begins on
//! lane 0 (as all do), never comes back from lane 1, and has no valley on lane 1.

/// Turns, as [`super::order::Order::turn`] tells them.
pub(super) const UP_UP: usize = 0;
pub(super) const UP_DOWN: usize = 1;
pub(super) const DOWN_UP: usize = 2;
pub(super) const DOWN_DOWN: usize = 3;

/// How many levels there are of this kind, level 0 included.
pub(super) const COUNT: u8 = 9;

/// The lane that a turn leads to on a level.
pub(super) fn lane(level: u8, turn: usize) -> u8 {
    let bit = match turn {
        _ if level == 0 => return 0,
        DOWN_UP => return 1,
        UP_UP => 0,
        UP_DOWN => 1,
        _ => 2,
    };
    (level - 1) >> bit & 1
}

/// For each turn the levels, a bit each, on which it leads to lane 1.
const SECOND: [u16; 4] = [second(UP_UP), second(UP_DOWN), second(DOWN_UP), second(DOWN_DOWN)];

const fn second(turn: usize) -> u16 {
    let (mut levels, mut level) = (0, 1);
    while level < COUNT {
        let bit = match turn {
            UP_UP => (level - 1) & 1,
            UP_DOWN => (level - 1) >> 1 & 1,
            DOWN_UP => 1,
            _ => (level - 1) >> 2 & 1,
        };
        levels |= (bit as u16) << level;
        level += 1;
    }
    levels
}

/// The levels that a path from a switch on fits, a bit each, where its first link is on lane 0, and where it is on lane 1.
#[derive(Clone, Copy, Default)]
pub(super) struct Fit {
    pub(super) on_first: u16,
    pub(super) on_second: u16,
}

impl Fit {
    /// A path of one link fits all levels.
    pub(super) const ALL: Self = Self { on_first: (1 << COUNT) - 1, on_second: (1 << COUNT) - 1 };

    /// What the path fits that comes to this one's first link by `turn`.
    #[inline]
    pub(super) fn after(self, turn: usize) -> Self {
        let up = SECOND[turn];
        if turn == DOWN_UP {
            return Self { on_first: up & self.on_second, on_second: 0 };
        }
        Self { on_first: up & self.on_second | !up & self.on_first, on_second: up & self.on_second }
    }

    /// Whether a path fits some level, and the first of them.
    #[inline]
    pub(super) fn level(self) -> Option<u8> {
        (self.on_first != 0).then(|| self.on_first.trailing_zeros() as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a path (true: up) fits a level, followed link by link.
    fn fits(path: &[bool], level: u8) -> bool {
        let mut now = 0;
        path.windows(2).all(|pair| {
            let turn = usize::from(!pair[0]) << 1 | usize::from(!pair[1]);
            let before = std::mem::replace(&mut now, lane(level, turn));
            now >= before && (turn != DOWN_UP || now > before)
        })
    }

    #[test]
    fn fits_are_what_following_a_path_finds() {
        for length in 1..7 {
            for bits in 0..1 << length {
                let path: Vec<bool> = (0..length).map(|i| bits >> i & 1 == 1).collect();
                let mut fit = Fit::ALL;
                for pair in path.windows(2).rev() {
                    fit = fit.after(usize::from(!pair[0]) << 1 | usize::from(!pair[1]));
                }
                for level in 0..COUNT {
                    assert_eq!(fit.on_first >> level & 1 == 1, fits(&path, level), "{path:?} on {level}");
                }
            }
        }
    }

    #[test]
    fn all_short_paths_with_one_valley_fit_but_the_one_that_turns_alike_twice() {
        let (up, down) = (true, false);
        for path in [[up, up, down, up], [down, down, up, up], [down, up, up, down], [up, down, up, up]] {
            assert!((0..COUNT).any(|level| fits(&path, level)), "{path:?}");
        }
        assert!((0..COUNT).all(|level| !fits(&[up, down, up, down], level)));
    }
}
