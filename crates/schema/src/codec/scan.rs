use bytes::Bytes;
use milena_wire::{ByteString, Error, Reader, Result, UnknownTags, Uuid, counted};

use crate::model::{Field, MessageSpec, StructId, StructSpec, Type};

/// A value that a message holds, as [`MessageSpec::scan`] shows it.
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

/// Is told what stands in a message, in the order of the wire.
pub(super) trait Visit<'a> {
    /// A number, text, id or bytes.
    fn scalar(&mut self, field: &'a Field, ty: &Type, value: Scalar);
    /// Memory that an element of an array takes at least.
    fn memory(&self, ty: &Type) -> usize;
    /// A struct begins. What it gives comes back when the struct is read.
    fn begin(&mut self) -> usize {
        0
    }
    /// A field of the struct begins, told by its place in the struct.
    fn member(&mut self, _structure: &'a StructSpec, _index: usize) {}
    /// The struct is read.
    fn end(&mut self, _begun: usize, _structure: &'a StructSpec, _unknown: &UnknownTags) {}
    /// An array begins.
    fn open(&mut self) {}
    /// An element of the array begins.
    fn element(&mut self) {}
    /// The array is read.
    fn close(&mut self) {}
    /// Null.
    fn null(&mut self) {}
    /// A number with a fraction.
    fn float(&mut self, _value: f64) {}
}

/// Shows scalars alone.
pub(super) struct See<F>(pub(super) F);

impl<'a, F: FnMut(&'a Field, Scalar)> Visit<'a> for See<F> {
    fn scalar(&mut self, field: &'a Field, _: &Type, value: Scalar) {
        (self.0)(field, value);
    }

    fn memory(&self, _: &Type) -> usize {
        size_of::<u64>()
    }
}

/// Walks over a message without building anything itself.
pub(super) struct Scanner<'a, V> {
    message: &'a MessageSpec,
    version: i16,
    flexible: bool,
    visit: V,
}

impl<'a, V: Visit<'a>> Scanner<'a, V> {
    pub(super) fn new(message: &'a MessageSpec, version: i16, visit: V) -> Self {
        Self { message, version, flexible: message.is_flexible(version), visit }
    }

    pub(super) fn structure(&mut self, reader: &mut Reader, id: StructId) -> Result<()> {
        let structure = self.message.structure(id);
        if !structure.versions.contains(self.version) {
            return Err(Error::version(self.version, structure.versions).with_offset(reader.position()));
        }
        let begun = self.visit.begin();
        for (index, field) in structure.fields.iter().enumerate() {
            if field.tag.is_none() && field.versions.contains(self.version) {
                self.field(reader, structure, index)?;
            }
        }
        let unknown = if self.flexible { self.tags(reader, structure)? } else { UnknownTags::default() };
        self.visit.end(begun, structure, &unknown);
        Ok(())
    }

    fn tags(&mut self, reader: &mut Reader, structure: &'a StructSpec) -> Result<UnknownTags> {
        reader.tags(|reader, tag| {
            let Some(index) = structure.fields.iter().position(|field| field.tag == Some(tag)) else {
                return Ok(false);
            };
            if !structure.fields[index].versions.contains(self.version) {
                return Err(Error::tag_version(reader.position(), tag, self.version));
            }
            self.field(reader, structure, index).map(|()| true)
        })
    }

    fn field(&mut self, reader: &mut Reader, structure: &'a StructSpec, index: usize) -> Result<()> {
        let field = &structure.fields[index];
        self.visit.member(structure, index);
        self.value(reader, field).map_err(|error| error.within(field.json_name.clone()))
    }

    fn value(&mut self, reader: &mut Reader, field: &'a Field) -> Result<()> {
        let nullable = field.nullable.contains(self.version);
        let flexible = field.flexible.map_or(self.flexible, |versions| versions.contains(self.version));
        match &field.ty {
            Type::String if nullable => match reader.nullable_string(flexible)? {
                Some(text) => self.visit.scalar(field, &field.ty, Scalar::Text(text)),
                None => self.visit.null(),
            },
            Type::Bytes | Type::Records if nullable => match reader.nullable_bytes(flexible)? {
                Some(bytes) => self.visit.scalar(field, &field.ty, Scalar::Bytes(bytes)),
                None => self.visit.null(),
            },
            Type::Array(element) => {
                let start = reader.position();
                match reader.count(flexible, self.visit.memory(element))? {
                    // As when decoding: the error is to be the same.
                    Some(count) if **element == Type::Int32 && count.saturating_mul(4) > reader.remaining() => {
                        let left = counted(reader.remaining(), "byte");
                        return Err(Error::malformed(start, format!("{count} int32, but {left} left")));
                    }
                    Some(count) => {
                        self.visit.open();
                        for index in 0..count {
                            self.visit.element();
                            self.element(reader, field, element, flexible)
                                .map_err(|error| error.within_index(index))?;
                        }
                        self.visit.close();
                    }
                    None if !nullable => {
                        return Err(Error::malformed(start, "null array where null is not allowed"));
                    }
                    None => self.visit.null(),
                }
            }
            Type::Struct(id) => {
                let present = match (nullable, field.tag) {
                    (false, _) => true,
                    (true, None) => reader.present()?,
                    (true, Some(_)) => reader.tagged_present()?,
                };
                match present {
                    true => self.structure(reader, *id)?,
                    false => self.visit.null(),
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
            Type::Float64 => return reader.f64().map(|value| self.visit.float(value)),
            Type::Bytes | Type::Records => Scalar::Bytes(reader.bytes(flexible)?),
            Type::Struct(id) => return self.structure(reader, *id),
            // No array holds arrays.
            Type::Array(_) => return Ok(()),
        };
        self.visit.scalar(field, ty, scalar);
        Ok(())
    }
}
