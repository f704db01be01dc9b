//! The subnet manager as a state machine: MADs and time in, MADs and events out.
//!
//! [`SubnetManager`] opens no socket and reads no clock. Its door gives it what came in ([`SubnetManager::input`]),
//! sends what it wants sent ([`SubnetManager::poll_send`]), lets it compute when it asks to
//! ([`SubnetManager::poll_work`], [`SubnetManager::do_work`]), computes beside it what can wait
//! ([`SubnetManager::poll_task`], [`SubnetManager::solved`]), reads what it has to say
//! ([`SubnetManager::poll_event`]) and comes back by [`SubnetManager::next_deadline`].
//!
//! A bring-up goes through these files, top down:
//!
//! | step | in |
//! | --- | --- |
//! | every node and port is found over directed routes | `discovery` |
//! | every end port gets its LID | `addressing` |
//! | tables are computed and proven | `paths` |
//! | what differs is written: switches, tables, partitions | `programming` |
//! | every link goes from INIT over ARMED to ACTIVE | `activation` |
//! | changes are looked for, traps are heard | `sweep` |
//! | what was lost is healed around, what comes back is taken in | `healing` |
//! | hosts are told which path to take, and by which service level | `administrator` |
//! | other managers are heard and answered | `standby` |
//!
//! Below them `exchange` keeps what is under way: which requests wait, how many may fly at once, which answer belongs
//! to which, what is sent again.
//!
//! Invariants: nothing is written to a table that the verifier refuses; the difference to what devices hold is
//! written and nothing else; the same inputs at the same times give the same outputs.

mod activation;
mod addressing;
mod administrator;
mod config;
mod devices;
mod discovery;
mod event;
mod exchange;
mod finding;
mod healing;
mod in_service;
mod manager;
mod paths;
mod programming;
mod report;
mod request;
mod standby;
mod sweep;

pub use config::Config;
pub use event::{Event, Input, Work};
pub use finding::{Finding, FindingKind};
pub use healing::{Solution, Task};
pub use in_service::InService;
pub use manager::{Phase, SubnetManager};
pub use report::{MadCount, MadCounts, Progress, Report, Seconds, Verified};
