//! The one reader of bytes by a layout. What becomes of what it reads is up to a [`Visit`].

use std::ops::Range;

use milena_wire::{Error, Reader, Result, UnknownTags, counted};

use super::plan::{Array, Element, Kind, Marker, Plan, Step, Tagged};
use super::scan::Scalar;
use crate::model::{Field, MessageSpec, StructSpec, Type};

/// Where a value is.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Its bytes, with a length in front.
    pub(super) range: Range<usize>,
    /// Whether a length in front is a varint.
    pub(super) flexible: bool,
}

/// Makes something of what a message holds. Compiled in, so that what a visitor does not need costs nothing.
pub(super) trait Visit<'a> {
    /// What a value becomes; the default stands for values that nobody wants to see.
    type Value: Default;
    /// What a struct becomes while it is read.
    type Struct;
    /// What an array becomes while it is read.
    type Array;

    /// The memory that an element of an array is charged for, which takes `json` bytes as JSON.
    fn memory(json: usize) -> usize {
        json
    }
    /// A struct of so many untagged fields begins.
    fn begin(&mut self, fields: usize) -> Self::Struct;
    /// A field of a struct begins, by its place in the struct.
    fn field(&mut self, _structure: &'a StructSpec, _index: usize, _start: usize) {}
    /// The field that began last is read.
    fn member(
        &mut self,
        into: &mut Self::Struct,
        structure: &'a StructSpec,
        index: usize,
        value: Self::Value,
        end: usize,
    );
    /// The value of a tagged field begins.
    fn tagged(&mut self, _start: usize) {}
    /// The value of a tagged field is read.
    fn tagged_done(&mut self, _end: usize) -> Result<()> {
        Ok(())
    }
    /// The value of a tagged field begins that the spec does not know.
    fn unknown(&mut self, _tag: u32, _start: usize) {}
    /// A struct is read.
    fn end(&mut self, from: Self::Struct, structure: &'a StructSpec, unknown: UnknownTags) -> Self::Value;
    /// An array begins.
    fn open(&mut self, count: usize) -> Self::Array;
    /// An element of an array begins.
    fn element(&mut self, _ty: &Type, _index: usize, _start: usize) {}
    /// The element that began last is read.
    fn push(&mut self, into: &mut Self::Array, value: Self::Value, end: usize);
    /// An array is read.
    fn close(&mut self, from: Self::Array) -> Self::Value;
    /// Null in place of a value.
    fn null(&mut self) -> Self::Value;
    /// A number, text, id or bytes.
    fn scalar(&mut self, field: &'a Field, ty: &Type, value: Scalar, place: Place) -> Self::Value;
}

/// Reads one version of a message.
pub(super) struct Walker<'a, V> {
    pub(super) message: &'a MessageSpec,
    pub(super) version: i16,
    pub(super) visit: V,
}

impl<'a, V: Visit<'a>> Walker<'a, V> {
    pub(super) fn structure(&mut self, reader: &mut Reader, plan: &Plan) -> Result<V::Value> {
        if let Some(stated) = plan.refused {
            return Err(Error::version(self.version, stated).with_offset(reader.position()));
        }
        let structure = self.message.structure(plan.id);
        let mut out = self.visit.begin(plan.steps.len());
        for step in &plan.steps {
            self.field(reader, structure, step, &mut out)?;
        }
        let unknown = match &plan.tags {
            Some(tags) => self.tags(reader, structure, tags, &mut out)?,
            None => UnknownTags::default(),
        };
        Ok(self.visit.end(out, structure, unknown))
    }

    fn tags(
        &mut self,
        reader: &mut Reader,
        structure: &'a StructSpec,
        tags: &[Tagged],
        out: &mut V::Struct,
    ) -> Result<UnknownTags> {
        reader.tags(|reader, tag| {
            let Some(known) = tags.iter().find(|known| known.tag == tag) else {
                self.visit.unknown(tag, reader.position());
                return Ok(false);
            };
            let Some(step) = &known.step else {
                return Err(Error::tag_version(reader.position(), tag, self.version));
            };
            self.visit.tagged(reader.position());
            self.field(reader, structure, step, out)?;
            self.visit.tagged_done(reader.position()).map(|()| true)
        })
    }

    fn field(
        &mut self,
        reader: &mut Reader,
        structure: &'a StructSpec,
        step: &Step,
        out: &mut V::Struct,
    ) -> Result<()> {
        if let Kind::Skip(size) = step.kind {
            return reader.skip(size);
        }
        let field = &structure.fields[step.index];
        self.visit.field(structure, step.index, reader.position());
        match self.value(reader, field, step) {
            Ok(value) => {
                self.visit.member(out, structure, step.index, value, reader.position());
                Ok(())
            }
            Err(error) => Err(error.within(field.json_name.clone())),
        }
    }

    #[inline(always)]
    fn value(&mut self, reader: &mut Reader, field: &'a Field, step: &Step) -> Result<V::Value> {
        let start = reader.position();
        match &step.kind {
            Kind::Scalar(ty) if !step.wanted => skip(reader, ty, step).map(|()| V::Value::default()),
            Kind::Scalar(ty) if step.nullable => Ok(match nullable(reader, ty, step.flexible)? {
                Some(value) => self.scalar(reader, field, ty, value, start, step.flexible),
                None => self.visit.null(),
            }),
            Kind::Scalar(ty) => {
                let value = scalar(reader, ty, step.flexible)?;
                Ok(self.scalar(reader, field, ty, value, start, step.flexible))
            }
            Kind::Struct(marker, plan) => {
                let present = match marker {
                    Marker::None => true,
                    Marker::Untagged => reader.present()?,
                    Marker::Tagged => reader.tagged_present()?,
                };
                if present { self.structure(reader, plan) } else { Ok(self.visit.null()) }
            }
            Kind::Array(array) => self.array(reader, field, step, array),
            // Several fields at once, which have no value.
            Kind::Skip(size) => reader.skip(*size).map(|()| V::Value::default()),
        }
    }

    #[inline(always)]
    fn scalar(
        &mut self,
        reader: &Reader,
        field: &'a Field,
        ty: &Type,
        value: Scalar,
        start: usize,
        flexible: bool,
    ) -> V::Value {
        self.visit.scalar(field, ty, value, Place { range: start..reader.position(), flexible })
    }

    #[inline(never)]
    fn array(&mut self, reader: &mut Reader, field: &'a Field, step: &Step, array: &Array) -> Result<V::Value> {
        let start = reader.position();
        let Some(count) = reader.count(step.flexible, V::memory(array.memory))? else {
            return match step.nullable {
                true => Ok(self.visit.null()),
                false => Err(Error::malformed(start, "null array where null is not allowed")),
            };
        };
        // Typed messages read these in one go; the error is to be the same.
        if array.ty == Type::Int32 && count.saturating_mul(4) > reader.remaining() {
            let left = counted(reader.remaining(), "byte");
            return Err(Error::malformed(start, format!("{count} int32, but {left} left")));
        }
        let mut out = self.visit.open(count);
        match &array.element {
            Element::Struct(plan) => {
                self.elements(reader, array, count, &mut out, |walker, reader| walker.structure(reader, plan))?;
            }
            Element::Scalar if !step.wanted => {
                // Elements are never null, whatever the array is.
                self.elements(reader, array, count, &mut out, |_, reader| {
                    skip_present(reader, &array.ty, step.flexible).map(|()| V::Value::default())
                })?;
            }
            Element::Scalar => self.elements(reader, array, count, &mut out, |walker, reader| {
                let start = reader.position();
                let value = scalar(reader, &array.ty, step.flexible)?;
                Ok(walker.scalar(reader, field, &array.ty, value, start, step.flexible))
            })?,
            Element::Skip(size) => reader.skip(count.saturating_mul(*size))?,
        }
        Ok(self.visit.close(out))
    }

    #[inline(always)]
    fn elements(
        &mut self,
        reader: &mut Reader,
        array: &Array,
        count: usize,
        out: &mut V::Array,
        read: impl Fn(&mut Self, &mut Reader) -> Result<V::Value>,
    ) -> Result<()> {
        for index in 0..count {
            self.visit.element(&array.ty, index, reader.position());
            match read(self, reader) {
                Ok(value) => self.visit.push(out, value, reader.position()),
                Err(error) => return Err(error.within_index(index)),
            }
        }
        Ok(())
    }
}

/// A value that is not null. Inlined, so that no value takes a detour through memory.
#[inline(always)]
fn scalar(reader: &mut Reader, ty: &Type, flexible: bool) -> Result<Scalar> {
    Ok(match ty {
        Type::Bool => Scalar::Integer(reader.bool()?.into()),
        Type::Int8 => Scalar::Integer(reader.i8()?.into()),
        Type::Int16 => Scalar::Integer(reader.i16()?.into()),
        Type::Int32 => Scalar::Integer(reader.i32()?.into()),
        Type::Int64 => Scalar::Integer(reader.i64()?),
        Type::Uint16 => Scalar::Integer(reader.u16()?.into()),
        Type::Uint32 => Scalar::Integer(reader.u32()?.into()),
        Type::Float64 => Scalar::Float(reader.f64()?),
        Type::Uuid => Scalar::Uuid(reader.uuid()?),
        Type::String => Scalar::Text(reader.string(flexible)?),
        Type::Bytes | Type::Records => Scalar::Bytes(reader.bytes(flexible)?),
        Type::Struct(_) | Type::Array(_) => return Err(no_scalar(reader)),
    })
}

/// A value that may be null; of the types that can be.
fn nullable(reader: &mut Reader, ty: &Type, flexible: bool) -> Result<Option<Scalar>> {
    match ty {
        Type::String => Ok(reader.nullable_string(flexible)?.map(Scalar::Text)),
        Type::Bytes | Type::Records => Ok(reader.nullable_bytes(flexible)?.map(Scalar::Bytes)),
        ty => scalar(reader, ty, flexible).map(Some),
    }
}

fn skip(reader: &mut Reader, ty: &Type, step: &Step) -> Result<()> {
    match (ty, step.nullable) {
        (Type::String, true) => reader.skip_nullable_string(step.flexible),
        (Type::Bytes | Type::Records, true) => reader.skip_nullable_bytes(step.flexible),
        _ => skip_present(reader, ty, step.flexible),
    }
}

fn skip_present(reader: &mut Reader, ty: &Type, flexible: bool) -> Result<()> {
    match ty {
        Type::String => reader.skip_string(flexible),
        Type::Bytes | Type::Records => reader.skip_bytes(flexible),
        ty => scalar(reader, ty, flexible).map(drop),
    }
}

/// The checks of a spec let no array hold arrays.
#[cold]
fn no_scalar(reader: &Reader) -> Error {
    Error::malformed(reader.position(), "an array inside an array")
}
