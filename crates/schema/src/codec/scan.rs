use bytes::Bytes;
use milena_wire::{ByteString, UnknownTags, Uuid};

use super::walk::{Place, Visit};
use crate::model::{Field, StructSpec, Type};

/// A value that a message holds, as [`MessageSpec::scan`](crate::MessageSpec::scan) shows it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Scalar {
    /// Of any integer type, and bools as 0 and 1.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// Text; it shares memory with the message.
    Text(ByteString),
    /// An id of 16 bytes.
    Uuid(Uuid),
    /// Bytes or records; they share memory with the message.
    Bytes(Bytes),
}

/// Shows scalars alone.
pub(super) struct See<F>(pub(super) F);

impl<'a, F: FnMut(&'a Field, Scalar)> Visit<'a> for See<F> {
    type Value = ();
    type Struct = ();
    type Array = ();

    fn memory(_: usize) -> usize {
        size_of::<u64>()
    }

    fn scalar(&mut self, field: &'a Field, _: &Type, value: Scalar, _: Place) {
        (self.0)(field, value);
    }

    fn begin(&mut self, _: usize) {}
    fn member(&mut self, (): &mut (), _: &'a StructSpec, _: usize, (): (), _: usize) {}
    fn end(&mut self, (): (), _: &'a StructSpec, _: UnknownTags) {}
    fn open(&mut self, _: usize) {}
    fn push(&mut self, (): &mut (), (): (), _: usize) {}
    fn close(&mut self, (): ()) {}
    fn null(&mut self) {}
}
