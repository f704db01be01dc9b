//! What is promised to a tenant for a time to come.

use serde::Serialize;

use crate::index::TenantIndex;

/// Capacity for one tenant in one span of time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Reservation {
    /// What it is called.
    pub name: String,
    /// For whom.
    pub tenant: TenantIndex,
    /// Thousandths of a GPU.
    pub amount: u64,
    /// From when on, Unix seconds.
    pub from: i64,
    /// Until when, Unix seconds, not included.
    pub until: i64,
}

/// Why nothing is reserved.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReservationError {
    /// It ends before it begins.
    #[error("{0} ends before it begins: exchange the times")]
    Backwards(String),
    /// More would be promised than there is.
    #[error(
        "{name} would take what is promised to {promised} of {capacity} thousandths of a GPU: take less, or another time"
    )]
    TooMuch {
        /// The reservation.
        name: String,
        /// The most that would be promised at once.
        promised: u64,
        /// How much there is.
        capacity: u64,
    },
}

/// All that is promised.
#[derive(Clone, Debug)]
pub struct Reservations {
    capacity: u64,
    list: Vec<Reservation>,
}

impl Reservations {
    /// Nothing promised of so much, thousandths of a GPU.
    pub const fn new(capacity: u64) -> Self {
        Self { capacity, list: Vec::new() }
    }

    /// All, in the order of adding.
    pub fn all(&self) -> &[Reservation] {
        &self.list
    }

    /// Adds one, or nothing at all.
    ///
    /// # Errors
    /// Where it ends before it begins, or more would be promised at some time than there is.
    pub fn add(&mut self, reservation: Reservation) -> Result<(), ReservationError> {
        if reservation.until <= reservation.from {
            return Err(ReservationError::Backwards(reservation.name));
        }
        let others = self.most(reservation.from, reservation.until, None);
        let promised = others.saturating_add(reservation.amount);
        if promised > self.capacity {
            return Err(ReservationError::TooMuch {
                name: reservation.name,
                promised,
                capacity: self.capacity,
            });
        }
        self.list.push(reservation);
        Ok(())
    }

    /// Takes away what has ended.
    pub fn forget_before(&mut self, now: i64) {
        self.list.retain(|one| one.until > now);
    }

    /// The most that is promised at once in a span of time to others than `beside`: what a job of that tenant must leave free.
    pub fn most(&self, from: i64, until: i64, beside: Option<TenantIndex>) -> u64 {
        let meets = |one: &&Reservation| one.from < until && from < one.until && Some(one.tenant) != beside;
        // A sum is largest where one begins, or at the start of the span.
        let starts = self.list.iter().filter(meets).map(|one| one.from.max(from));
        starts
            .map(|at| self.list.iter().filter(meets).filter(move |one| one.from <= at && at < one.until))
            .map(|there| there.map(|one| one.amount).sum())
            .max()
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(tenant: u32, amount: u64, from: i64, until: i64) -> Reservation {
        Reservation { name: format!("r{from}"), tenant: TenantIndex(tenant), amount, from, until }
    }

    #[test]
    fn no_more_is_promised_than_there_is() {
        let mut promised = Reservations::new(8000);
        promised.add(one(0, 5000, 10, 20)).unwrap();
        promised.add(one(1, 3000, 15, 30)).unwrap();
        let error = promised.add(one(2, 1, 19, 40)).unwrap_err().to_string();
        assert!(error.contains("8001 of 8000"), "{error}");
        promised.add(one(2, 5000, 20, 40)).unwrap();
        assert!(promised.add(one(2, 1, 50, 50)).is_err());
        assert_eq!(promised.most(0, 100, None), 8000);
        assert_eq!(promised.most(0, 100, Some(TenantIndex(1))), 5000);
        promised.forget_before(30);
        assert_eq!(promised.all().len(), 1);
    }

    proptest! {

        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn the_most_is_the_most_of_all_seconds(
            list in prop::collection::vec((0..3u32, 1..50u64, 0..40i64, 1..20i64), 0..12),
            from in 0..40i64,
            length in 1..30i64,
        ) {
            let mut promised = Reservations::new(100);
            for (tenant, amount, from, length) in list {
                let _ = promised.add(one(tenant, amount, from, from + length));
            }
            let beside = Some(TenantIndex(1));
            let at = |second: i64, beside: Option<TenantIndex>| -> u64 {
                let there = promised.all().iter().filter(|one| (one.from..one.until).contains(&second));
                there.filter(|one| Some(one.tenant) != beside).map(|one| one.amount).sum()
            };
            prop_assert!((0..80).all(|second| at(second, None) <= 100));
            let most = (from..from + length).map(|second| at(second, beside)).max().unwrap();
            prop_assert_eq!(promised.most(from, from + length, beside), most);
        }
    }
}
