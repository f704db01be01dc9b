//! Why GPUs are idle while jobs wait.

use pool::Stock;
use rustc_hash::FxHashSet;
use serde::Serialize;

use super::Scheduler;
use super::place;

/// GPUs that are idle, by what keeps them so; each is counted once, at the first that applies, in GPUs.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Idle {
    /// Kept for a job that was promised them, and waits for more.
    pub promised: f64,
    /// Some job that waits would fit there, but would run into a time promised to another.
    pub in_the_way: f64,
    /// Some job that waits would fit there, but its tenant or its kind of work may not hold so much now.
    pub quota: f64,
    /// They would do for some job that waits, but are strewn over nodes so that none fits.
    pub strewn: f64,
    /// Every job that waits wants more than there are.
    pub too_few: f64,
}

impl Idle {
    /// All of them.
    pub fn total(&self) -> f64 {
        self.promised + self.in_the_way + self.quota + self.strewn + self.too_few
    }

    /// Adds others, so many times.
    pub fn add(&mut self, other: &Self, times: f64) {
        self.promised += other.promised * times;
        self.in_the_way += other.in_the_way * times;
        self.quota += other.quota * times;
        self.strewn += other.strewn * times;
        self.too_few += other.too_few * times;
    }
}

/// GPUs of which so much is free, in thousandths.
fn gpus(stock: &Stock) -> f64 {
    stock.gpu_free_total_milli() as f64 / 1000.0
}

impl Scheduler {
    /// Why GPUs are idle now; all zero where nobody waits. Every job that waits is looked at, those that want the same once.
    pub fn idle(&self) -> Idle {
        let mut idle = Idle::default();
        if self.waiting.len() == 0 {
            return idle;
        }
        let all = gpus(self.cluster.stock());
        let mut rest = self.cluster.stock().clone();
        for grant in self.promises.all().iter().flat_map(|promise| &promise.grants) {
            place::keep_back(&mut rest, grant);
        }
        let left = gpus(&rest);
        idle.promised = all - left;
        let mut looked_at = FxHashSet::default();
        let (mut in_the_way, mut quota, mut strewn) = (false, false, false);
        for job in self.waiting.jobs() {
            let entry = &self.entries[job.index()];
            let tenant = entry.job.tenant.filter(|_| !self.tenants.is_empty());
            let lacks = |tenant| self.tenants.lacks(tenant, entry.job.amounts(entry.job.parts)).is_some();
            let barred = tenant.is_some_and(lacks);
            if !looked_at.insert((entry.shape, barred)) || if barred { quota } else { in_the_way } {
                continue;
            }
            if place::gang(self.locality(), &entry.job, &rest, &place::room(&rest, &entry.job)).is_some() {
                *(if barred { &mut quota } else { &mut in_the_way }) = true;
            }
            strewn |= entry.job.gpu_milli(entry.job.parts) <= rest.gpu_free_total_milli();
        }
        match (in_the_way, quota, strewn) {
            (true, ..) => idle.in_the_way = left,
            (false, true, _) => idle.quota = left,
            (false, false, true) => idle.strewn = left,
            (false, false, false) => idle.too_few = left,
        }
        idle
    }
}
