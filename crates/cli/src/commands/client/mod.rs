//! Commands that talk to a running controller.

pub mod event;
pub mod link;
mod server;
pub mod status;
mod unix;
pub mod way;
