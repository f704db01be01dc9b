//! Typed indices into flat arrays: those of a [`crate::Fabric`], and how other crates make theirs.

/// Makes a typed index: a number of 32 bits that stands for a place in arrays of one kind, and for nothing else.
#[macro_export]
macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
        )]
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
    /// A node: switch, channel adapter, router or aggregation node. Numbers are dense, in the order of adding.
    NodeId
}

index! {
    /// A port slot of one node. A node's slots are dense: its port `p` is its first slot plus `p`, and slot 0 is a
    /// switch's management port (unused on other nodes).
    PortId
}
