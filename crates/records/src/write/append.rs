use crate::record::Record;
use crate::view::RecordRef;

/// What a builder appends: a [`Record`] or a [`RecordRef`].
pub trait AsRecord: private::Sealed {}

impl AsRecord for Record {}
impl AsRecord for RecordRef<'_> {}
impl<T: AsRecord> AsRecord for &T {}

pub(crate) mod private {
    use super::{Record, RecordRef};

    /// The parts of a record, wherever they are kept.
    pub trait Sealed {
        fn offset(&self) -> i64;
        fn timestamp(&self) -> i64;
        fn key(&self) -> Option<&[u8]>;
        fn value(&self) -> Option<&[u8]>;
        /// Keys and values.
        fn headers(&self) -> impl ExactSizeIterator<Item = (&[u8], Option<&[u8]>)>;
    }

    impl Sealed for Record {
        #[inline]
        fn offset(&self) -> i64 {
            self.offset
        }

        #[inline]
        fn timestamp(&self) -> i64 {
            self.timestamp
        }

        #[inline]
        fn key(&self) -> Option<&[u8]> {
            self.key.as_deref()
        }

        #[inline]
        fn value(&self) -> Option<&[u8]> {
            self.value.as_deref()
        }

        #[inline]
        fn headers(&self) -> impl ExactSizeIterator<Item = (&[u8], Option<&[u8]>)> {
            self.headers.iter().map(|header| (&header.key[..], header.value.as_deref()))
        }
    }

    impl Sealed for RecordRef<'_> {
        #[inline]
        fn offset(&self) -> i64 {
            self.offset
        }

        #[inline]
        fn timestamp(&self) -> i64 {
            self.timestamp
        }

        #[inline]
        fn key(&self) -> Option<&[u8]> {
            self.key
        }

        #[inline]
        fn value(&self) -> Option<&[u8]> {
            self.value
        }

        #[inline]
        fn headers(&self) -> impl ExactSizeIterator<Item = (&[u8], Option<&[u8]>)> {
            self.headers.map(|header| (header.key, header.value))
        }
    }

    impl<T: Sealed> Sealed for &T {
        fn offset(&self) -> i64 {
            (**self).offset()
        }

        fn timestamp(&self) -> i64 {
            (**self).timestamp()
        }

        fn key(&self) -> Option<&[u8]> {
            (**self).key()
        }

        fn value(&self) -> Option<&[u8]> {
            (**self).value()
        }

        fn headers(&self) -> impl ExactSizeIterator<Item = (&[u8], Option<&[u8]>)> {
            (**self).headers()
        }
    }
}
