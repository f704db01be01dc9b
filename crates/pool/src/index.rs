//! Typed indices into the flat arrays of a [`crate::Pool`] and of [`crate::tenants::Tenants`].

use serde::{Deserialize, Serialize};

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The position in the arrays.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

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
