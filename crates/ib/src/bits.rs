//! Fields of any width at any bit position, in network bit order: bit 0 is the top bit of byte 0.

/// Reads `width` bits (1 to 64; a field wider than 57 bits must start on a byte) from bit `offset` on.
///
/// Panics where the field lies beyond the data: offsets are constants of the attribute tables.
#[inline(always)]
pub fn get(data: &[u8], offset: usize, width: usize) -> u64 {
    let first = offset / 8;
    let last = (offset + width - 1) / 8;
    let mut value = 0u64;
    for &byte in &data[first..=last] {
        value = value << 8 | u64::from(byte);
    }
    (value >> (7 - (offset + width - 1) % 8)) & mask(width)
}

/// Writes the low `width` bits of `value` from bit `offset` on and leaves all other bits.
#[inline(always)]
pub fn set(data: &mut [u8], offset: usize, width: usize, value: u64) {
    let first = offset / 8;
    let last = (offset + width - 1) / 8;
    let shift = 7 - (offset + width - 1) % 8;
    let mut value = (value & mask(width)) << shift;
    let mut keep = !(mask(width) << shift);
    for byte in data[first..=last].iter_mut().rev() {
        *byte = *byte & keep as u8 | value as u8;
        value >>= 8;
        keep = keep >> 8 | 0xff << 56;
    }
}

/// The low `width` bits set.
#[inline(always)]
pub const fn mask(width: usize) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

/// A value that a field can hold.
pub trait Field: Copy {
    /// `u64`, or `u128` for the few fields that are wider.
    type Bits;
    /// The value that the bits mean; every pattern means one.
    fn from_bits(bits: Self::Bits) -> Self;
    /// The bits that mean the value.
    fn to_bits(self) -> Self::Bits;
}

macro_rules! unsigned {
    ($($t:ty),*) => {$(
        impl Field for $t {
            type Bits = u64;
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                bits as $t
            }
            #[inline(always)]
            fn to_bits(self) -> u64 {
                u64::from(self)
            }
        }
    )*};
}
unsigned!(u8, u16, u32, u64);

impl Field for u128 {
    type Bits = u128;
    #[inline(always)]
    fn from_bits(bits: u128) -> Self {
        bits
    }
    #[inline(always)]
    fn to_bits(self) -> u128 {
        self
    }
}

impl Field for bool {
    type Bits = u64;
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        bits != 0
    }
    #[inline(always)]
    fn to_bits(self) -> u64 {
        u64::from(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_lie_in_network_order() {
        let data = [0x12, 0x34, 0x56, 0x78, 0x9a];
        assert_eq!(get(&data, 0, 8), 0x12);
        assert_eq!(get(&data, 4, 8), 0x23);
        assert_eq!(get(&data, 12, 20), 0x45678);
        assert_eq!(get(&data, 35, 5), 0x1a);
    }

    proptest! {
        #[test]
        fn a_field_reads_back_and_leaves_its_neighbours(
            fill: u8, value: u64, offset in 0usize..100, width in 1usize..=57,
        ) {
            let mut data = [fill; 24];
            set(&mut data, offset, width, value);
            prop_assert_eq!(get(&data, offset, width), value & mask(width));
            set(&mut data, offset, width, get(&[fill; 24], offset, width));
            prop_assert_eq!(data, [fill; 24]);
        }

        #[test]
        fn a_whole_word_reads_back(value: u64, at in 0usize..16) {
            let mut data = [0xa5; 24];
            set(&mut data, at * 8, 64, value);
            prop_assert_eq!(get(&data, at * 8, 64), value);
        }
    }
}
