//! Component masks: which parts of a record a question names, and whether a record is what it asks for.

use crate::Attribute;
use crate::bits;

/// A part of a record that a question can name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Component {
    /// Its name.
    pub name: &'static str,
    /// Where it begins in the record, in bits.
    pub offset: usize,
    /// How many bits it has.
    pub width: usize,
}

/// A record of subnet administration: component i is bit i of a component mask.
pub trait Record: Attribute {
    /// Its components, in the order of the mask's bits.
    const COMPONENTS: &'static [Component];
}

/// Whether a record holds what the question gives in each component that the mask names. Bits of the mask beyond the
/// record's components count for nothing; selectors are compared like any other bits, so a caller that understands
/// them leaves them out of the mask. Both slices hold at least [`Attribute::LENGTH`] bytes.
pub fn matches<R: Record>(record: &[u8], question: &[u8], mask: u64) -> bool {
    asked::<R>(mask).all(|component| {
        let end = component.offset + component.width;
        (component.offset..end).step_by(56).all(|offset| {
            let width = (end - offset).min(56);
            bits::get(record, offset, width) == bits::get(question, offset, width)
        })
    })
}

/// The components that a mask names, bit by bit of those that are set.
pub fn asked<R: Record>(mut mask: u64) -> impl Iterator<Item = &'static Component> {
    std::iter::from_fn(move || {
        // Past the last component no bit means anything: `get` ends the walk.
        let component = R::COMPONENTS.get(mask.trailing_zeros() as usize);
        mask &= mask.wrapping_sub(1);
        component
    })
}

/// Lists the components of a record in the order of the mask's bits, as `NAME = [offset, width];`. The record gets a
/// constant of each name: the component's bit.
macro_rules! components {
    ($record:ident { $($name:ident = [$offset:expr, $width:expr];)* }) => {
        const _: () = {
            #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
            enum Bit { $($name,)* }

            impl $record {
                $(
                    #[doc = concat!("Bit of the component mask: `", stringify!($name), "`.")]
                    pub const $name: u64 = 1 << Bit::$name as u64;
                )*
            }

            impl $crate::sa::Record for $record {
                const COMPONENTS: &'static [$crate::sa::Component] = &[
                    $($crate::sa::Component { name: stringify!($name), offset: $offset, width: $width },)*
                ];
            }
        };
    };
}
pub(crate) use components;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sa::{LinkRecord, PathRecord};
    use crate::{Gid, Lid};

    fn bytes<A: Attribute>(attribute: &A) -> Vec<u8> {
        let mut bytes = vec![0xa5; A::LENGTH];
        attribute.emit(&mut bytes);
        bytes
    }

    #[test]
    fn only_what_the_mask_names_is_compared() {
        let record = LinkRecord { from_lid: Lid(5), from_port: 1, to_port: 35, to_lid: Lid(9) };
        let question = LinkRecord { from_port: 2, ..record };
        let same = |mask| matches::<LinkRecord>(&bytes(&record), &bytes(&question), mask);
        assert!(same(0) && same(LinkRecord::FROM_LID | LinkRecord::TO_PORT | LinkRecord::TO_LID));
        assert!(!same(LinkRecord::FROM_PORT) && !same(u64::MAX));
        let names: Vec<_> = asked::<LinkRecord>(0b1001).map(|component| component.name).collect();
        assert_eq!(names, ["FROM_LID", "TO_LID"]);
    }

    #[test]
    fn long_components_are_compared_to_their_last_bit() {
        let record = PathRecord { dest_gid: Gid(1), ..PathRecord::default() };
        let question = PathRecord { dest_gid: Gid(0), ..record };
        assert!(!matches::<PathRecord>(&bytes(&record), &bytes(&question), PathRecord::DEST_GID));
        assert!(matches::<PathRecord>(&bytes(&record), &bytes(&question), !PathRecord::DEST_GID));
    }
}
