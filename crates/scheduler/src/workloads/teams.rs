//! Five teams that share 12 nodes with 8 GPUs each: the work of a team comes in campaigns, so a part of its own is full for
//! days and empty for weeks.
//!
//! The teams own 2, 2, 2, 3 and 3 nodes. Each is on campaign or not, as a Markov process: a pause is exponential in length, and
//! so is a campaign. In a campaign a team hands in [`PRESSURE`] times as much work as its own part could do meanwhile, as
//! sweeps: a few jobs of one kind at once. Sweeps are a Poisson process; the jobs of a sweep are of equal size and differ in run
//! time. Between campaigns now and then a job comes alone. Pauses are so long that, on average, [`LOAD`] of all GPUs is wanted.
//!
//! Sizes of jobs are in [`SIZES`], most small; one in a hundred is a gang of all that the team owns. Run times are log-normal
//! with a median of one hour and a deviation of 1.2 in the logarithm, from a minute to two days; a job says as its limit from
//! one to three times its run time. Three of four jobs write checkpoints: they stop within two minutes and lose ten minutes of
//! work. One in five of more than one part on a node is elastic: it can use up to twice its parts.

use super::Workload;
use crate::random::Chance;
use crate::trace::{Job, Trace, in_parts};

/// GPUs of a node.
pub const GPUS_A_NODE: u16 = 8;

/// The teams and the nodes that are their own.
pub const TEAMS: [(&str, u32); 5] =
    [("language", 2), ("speech", 2), ("robotics", 2), ("vision", 3), ("biology", 3)];

/// GPUs wanted on average, as a part of all.
pub const LOAD: f64 = 0.32;

/// What a team hands in during a campaign, over what its own part could do in that time.
pub const PRESSURE: f64 = 2.0;

/// The mean length of a campaign in hours.
const CAMPAIGN_H: f64 = 36.0;

/// The part of a team's work that comes outside of campaigns.
const ALONE: f64 = 0.1;

/// GPUs of a job, and how many of a hundred have so many; 0 stands for all that the team owns.
pub const SIZES: [(u32, u32); 6] = [(1, 50), (2, 20), (4, 14), (8, 12), (16, 3), (0, 1)];

/// The most jobs of a sweep; each number is as likely.
const MOST_OF_A_SWEEP: u32 = 12;

const MEDIAN_RUN_S: f64 = 3600.0;
const DEVIATION: f64 = 1.2;
const SHORTEST_RUN_S: f64 = 60.0;
const LONGEST_RUN_S: f64 = 172_800.0;
const STOPPABLE: f64 = 0.75;
const ELASTIC: f64 = 0.2;

/// Makes the pool and the jobs of so many days.
pub fn workload(days: u32, seed: u64) -> Workload {
    let mut trace = Trace {
        model_lists: vec![Vec::new()],
        users: TEAMS.map(|(name, _)| name.to_owned()).to_vec(),
        tenants: TEAMS.map(|(name, _)| name.to_owned()).to_vec(),
        ..Trace::default()
    };
    for (team, (_, nodes)) in TEAMS.into_iter().enumerate() {
        // Each team has its own chance, so that no team's draws move another's.
        let chance = Chance::new(seed.wrapping_mul(TEAMS.len() as u64).wrapping_add(team as u64));
        let mut team = Team { number: team as u32, nodes, chance, jobs: Vec::new() };
        team.hand_in(f64::from(days) * 86_400.0);
        trace.jobs.append(&mut team.jobs);
    }
    trace.jobs.sort_by_key(|job| job.submit_ms);
    for (number, job) in trace.jobs.iter_mut().enumerate() {
        job.name = format!("{}-{number}", TEAMS[job.user as usize].0).into();
    }
    Workload { pool: pool(), trace }
}

/// The nodes of each team, by their numbers in the pool.
pub fn parts() -> [std::ops::Range<u32>; TEAMS.len()] {
    let mut next = 0;
    TEAMS.map(|(_, nodes)| {
        let first = next;
        next += nodes;
        first..next
    })
}

fn pool() -> String {
    let nodes: u32 = TEAMS.iter().map(|(_, nodes)| nodes).sum();
    let gpus = u32::from(GPUS_A_NODE);
    let mut text = format!(
        "# Five teams share 12 nodes: what one does not use the others borrow, and give back.\nheddle-pool = 1\n\n\
         [[node]]\nname = \"node[01-{nodes:02}]\"\nmodel = \"H100-80GB\"\ngpus = {gpus}\ncpus = [56, 56]\n\
         memory-mib = 2097152\n\n[[tenant]]\nname = \"site\"\nquota = {}\n",
        nodes * gpus
    );
    for (name, nodes) in TEAMS {
        text += &format!(
            "\n[[tenant]]\nname = \"{name}\"\nparent = \"site\"\nquota = {}\nweight = {nodes}\n",
            nodes * gpus
        );
    }
    text
}

struct Team {
    number: u32,
    nodes: u32,
    chance: Chance,
    jobs: Vec<Job>,
}

impl Team {
    fn gpus(&self) -> f64 {
        f64::from(self.nodes) * f64::from(GPUS_A_NODE)
    }

    /// GPU seconds of a job on average.
    fn work_a_job(&self) -> f64 {
        let sizes: f64 = SIZES
            .iter()
            .map(|&(size, of_hundred)| {
                let size = if size == 0 { self.gpus() } else { f64::from(size).min(self.gpus()) };
                size * f64::from(of_hundred) / 100.0
            })
            .sum();
        // The mean of the log-normal distribution; its bounds take less than two per cent of it.
        sizes * MEDIAN_RUN_S * (DEVIATION * DEVIATION / 2.0).exp()
    }

    fn hand_in(&mut self, span_s: f64) {
        let jobs_a_second = self.gpus() / self.work_a_job();
        let mean_sweep = f64::from(MOST_OF_A_SWEEP + 1) / 2.0;
        let alone_gap_s = 1.0 / (jobs_a_second * LOAD * ALONE);
        let sweep_gap_s = mean_sweep / (jobs_a_second * PRESSURE);
        let on_part = LOAD * (1.0 - ALONE) / PRESSURE;
        let (on_s, off_s) = (CAMPAIGN_H * 3600.0, CAMPAIGN_H * 3600.0 * (1.0 - on_part) / on_part);

        let mut at_s = self.chance.gap(alone_gap_s);
        while at_s < span_s {
            let size = self.size();
            self.job(at_s, size);
            at_s += self.chance.gap(alone_gap_s);
        }
        let mut begun_s = if self.chance.part() < on_part { 0.0 } else { self.chance.gap(off_s) };
        while begun_s < span_s {
            let over_s = (begun_s + self.chance.gap(on_s)).min(span_s);
            let mut at_s = begun_s + self.chance.gap(sweep_gap_s);
            while at_s < over_s {
                let size = self.size();
                let jobs = 1 + (self.chance.part() * f64::from(MOST_OF_A_SWEEP)) as u32;
                for _ in 0..jobs {
                    self.job(at_s, size);
                }
                at_s += self.chance.gap(sweep_gap_s);
            }
            begun_s = over_s + self.chance.gap(off_s);
        }
    }

    fn size(&mut self) -> u32 {
        let all = self.nodes * u32::from(GPUS_A_NODE);
        match self.chance.one_of(&SIZES) {
            None | Some(0) => all,
            Some(size) => size.min(all),
        }
    }

    fn job(&mut self, at_s: f64, size: u32) {
        let (parts, gpus) = in_parts(size.into(), GPUS_A_NODE);
        let run_s = (MEDIAN_RUN_S * (DEVIATION * self.chance.deviate()).exp())
            .clamp(SHORTEST_RUN_S, LONGEST_RUN_S)
            .round();
        let limit_s = (run_s * (1.0 + 2.0 * self.chance.part())).round();
        let stoppable = self.chance.part() < STOPPABLE;
        let elastic = self.chance.part() < ELASTIC;
        let mut job = super::job(at_s as u64, (run_s, limit_s), (parts, gpus), stoppable, elastic);
        job.user = self.number;
        job.terms.tenant = self.number + 1;
        self.jobs.push(job);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{ReadOptions, Terms, native};

    #[test]
    fn the_load_is_what_it_says() {
        let days = 20_000;
        let trace = workload(days, 1).trace;
        let gpu_s: f64 =
            trace.jobs.iter().map(|job| (job.gpu_milli_total() * job.run_ms.unwrap_or(0)) as f64 / 1e6).sum();
        let load = gpu_s / (f64::from(days) * 86_400.0 * 96.0);
        assert!((load - LOAD).abs() < 0.02, "{load}");
        let own = |job: &Job| TEAMS[job.user as usize].1 * u32::from(GPUS_A_NODE);
        assert!(trace.jobs.iter().all(|job| job.parts * u32::from(job.gpus) <= own(job)));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut workload = workload(120, 3);
        let text = native::write(&workload.trace);
        let read = native::jobs("jobs.csv", text.as_bytes(), ReadOptions::default()).unwrap();
        // Time is counted from the first job, and names are numbered as they come.
        let first = workload.trace.jobs[0].submit_ms;
        for job in &mut workload.trace.jobs {
            job.submit_ms -= first;
        }
        let named = |trace: &Trace| -> Vec<_> {
            let tenant = |job: &Job| trace.tenants[job.terms.tenant as usize - 1].clone();
            trace.jobs.iter().map(|job| (job.name.clone(), tenant(job), job.submit_ms)).collect()
        };
        assert_eq!(named(&read), named(&workload.trace));
        let plain = |trace: &Trace| -> Vec<_> {
            trace
                .jobs
                .iter()
                .map(|job| Job { user: 0, terms: Terms { tenant: 0, ..job.terms }, ..job.clone() })
                .collect()
        };
        assert_eq!(plain(&read), plain(&workload.trace));
        assert!(read.jobs.iter().any(|job| job.terms.more_parts > 0));
    }
}
