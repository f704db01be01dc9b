//! The stock of GPUs: nodes, GPUs whole or sliced, tenants with their quotas, calendars.
//!
//! Everything is a value: readers take text and give values, changes are calls that either happen whole or not at all.
//! [`Pool`] is what there is; [`slices::Slices`] what of it is given out;
//! [`stock::Stock`] the free capacity in flat arrays, for the search of a place; [`tenants::Tenants`] who may hold how much;
//! [`calendar::Calendar`] what the time of the week changes about that; [`reservations::Reservations`] what is promised.
//! [`formats`] reads pools.

pub mod calendar;
pub mod catalog;
pub mod check;
pub mod formats;
pub mod gpu;
pub mod index;
pub mod node;
pub mod reservations;
pub mod slices;
pub mod stock;
pub mod summary;
pub mod tenants;

pub use fabric::formats::FormatError;
pub use gpu::{Attachment, GpuModel};
pub use index::{GpuIndex, ModelIndex, NodeIndex, TenantIndex};
pub use node::{AddError, Gpu, Health, Node, Pool, State};
pub use stock::Stock;
