use crate::uuid::Uuid;

/// A value of fixed width, or several of them one after the other: what [`crate::Reader::fixed`] reads and
/// [`crate::Writer::fixed`] writes in one step, with one look at the room there is.
pub trait Fixed: Sized {
    /// Width of each value.
    const SIZES: &'static [usize];
    /// Width of all of them, at most [`MAX_FIXED_BYTES`].
    const SIZE: usize;

    /// The values at the front of `bytes`, which are [`Fixed::SIZE`] at least.
    fn take(bytes: &[u8]) -> Self;

    /// Writes the values at the front of `bytes`, which are [`Fixed::SIZE`] at least.
    fn put(&self, bytes: &mut [u8]);
}

/// Most bytes that values of fixed width may have together.
pub const MAX_FIXED_BYTES: usize = 64;

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Fixed for $type {
            const SIZES: &'static [usize] = &[size_of::<$type>()];
            const SIZE: usize = size_of::<$type>();

            #[inline(always)]
            fn take(bytes: &[u8]) -> Self {
                let mut value = [0; size_of::<$type>()];
                value.copy_from_slice(&bytes[..size_of::<$type>()]);
                <$type>::from_be_bytes(value)
            }

            #[inline(always)]
            fn put(&self, bytes: &mut [u8]) {
                bytes[..size_of::<$type>()].copy_from_slice(&self.to_be_bytes());
            }
        }
    )*};
}

integers! { i8 i16 i32 i64 u16 u32 f64 }

impl Fixed for bool {
    const SIZES: &'static [usize] = &[1];
    const SIZE: usize = 1;

    #[inline(always)]
    fn take(bytes: &[u8]) -> Self {
        bytes[0] != 0
    }

    #[inline(always)]
    fn put(&self, bytes: &mut [u8]) {
        bytes[0] = u8::from(*self);
    }
}

impl Fixed for Uuid {
    const SIZES: &'static [usize] = &[16];
    const SIZE: usize = 16;

    #[inline(always)]
    fn take(bytes: &[u8]) -> Self {
        let mut value = [0; 16];
        value.copy_from_slice(&bytes[..16]);
        Self::from_bytes(value)
    }

    #[inline(always)]
    fn put(&self, bytes: &mut [u8]) {
        bytes[..16].copy_from_slice(self.as_bytes());
    }
}

macro_rules! tuples {
    ($($($name:ident)*;)*) => {$(
        impl<$($name: Fixed),*> Fixed for ($($name,)*) {
            const SIZES: &'static [usize] = &[$($name::SIZE),*];
            const SIZE: usize = {
                let size = 0 $(+ $name::SIZE)*;
                assert!(size <= MAX_FIXED_BYTES);
                size
            };

            #[inline(always)]
            #[allow(unused_assignments, reason = "the last position is that of nothing")]
            fn take(bytes: &[u8]) -> Self {
                let mut at = 0;
                ($({
                    let value = $name::take(&bytes[at..]);
                    at += $name::SIZE;
                    value
                },)*)
            }

            #[inline(always)]
            #[allow(unused_assignments, non_snake_case, reason = "the last position is that of nothing")]
            fn put(&self, bytes: &mut [u8]) {
                let ($($name,)*) = self;
                let mut at = 0;
                $(
                    $name.put(&mut bytes[at..]);
                    at += $name::SIZE;
                )*
            }
        }
    )*};
}

tuples! {
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
}

#[cfg(test)]
mod tests {
    use crate::{ErrorKind, Reader, Writer};

    #[test]
    fn values_are_read_one_after_the_other() {
        let mut writer = Writer::new();
        writer.fixed((1i16, true, -1i64, 0x0102_0304i32));
        let bytes = writer.into_bytes();
        assert_eq!(&bytes[..], [0, 1, 1, 255, 255, 255, 255, 255, 255, 255, 255, 1, 2, 3, 4]);
        let values = Reader::new(bytes).fixed::<(i16, bool, i64, i32), 4>(["a", "b", "c", "d"]).unwrap();
        assert_eq!(values, (1, true, -1, 0x0102_0304));
    }

    #[test]
    fn a_cut_names_the_value_that_it_goes_through() {
        for (left, field, offset) in [(0, "a", 0), (1, "a", 0), (2, "b", 2), (9, "b", 2), (10, "c", 10), (13, "c", 10)]
        {
            let error = Reader::new(vec![0; left].into()).fixed::<(i16, i64, i32), 3>(["a", "b", "c"]).unwrap_err();
            assert_eq!(
                (error.kind(), error.path(), error.offset()),
                (ErrorKind::Malformed, field.into(), Some(offset))
            );
        }
    }
}
