//! Commands that talk to a running controller.

pub mod event;
pub mod job;
pub mod link;
pub mod pool;
mod server;
pub mod status;
mod unix;
pub mod way;
