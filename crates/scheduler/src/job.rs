//! What is submitted: a job, a gang of equal parts that start together or not at all.

use pool::TenantIndex;
use pool::stock::{Demand, MOST_INSTANCES};
use pool::tenants::{Amounts, Resource};

use fabric::index;

use crate::network::{Traffic, Want};

index! {
    /// A job. Numbers are dense, in the order of submission.
    JobIndex
}

/// What a job does: who turns the pool over by the time of the week tells them apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Work {
    /// Comes to an end by itself.
    #[default]
    Batch,
    /// Serves until somebody ends it.
    Service,
}

/// What stopping a job costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Checkpoint {
    /// How long it may take to stop once it is told to, in milliseconds.
    pub grace_ms: u64,
    /// Run time that is lost: writing its state, reading it again, and what was computed since, in milliseconds.
    pub cost_ms: u64,
}

/// What has to come before a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct After {
    /// The other job.
    pub job: JobIndex,
    /// Whether it has to have done its work; else it is enough that it is over.
    pub succeeded: bool,
}

/// A job as its owner submits it.
#[derive(Clone, PartialEq, Debug)]
pub struct Job {
    /// Its name, for people.
    pub name: Box<str>,
    /// Who pays for it; nothing where there are no tenants.
    pub tenant: Option<TenantIndex>,
    /// The greater starts first, and may take the place of the smaller.
    pub priority: i32,
    /// What it does.
    pub work: Work,
    /// What one part wants; each part is on one node.
    pub demand: Demand,
    /// The fewest parts that it starts with.
    pub parts: u32,
    /// The most parts that are of use to it; at least `parts`. What is above `parts` comes when it is free and goes when
    /// another wants it.
    pub most_parts: u32,
    /// The most parts of it on one node, where it wants to be spread.
    pub most_a_node: Option<u32>,
    /// What it wants of where its parts are in the fabric.
    pub wants: Vec<Want>,
    /// What its parts send each other; empty where nobody knows.
    pub traffic: Vec<Traffic>,
    /// How long it runs at the most, in milliseconds; nothing where nobody knows.
    pub limit_ms: Option<u64>,
    /// What stopping it costs; nothing where it must not be stopped.
    pub checkpoint: Option<Checkpoint>,
    /// When it should be over, in milliseconds.
    pub deadline_ms: Option<u64>,
    /// What has to come before it.
    pub after: Vec<After>,
}

impl Job {
    /// A batch job of one part that wants this and no more.
    pub fn new(name: &str, demand: Demand) -> Self {
        Self {
            name: name.into(),
            tenant: None,
            priority: 0,
            work: Work::Batch,
            demand,
            parts: 1,
            most_parts: 1,
            most_a_node: None,
            wants: Vec::new(),
            traffic: Vec::new(),
            limit_ms: None,
            checkpoint: None,
            deadline_ms: None,
            after: Vec::new(),
        }
    }

    /// Thousandths of a GPU that so many of its parts take.
    pub fn gpu_milli(&self, parts: u32) -> u64 {
        u64::from(parts) * u64::from(self.demand.gpu_milli_total())
    }

    /// What so many of its parts count for quotas.
    pub fn amounts(&self, parts: u32) -> Amounts {
        self.demand.amounts().times(parts.into())
    }
}

/// Why a job is not taken. Nothing was changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// It wants no part, or fewer at the most than at the least.
    #[error("it wants {parts} to {most} parts: at least one, and at most no fewer than at least")]
    Parts {
        /// At least.
        parts: u32,
        /// At the most.
        most: u32,
    },
    /// Its demand is no demand.
    #[error("{gpus} GPUs at {gpu_milli} thousandths each: a share is of one GPU, of several all are wanted")]
    Share {
        /// How many GPUs.
        gpus: u16,
        /// Thousandths of each.
        gpu_milli: u16,
    },
    /// A part of it wants no MIG instance, or more than one part can have.
    #[error("{0} MIG instances: a part has 1 to {MOST_INSTANCES} of them, a job any number of parts")]
    Instances(u16),
    /// There are tenants and it names none, or one that is not there.
    #[error("it has no tenant: name one of the pool's")]
    Tenant,
    /// Its tenant could never hold so much.
    #[error(
        "it wants {}, and {tenant} may never hold more than {}: {because}",
        resource.show(*wanted),
        resource.show(*most)
    )]
    Quota {
        /// The tenant.
        tenant: String,
        /// What there is too little of.
        resource: Resource,
        /// What the job wants.
        wanted: u64,
        /// The most that the tenant may hold.
        most: u64,
        /// Which limit is in the way.
        because: String,
    },
    /// Even if it started at once, it would end after its deadline.
    #[error(
        "it may run {length_s} s and its deadline is in {left_s} s: give it a later one, or a shorter limit"
    )]
    Deadline {
        /// Seconds until the deadline.
        left_s: u64,
        /// Seconds that it may run.
        length_s: u64,
    },
    /// It fits on no cluster such as this, however idle.
    #[error("{0}")]
    Never(String),
    /// It waits for a job that is not there; one that comes later cannot be waited for, so there are no circles.
    #[error("it waits for job number {0}, which was not submitted before it")]
    After(u32),
    /// It waits for a job that was not taken.
    #[error("it waits for a job that can never run")]
    AfterRefused,
    /// It waits for the success of a job that has failed.
    #[error("it waits for the success of job number {0}, which has failed")]
    AfterFailed(u32),
}
