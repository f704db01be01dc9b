//! Replays: the jobs of a trace through a cluster under a policy.

pub mod inflate;
