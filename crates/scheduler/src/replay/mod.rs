//! Replays: the jobs of a trace through a cluster under a policy.
//!
//! `timed` lets time pass: jobs wait, start, end. `inflate` is the published experiment, in which none ends. `picture`
//! draws either. `strewn` measures how gangs lie in a network, `why` follows one job.

pub mod inflate;
pub mod never;
pub mod picture;
pub mod strewn;
pub mod timed;
pub mod why;
