//! The stock of GPUs: nodes, GPUs whole or sliced, tenants with their quotas, calendars.
//!
//! Everything is a value: readers take text and give values, changes are calls that either happen whole or not at all.
//! [`Pool`] is what there is; [`slices::Slices`] what of it is given out.
//! [`formats`] reads pools.

pub mod catalog;
pub mod formats;
pub mod gpu;
pub mod index;
pub mod node;
pub mod slices;

pub use fabric::formats::FormatError;
pub use gpu::{Attachment, GpuModel};
pub use index::{GpuIndex, ModelIndex, NodeIndex, TenantIndex};
pub use node::{AddError, Gpu, Health, Node, Pool, State};
