//! What the time of the week changes: how much of the pool is for inference, and when that turns.
//!
//! A [`Calendar`] has windows on days of the week in a named time zone; outside them, and on holidays, another share holds.
//! Training has what inference has not. Windows do not overlap. Before each turn lies a lead time in which who has to leave
//! drains. Times in and out are Unix seconds; the zones are compiled in, so that answers do not depend on the machine.
//!
//! Where clocks are put forward, a time that is not there is as much later as clocks jump; where they are put back, the first
//! of two equal times counts. A window that ends after midnight began on its day, a holiday or not.

use jiff::civil::{Date, Time, Weekday};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, ToSpan};
use serde::Serialize;

/// How far ahead a turn is looked for, days.
const LOOK_AHEAD_DAYS: i64 = 400;

/// Days of the week, a bit each from Monday on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Days(u8);

impl Days {
    /// Monday to Friday.
    pub const WEEKDAYS: Self = Self(0b001_1111);
    /// Saturday and Sunday.
    pub const WEEKEND: Self = Self(0b110_0000);
    /// All seven.
    pub const ALL: Self = Self(0b111_1111);

    /// The days that a word stands for: `weekdays`, `weekend`, `daily`, or a day's first three letters.
    pub fn named(word: &str) -> Option<Self> {
        const NAMES: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
        match word {
            "weekdays" => Some(Self::WEEKDAYS),
            "weekend" => Some(Self::WEEKEND),
            "daily" => Some(Self::ALL),
            _ => NAMES.iter().position(|name| *name == word).map(|day| Self(1 << day)),
        }
    }

    /// These and those.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// None.
    pub const fn none() -> Self {
        Self(0)
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn has(self, day: Weekday) -> bool {
        self.0 & (1 << day.to_monday_zero_offset()) != 0
    }
}

/// A time of the week in which inference has its own share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Window {
    /// What it is called.
    pub name: String,
    /// The days on which it begins.
    pub days: Days,
    /// When it begins.
    pub from: Time,
    /// When it ends; at or before `from`: on the next day.
    pub until: Time,
    /// What inference may have of the pool, per cent; training has the rest.
    pub inference_percent: u8,
}

/// Why there is no such calendar. `window` is the number of the one at fault; `None`: it is about the whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CalendarError {
    /// Which window.
    pub window: Option<usize>,
    /// What is wrong.
    pub what: String,
    /// What would mend it.
    pub mend: &'static str,
}

/// A change of the share.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Turn {
    /// When, Unix seconds.
    pub at: i64,
    /// When draining begins, Unix seconds.
    pub drain_from: i64,
    /// What inference may have before, per cent.
    pub before_percent: u8,
    /// And after.
    pub after_percent: u8,
}

/// Shares of the pool by the time of the week.
#[derive(Clone, Debug)]
pub struct Calendar {
    zone: TimeZone,
    windows: Vec<Window>,
    holidays: Vec<Date>,
    otherwise_percent: u8,
    drain_s: u32,
}

impl Calendar {
    /// A calendar in the zone of that name (`Europe/Berlin`). `otherwise_percent` is what inference may have outside all
    /// windows, `drain_s` how long before a turn draining begins.
    ///
    /// # Errors
    /// An unknown zone, windows that overlap, a window without days, a share above 100.
    pub fn new(
        zone: &str,
        windows: Vec<Window>,
        mut holidays: Vec<Date>,
        otherwise_percent: u8,
        drain_s: u32,
    ) -> Result<Self, CalendarError> {
        let fault = |window: Option<usize>, what: String, mend| Err(CalendarError { window, what, mend });
        let Ok(zone) = TimeZoneDatabase::bundled().get(zone) else {
            let what = format!("there is no time zone \"{zone}\"");
            return fault(None, what, "name one as Europe/Berlin, Asia/Shanghai or UTC");
        };
        if otherwise_percent > 100 {
            let what = format!("{otherwise_percent} per cent of the pool for inference");
            return fault(None, what, "a share is 0 to 100 per cent");
        }
        for (at, window) in windows.iter().enumerate() {
            if window.days.is_empty() {
                return fault(Some(at), format!("{} is on no day", window.name), "give it days");
            }
            if window.inference_percent > 100 {
                let what = format!("{} has {} per cent for inference", window.name, window.inference_percent);
                return fault(Some(at), what, "a share is 0 to 100 per cent");
            }
            for (other_at, other) in windows[..=at].iter().enumerate() {
                if let Some(minute) = overlap(window, other, at == other_at) {
                    let what = format!("{} overlaps {} {}", window.name, other.name, of_week(minute));
                    return fault(
                        Some(at),
                        what,
                        "let one end when the other begins, or give them other days",
                    );
                }
            }
        }
        holidays.sort_unstable();
        holidays.dedup();
        Ok(Self { zone, windows, holidays, otherwise_percent, drain_s })
    }

    /// The windows.
    pub fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// What inference may have at a time, per cent, and the window that says so.
    pub fn at(&self, now: i64) -> (u8, Option<&Window>) {
        let today = self.date(now);
        let within = [today.yesterday(), Ok(today)]
            .into_iter()
            .flatten()
            .flat_map(|date| self.spans(date))
            .filter(|(from, until, _)| (*from..*until).contains(&now))
            .max_by_key(|(from, _, _)| *from);
        within
            .map_or((self.otherwise_percent, None), |(_, _, window)| (window.inference_percent, Some(window)))
    }

    /// The next change of the share after a time; `None` where none comes within 400 days.
    pub fn next_turn(&self, now: i64) -> Option<Turn> {
        let first = self.date(now).yesterday().ok()?;
        let mut edges: Vec<i64> = Vec::new();
        for day in 0..LOOK_AHEAD_DAYS {
            let date = first.checked_add(day.days()).ok()?;
            // No date that is still to be looked at has an edge before it begins.
            let begins = self.seconds(date, Time::midnight())?;
            edges.sort_unstable();
            let known = edges.partition_point(|edge| *edge < begins);
            if let Some(turn) = edges.drain(..known).find_map(|at| self.turn_at(at)) {
                return Some(turn);
            }
            edges.extend(
                self.spans(date).flat_map(|(from, until, _)| [from, until]).filter(|edge| *edge > now),
            );
        }
        None
    }

    /// The change of the share at a time, if it is one.
    fn turn_at(&self, at: i64) -> Option<Turn> {
        let (before_percent, after_percent) = (self.at(at - 1).0, self.at(at).0);
        let drain_from = at - i64::from(self.drain_s);
        (before_percent != after_percent).then_some(Turn { at, drain_from, before_percent, after_percent })
    }

    fn date(&self, now: i64) -> Date {
        let now =
            Timestamp::from_second(now).unwrap_or(if now < 0 { Timestamp::MIN } else { Timestamp::MAX });
        self.zone.to_datetime(now).date()
    }

    fn seconds(&self, date: Date, time: Time) -> Option<i64> {
        Some(self.zone.to_timestamp(date.to_datetime(time)).ok()?.as_second())
    }

    /// From and until of what begins on a date. What the clocks leave nothing of is left out.
    fn spans(&self, date: Date) -> impl Iterator<Item = (i64, i64, &Window)> {
        let begins = self.holidays.binary_search(&date).is_err();
        self.windows.iter().filter(move |window| begins && window.days.has(date.weekday())).filter_map(
            move |window| {
                let end = if window.until > window.from { date } else { date.tomorrow().ok()? };
                let (from, until) = (self.seconds(date, window.from)?, self.seconds(end, window.until)?);
                (from < until).then_some((from, until, window))
            },
        )
    }
}

const DAY: u32 = 24 * 60 * 60;
const WEEK: u32 = 7 * DAY;

/// Seconds of the week at which a window begins, and how long it is.
fn week_spans(window: &Window) -> impl Iterator<Item = (u32, u32)> + '_ {
    let of_day =
        |time: Time| (i32::from(time.hour()) * 60 + i32::from(time.minute())) * 60 + i32::from(time.second());
    let length = (of_day(window.until) - of_day(window.from) - 1).rem_euclid(DAY as i32) as u32 + 1;
    let from = of_day(window.from) as u32;
    (0..7).filter(|day| window.days.0 & (1 << day) != 0).map(move |day| (day * DAY + from, length))
}

/// A second of the week in both; a window does not overlap itself but where it is longer than to its next beginning.
fn overlap(window: &Window, other: &Window, same: bool) -> Option<u32> {
    week_spans(window).find_map(|(from, length)| {
        week_spans(other).find_map(|(other_from, other_length)| {
            if same && from == other_from {
                return None;
            }
            let after = (other_from + WEEK - from) % WEEK;
            let before = (from + WEEK - other_from) % WEEK;
            if after < length {
                Some(other_from)
            } else if before < other_length {
                Some(from)
            } else {
                None
            }
        })
    })
}

fn of_week(second: u32) -> String {
    const NAMES: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
    let of_day = second % DAY / 60;
    format!("on {} at {:02}:{:02}", NAMES[(second / DAY) as usize % 7], of_day / 60, of_day % 60)
}

#[cfg(test)]
mod tests {
    use jiff::civil::{date, time};
    use proptest::prelude::*;

    use super::*;

    fn office(days: Days, from: (i8, i8), until: (i8, i8)) -> Window {
        Window {
            name: format!("window-{}", from.0),
            days,
            from: time(from.0, from.1, 0, 0),
            until: time(until.0, until.1, 0, 0),
            inference_percent: 80,
        }
    }

    fn berlin(windows: Vec<Window>) -> Result<Calendar, CalendarError> {
        Calendar::new("Europe/Berlin", windows, vec![date(2026, 12, 25)], 0, 1800)
    }

    fn utc(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_second()
    }

    #[test]
    fn weekdays_are_for_inference_and_nights_for_training() {
        let calendar = berlin(vec![office(Days::WEEKDAYS, (9, 0), (18, 0))]).unwrap();
        let share = |text: &str| calendar.at(utc(text)).0;
        // Winter: an hour before UTC; summer: two.
        assert_eq!([share("2026-12-02T07:59:59Z"), share("2026-12-02T08:00:00Z")], [0, 80]);
        assert_eq!([share("2026-12-02T16:59:59Z"), share("2026-12-02T17:00:00Z")], [80, 0]);
        assert_eq!([share("2026-07-01T06:59:59Z"), share("2026-07-01T07:00:00Z")], [0, 80]);
        assert_eq!([share("2026-12-05T10:00:00Z"), share("2026-12-25T10:00:00Z")], [0, 0]);
        let turn = calendar.next_turn(utc("2026-12-04T17:00:00Z")).unwrap();
        assert_eq!((turn.at, turn.drain_from), (utc("2026-12-07T08:00:00Z"), utc("2026-12-07T07:30:00Z")));
        assert_eq!((turn.before_percent, turn.after_percent), (0, 80));
        // Christmas is a Friday: from Thursday evening to Monday morning.
        let turn = calendar.next_turn(utc("2026-12-24T18:00:00Z")).unwrap();
        assert_eq!(turn.at, utc("2026-12-28T08:00:00Z"));
    }

    #[test]
    fn the_clocks_turn_on_the_last_sunday_of_march_and_october() {
        let night = berlin(vec![office(Days::ALL, (2, 30), (4, 0))]).unwrap();
        // 29 March 2026: 02:00 is 03:00, so 02:30 is 03:30, and the window is half an hour.
        assert_eq!(night.next_turn(utc("2026-03-28T12:00:00Z")).unwrap().at, utc("2026-03-29T01:30:00Z"));
        assert_eq!(night.next_turn(utc("2026-03-29T01:30:00Z")).unwrap().at, utc("2026-03-29T02:00:00Z"));
        // 25 October 2026: 02:30 comes twice, the first counts, and the window is two and a half hours.
        assert_eq!(night.next_turn(utc("2026-10-24T12:00:00Z")).unwrap().at, utc("2026-10-25T00:30:00Z"));
        assert_eq!(night.next_turn(utc("2026-10-25T00:30:00Z")).unwrap().at, utc("2026-10-25T03:00:00Z"));
        // Where only the start lies in the hour that is not there, it may come after the end: then nothing is left.
        let lost = berlin(vec![office(Days::ALL, (2, 30), (3, 15))]).unwrap();
        assert_eq!(lost.next_turn(utc("2026-03-28T12:00:00Z")).unwrap().at, utc("2026-03-30T00:30:00Z"));
    }

    #[test]
    fn a_window_may_end_on_the_next_day() {
        let calendar = berlin(vec![office(Days::WEEKEND, (22, 0), (6, 0))]).unwrap();
        let share = |text: &str| calendar.at(utc(text)).0;
        assert_eq!([share("2026-12-06T21:30:00Z"), share("2026-12-07T04:59:59Z")], [80, 80]);
        assert_eq!([share("2026-12-07T05:00:00Z"), share("2026-12-07T22:00:00Z")], [0, 0]);
        assert_eq!(calendar.at(utc("2026-12-06T21:30:00Z")).1.unwrap().name, "window-22");
        let always = berlin(vec![office(Days::ALL, (0, 0), (0, 0))]).unwrap();
        assert_eq!(always.at(utc("2026-12-06T21:30:00Z")).0, 80);
    }

    #[test]
    fn a_calendar_that_cannot_be_is_refused() {
        let refused = |windows| {
            let error = berlin(windows).unwrap_err();
            (error.window, error.what)
        };
        let (at, what) =
            refused(vec![office(Days::WEEKDAYS, (9, 0), (18, 0)), office(Days::ALL, (17, 0), (20, 0))]);
        assert_eq!((at, what.as_str()), (Some(1), "window-17 overlaps window-9 on Monday at 17:00"));
        let night = office(Days::named("sun").unwrap(), (22, 0), (6, 0));
        let (_, what) = refused(vec![night, office(Days::WEEKDAYS, (5, 0), (7, 0))]);
        assert_eq!(what, "window-5 overlaps window-22 on Monday at 05:00");
        assert!(refused(vec![office(Days::none(), (9, 0), (18, 0))]).1.contains("no day"));
        let much = Window { inference_percent: 101, ..office(Days::ALL, (9, 0), (18, 0)) };
        assert!(refused(vec![much]).1.contains("101 per cent"));
        let error = Calendar::new("Europe/Atlantis", vec![], vec![], 0, 0).unwrap_err();
        assert_eq!(error.what, "there is no time zone \"Europe/Atlantis\"");
        assert!(berlin(vec![office(Days::ALL, (9, 0), (18, 0)), office(Days::ALL, (18, 0), (9, 0))]).is_ok());
    }

    #[test]
    fn a_calendar_without_a_change_never_turns() {
        assert_eq!(berlin(vec![]).unwrap().next_turn(0), None);
        let same = Window { inference_percent: 0, ..office(Days::ALL, (9, 0), (18, 0)) };
        assert_eq!(berlin(vec![same]).unwrap().next_turn(0), None);
        assert_eq!(berlin(vec![]).unwrap().at(i64::MAX).0, 0);
        assert_eq!(berlin(vec![]).unwrap().next_turn(i64::MAX), None);
    }

    /// Windows as days, quarters of an hour from and until, and per cent.
    fn nothing_changes_before_its_turn(
        zone: &str,
        windows: &[(u8, i32, i32, u8)],
        now: i64,
    ) -> Result<(), TestCaseError> {
        let clock = |quarter: i32| time((quarter / 4) as i8, (quarter % 4 * 15) as i8, 0, 0);
        let windows = windows.iter().map(|&(days, from, until, inference_percent)| Window {
            name: format!("w{from}"),
            days: Days(days),
            from: clock(from),
            until: clock(until),
            inference_percent,
        });
        let Ok(calendar) = Calendar::new(zone, windows.collect(), vec![], 10, 600) else { return Ok(()) };
        let share = calendar.at(now).0;
        let end = now + 8 * i64::from(DAY);
        let first = (now..end).step_by(300).find(|&at| calendar.at(at).0 != share);
        match (first, calendar.next_turn(now)) {
            (Some(seen), Some(turn)) => {
                prop_assert!(turn.at <= seen && seen - turn.at < 300 && turn.at > now, "{turn:?} {seen}");
                prop_assert_eq!((turn.before_percent, turn.drain_from), (share, turn.at - 600));
                prop_assert_eq!(turn.after_percent, calendar.at(turn.at).0);
            }
            (None, turn) => prop_assert!(turn.is_none_or(|turn| turn.at >= end - 300), "{turn:?}"),
            (Some(seen), None) => prop_assert!(false, "a change at {seen} is no turn"),
        }
        Ok(())
    }

    #[test]
    fn a_window_of_a_whole_day_turns_at_both_its_ends() {
        nothing_changes_before_its_turn("Europe/Berlin", &[(1, 0, 0, 0)], 1_770_000_000).unwrap();
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn nothing_changes_before_the_next_turn(
            zone in prop::sample::select(vec!["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"]),
            windows in prop::collection::vec((1..128u8, 0..96i32, 0..96i32, 0..=100u8), 1..4),
            now in 1_770_000_000..1_800_000_000i64,
        ) {
            nothing_changes_before_its_turn(zone, &windows, now)?;
        }
    }
}
