use bytes::Bytes;
use milena_wire::{ByteString, Error, Reader, Result, Uuid, counted};

use crate::model::{Field, Message, Struct, StructId, Type};

/// A value that a message holds, as [`Message::scan`] shows it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Scalar {
    /// Of any integer type, and bools as 0 and 1.
    Integer(i64),
    /// Text; it shares memory with the message.
    Text(ByteString),
    /// An id of 16 bytes.
    Uuid(Uuid),
    /// Bytes or records; they share memory with the message.
    Bytes(Bytes),
}

/// Walks over a message without building anything.
pub(super) struct Scanner<'a, F> {
    pub(super) message: &'a Message,
    pub(super) version: i16,
    pub(super) flexible: bool,
    pub(super) see: F,
}

impl<'a, F: FnMut(&'a Field, Scalar)> Scanner<'a, F> {
    pub(super) fn structure(&mut self, reader: &mut Reader, id: StructId) -> Result<()> {
        let structure = self.message.structure(id);
        if !structure.versions.contains(self.version) {
            return Err(Error::version(self.version, structure.versions).with_offset(reader.position()));
        }
        for field in &structure.fields {
            if field.tag.is_none() && field.versions.contains(self.version) {
                self.field(reader, field)?;
            }
        }
        if self.flexible { self.tags(reader, structure) } else { Ok(()) }
    }

    fn tags(&mut self, reader: &mut Reader, structure: &'a Struct) -> Result<()> {
        reader.tags(|reader, tag| {
            let Some(field) = structure.fields.iter().find(|field| field.tag == Some(tag)) else { return Ok(false) };
            if !field.versions.contains(self.version) {
                return Err(Error::tag_version(reader.position(), tag, self.version));
            }
            self.field(reader, field).map(|()| true)
        })?;
        Ok(())
    }

    fn field(&mut self, reader: &mut Reader, field: &'a Field) -> Result<()> {
        self.value(reader, field).map_err(|error| error.within(field.json_name.clone()))
    }

    fn value(&mut self, reader: &mut Reader, field: &'a Field) -> Result<()> {
        let nullable = field.nullable.contains(self.version);
        let flexible = field.flexible.map_or(self.flexible, |versions| versions.contains(self.version));
        match &field.ty {
            Type::String if nullable => {
                if let Some(text) = reader.nullable_string(flexible)? {
                    (self.see)(field, Scalar::Text(text));
                }
            }
            Type::Bytes | Type::Records if nullable => {
                if let Some(bytes) = reader.nullable_bytes(flexible)? {
                    (self.see)(field, Scalar::Bytes(bytes));
                }
            }
            Type::Array(element) => {
                let start = reader.position();
                match reader.count(flexible, size_of::<u64>())? {
                    // As when decoding: the error is to be the same.
                    Some(count) if **element == Type::Int32 && count.saturating_mul(4) > reader.remaining() => {
                        let left = counted(reader.remaining(), "byte");
                        return Err(Error::malformed(start, format!("{count} int32, but {left} left")));
                    }
                    Some(count) => {
                        for index in 0..count {
                            self.element(reader, field, element, flexible)
                                .map_err(|error| error.within_index(index))?;
                        }
                    }
                    None if !nullable => {
                        return Err(Error::malformed(start, "null array where null is not allowed"));
                    }
                    None => {}
                }
            }
            Type::Struct(id) => {
                let present = match (nullable, field.tag) {
                    (false, _) => true,
                    (true, None) => reader.present()?,
                    (true, Some(_)) => reader.tagged_present()?,
                };
                if present {
                    self.structure(reader, *id)?;
                }
            }
            ty => self.element(reader, field, ty, flexible)?,
        }
        Ok(())
    }

    /// A value that is not null.
    fn element(&mut self, reader: &mut Reader, field: &'a Field, ty: &'a Type, flexible: bool) -> Result<()> {
        let scalar = match ty {
            Type::Bool => Scalar::Integer(reader.bool()?.into()),
            Type::Int8 => Scalar::Integer(reader.i8()?.into()),
            Type::Int16 => Scalar::Integer(reader.i16()?.into()),
            Type::Int32 => Scalar::Integer(reader.i32()?.into()),
            Type::Int64 => Scalar::Integer(reader.i64()?),
            Type::Uint16 => Scalar::Integer(reader.u16()?.into()),
            Type::Uint32 => Scalar::Integer(reader.u32()?.into()),
            Type::Uuid => Scalar::Uuid(reader.uuid()?),
            Type::String => Scalar::Text(reader.string(flexible)?),
            Type::Float64 => return reader.f64().map(drop),
            Type::Bytes | Type::Records => Scalar::Bytes(reader.bytes(flexible)?),
            Type::Struct(id) => return self.structure(reader, *id),
            // No array holds arrays.
            Type::Array(_) => return Ok(()),
        };
        (self.see)(field, scalar);
        Ok(())
    }
}
