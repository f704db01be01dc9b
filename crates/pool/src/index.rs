//! Typed indices into the flat arrays of a [`crate::Pool`] and of [`crate::tenants::Tenants`].

use fabric::index;

index! {
    /// A machine. Numbers are dense, in the order of adding.
    NodeIndex
}

index! {
    /// A GPU. Numbers are dense; a node's GPUs are contiguous.
    GpuIndex
}

index! {
    /// A kind of GPU.
    ModelIndex
}

index! {
    /// A tenant or a queue of one.
    TenantIndex
}
