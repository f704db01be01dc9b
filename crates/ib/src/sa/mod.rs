//! Subnet administration: the records that it answers with, one file each, and the transport of long answers.
//!
//! A question is a MAD of class `SUBN_ADM` that carries a record and a component mask: bit i of the mask says that
//! component i of the record counts. Each record lists its components ([`Record::COMPONENTS`]), so that one function
//! compares any record with any question ([`matches()`]). A table of answers is the records one after another, each
//! filled up to 8 bytes ([`stride`]), in as many MADs as it takes ([`rmpp`]).

mod components;
mod guid_info_record;
mod inform_info;
mod linear_forwarding_table_record;
mod link_record;
mod multi_path_record;
mod multicast_forwarding_table_record;
mod multicast_member_record;
mod node_record;
mod p_key_table_record;
mod path_record;
mod port_info_record;
pub mod rate;
mod report;
pub mod rmpp;
mod service_record;
mod sl_to_vl_record;
mod sm_info_record;
mod switch_info_record;
mod vl_arbitration_record;

pub use components::{Component, Record, asked, matches};
pub use guid_info_record::GuidInfoRecord;
pub use inform_info::{InformInfo, InformInfoRecord};
pub use linear_forwarding_table_record::LinearForwardingTableRecord;
pub use link_record::LinkRecord;
pub use multi_path_record::{MULTI_PATH_GIDS, MultiPathRecord};
pub use multicast_forwarding_table_record::MulticastForwardingTableRecord;
pub use multicast_member_record::MulticastMemberRecord;
pub use node_record::NodeRecord;
pub use p_key_table_record::PKeyTableRecord;
pub use path_record::PathRecord;
pub use port_info_record::PortInfoRecord;
pub use report::Report;
pub use service_record::ServiceRecord;
pub use sl_to_vl_record::SlToVlRecord;
pub use sm_info_record::SmInfoRecord;
pub use switch_info_record::SwitchInfoRecord;
pub use vl_arbitration_record::VlArbitrationRecord;

use crate::Attribute;

/// Where a record begins in a MAD.
pub const OFFSET: usize = 56;

/// How many bytes of a record one MAD holds.
pub const DATA: usize = 200;

/// How far one record of a table lies behind the one before, in bytes. The MAD's attribute offset is this in 8 bytes.
pub const fn stride<R: Attribute>() -> usize {
    R::LENGTH.next_multiple_of(8)
}

/// What a component mask and a selector ask of a rate, an MTU or a lifetime.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Selector {
    /// More than the value given.
    Greater = 0,
    /// Less than the value given.
    Less = 1,
    /// The value given.
    Exactly = 2,
    /// The largest there is; of a lifetime the smallest.
    Best = 3,
}

impl Selector {
    /// The selector that 2 bits mean.
    pub const fn from_code(code: u8) -> Self {
        match code & 3 {
            0 => Self::Greater,
            1 => Self::Less,
            2 => Self::Exactly,
            _ => Self::Best,
        }
    }
}

/// Statuses that only subnet administration has: the upper byte of [`crate::Status`].
pub mod status {
    use crate::Status;

    /// Not enough room to answer.
    pub const NO_RESOURCES: Status = Status(0x0100);
    /// The question makes no sense.
    pub const REQUEST_INVALID: Status = Status(0x0200);
    /// Nothing matches.
    pub const NO_RECORDS: Status = Status(0x0300);
    /// More than one matches where one was asked for.
    pub const TOO_MANY_RECORDS: Status = Status(0x0400);
    /// A GID is not valid.
    pub const INVALID_GID: Status = Status(0x0500);
    /// The component mask lacks what is needed.
    pub const INSUFFICIENT_COMPONENTS: Status = Status(0x0600);
    /// The asker may not do this.
    pub const DENIED: Status = Status(0x0700);
}

/// Defines a record that is a few fields in front of attributes of subnet management.
///
/// A row of the first part reads as in `attribute!`, without label; one of the second `name: Type at BYTE;`.
macro_rules! record {
    (
        $(#[$doc:meta])*
        $name:ident, $id:expr, $text:literal, $length:literal bytes {
            $($(#[$field_doc:meta])* $field:ident: $type:ty = [$offset:literal, $width:literal];)*
        } {
            $($(#[$inner_doc:meta])* $inner:ident: $attribute:ty = at $at:literal;)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
            $($(#[$inner_doc])* pub $inner: $attribute,)*
        }

        impl $crate::Attribute for $name {
            const ID: $crate::AttributeId = $id;
            const NAME: &'static str = $text;
            const LENGTH: usize = $length;
            const OFFSET: usize = $crate::sa::OFFSET;

            fn parse(data: &[u8]) -> Self {
                Self {
                    $($field: {
                        type Bits = <$type as $crate::bits::Field>::Bits;
                        const { assert!($width <= 64, "a wider field is an attribute of its own") };
                        <$type as $crate::bits::Field>::from_bits($crate::bits::get(data, $offset, $width) as Bits)
                    },)*
                    $($inner: <$attribute as $crate::Attribute>::parse(&data[$at..]),)*
                }
            }

            fn emit(&self, data: &mut [u8]) {
                data[..$length].fill(0);
                $($crate::bits::set(data, $offset, $width, $crate::bits::Field::to_bits(self.$field));)*
                $($crate::Attribute::emit(&self.$inner, &mut data[$at..]);)*
            }
        }
    };
}
pub(crate) use record;
