use milena_wire::Uuid;
use serde_json::{Map, Value};

use super::UNKNOWN_TAGGED_FIELDS;
use super::decode::{base64_json, unknown_json};
use super::default::is_default;
use crate::model::{Field, MessageSpec, StructId, Type};

/// Far above the tags that any struct defines, so that later versions of the spec do not come to know it.
const UNKNOWN_TAG: u32 = 10_000;

pub(super) struct Sampler<'a> {
    message: &'a MessageSpec,
    version: i16,
    state: u64,
}

impl<'a> Sampler<'a> {
    pub(super) fn new(message: &'a MessageSpec, version: i16, seed: u64) -> Self {
        Self { message, version, state: seed }
    }

    pub(super) fn structure(&mut self, id: StructId) -> Value {
        let mut map = Map::new();
        for field in &self.message.structure(id).fields {
            if field.versions.contains(self.version) {
                map.insert(field.json_name.clone(), self.field(field));
            }
        }
        if self.message.is_flexible(self.version) {
            let length = self.below(4) as usize;
            let tag = unknown_json(UNKNOWN_TAG + self.below(1000) as u32, &self.bytes(length));
            map.insert(UNKNOWN_TAGGED_FIELDS.to_owned(), Value::Array(vec![tag]));
        }
        Value::Object(map)
    }

    fn field(&mut self, field: &Field) -> Value {
        let value = self.value(&field.ty, &field.name);
        if !is_default(self.message, field, &value) {
            return value;
        }
        // Only bools and numbers can hit their default by chance; one of these two is another.
        let others = if field.ty == Type::Bool { [true.into(), false.into()] } else { [1.into(), 2.into()] };
        others.into_iter().find(|other| !is_default(self.message, field, other)).unwrap_or(value)
    }

    fn value(&mut self, ty: &Type, name: &str) -> Value {
        match ty {
            Type::Bool => Value::Bool(self.below(2) == 1),
            Type::Int8 => Value::from(self.next() as i8),
            Type::Int16 => Value::from(self.next() as i16),
            Type::Int32 => Value::from(self.next() as i32),
            Type::Int64 => Value::from(self.next() as i64),
            Type::Uint16 => Value::from(self.next() as u16),
            Type::Uint32 => Value::from(self.next() as u32),
            // Eighths, which any form of a number gives back as they are.
            Type::Float64 => Value::from((self.below(1 << 40) + 1) as f64 / 8.0),
            Type::Uuid => {
                let (high, low) = (self.next() | 1, self.next());
                let bits = u128::from(high) << 64 | u128::from(low);
                Value::String(Uuid::from_bytes(bits.to_be_bytes()).to_string())
            }
            Type::String => Value::String(self.text(name)),
            Type::Bytes | Type::Records => {
                // Some long enough for a length of two bytes.
                let length = 1 + if self.below(8) == 0 { 200 } else { self.below(20) } as usize;
                base64_json(&self.bytes(length))
            }
            Type::Struct(id) => self.structure(*id),
            Type::Array(element) => {
                let count = 2 + self.below(2);
                Value::Array((0..count).map(|_| self.value(element, name)).collect())
            }
        }
    }

    /// Characters of one to four bytes, and now and then a length that takes two bytes.
    fn text(&mut self, name: &str) -> String {
        let mut text = format!("{name}-ž多🦀{}", self.below(1 << 20));
        if self.below(16) == 0 {
            text.push_str(&"é".repeat(70));
        }
        text
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }
}
