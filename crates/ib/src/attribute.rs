//! What every attribute can do, and the macro that turns a table of fields into one.

use crate::AttributeId;

/// The contents of a MAD.
pub trait Attribute: Sized {
    /// Its number within its class.
    const ID: AttributeId;
    /// Its name, as the standard spells it.
    const NAME: &'static str;
    /// How many bytes of the MAD's data it fills.
    const LENGTH: usize;
    /// Where the data begins in a MAD of its class: 64, in subnet administration 56.
    const OFFSET: usize = 64;

    /// Reads it from at least [`Attribute::LENGTH`] bytes. Every pattern of bytes is some value.
    fn parse(data: &[u8]) -> Self;

    /// Writes it over the first [`Attribute::LENGTH`] bytes; reserved bits become 0.
    fn emit(&self, data: &mut [u8]);
}

/// An attribute that prints as the tools of infiniband-diags do.
pub trait Fields {
    /// Label and value of every field, in the tools' order. Fields that the tools do not know are left out where
    /// they are 0.
    fn fields(&self) -> Vec<(&'static str, String)>;
}

/// Defines an attribute from a table of fields.
///
/// A row reads `name: Type = [offset, width] "Label" printer;` with the bit offset from the attribute's start, in
/// network bit order. A field of several pieces lists them, top bits first. Values wider than the field are cut.
macro_rules! attribute {
    (
        $(#[$doc:meta])*
        $name:ident, $id:expr, $text:literal, $length:literal bytes $(at $at:literal)? {
            $($(#[$field_doc:meta])* $field:ident: $type:ty = $([$offset:literal, $width:literal])+ $label:literal $printer:ident;)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl $crate::Attribute for $name {
            const ID: $crate::AttributeId = $id;
            const NAME: &'static str = $text;
            const LENGTH: usize = $length;
            $(const OFFSET: usize = $at;)?

            #[inline]
            fn parse(data: &[u8]) -> Self {
                let data = &data[..$length];
                Self {
                    $($field: {
                        type Bits = <$type as $crate::bits::Field>::Bits;
                        let mut bits: Bits = 0;
                        $(
                            const { assert!($width <= 64, "a wider field lists its pieces") };
                            bits = bits.checked_shl($width).unwrap_or(0);
                            bits |= $crate::bits::get(data, $offset, $width) as Bits;
                        )+
                        <$type as $crate::bits::Field>::from_bits(bits)
                    },)*
                }
            }

            #[inline]
            fn emit(&self, data: &mut [u8]) {
                let data = &mut data[..$length];
                data.fill(0);
                $({
                    const PIECES: &[(usize, usize)] = &[$(($offset, $width)),+];
                    let mut bits = $crate::bits::Field::to_bits(self.$field);
                    for &(offset, width) in PIECES.iter().rev() {
                        $crate::bits::set(data, offset, width, bits as u64);
                        bits = bits.checked_shr(width as u32).unwrap_or(0);
                    }
                })*
            }
        }

        impl $crate::attribute::Fields for $name {
            fn fields(&self) -> Vec<(&'static str, String)> {
                let mut fields = Vec::new();
                $(
                    let value = $crate::print::$printer($crate::bits::Field::to_bits(self.$field), 0 $(+ $width)+);
                    if !value.is_empty() {
                        fields.push(($label, value));
                    }
                )*
                fields
            }
        }
    };
}
pub(crate) use attribute;
