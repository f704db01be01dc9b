//! The stock of GPUs: nodes, GPUs whole or sliced, tenants with their quotas, calendars.
//!
//! Everything is a value: readers take text and give values, changes are calls that either happen whole or not at all.

pub mod stock;

pub use stock::Stock;
