//! How one field looks in Rust: its type, its default, how it is read and written.

use milena_schema::{Entity, Field, FieldDefault, MessageSpec, StructSpec, Type};
use milena_wire::{MAX_FIXED_BYTES, VersionRange};

use super::names;

/// A field in the struct that holds it.
pub(crate) struct RustField<'a> {
    pub field: &'a Field,
    message: &'a MessageSpec,
    owner: &'a StructSpec,
}

impl<'a> RustField<'a> {
    pub(crate) fn new(field: &'a Field, owner: &'a StructSpec, message: &'a MessageSpec) -> Self {
        Self { field, message, owner }
    }

    pub(crate) fn name(&self) -> String {
        names::field(&self.field.name)
    }

    pub(crate) fn json(&self) -> &str {
        &self.field.json_name
    }

    fn is_option(&self) -> bool {
        !self.field.nullable.is_empty()
    }

    pub(crate) fn ty(&self) -> String {
        let ty = self.bare(&self.field.ty);
        if self.is_option() { format!("Option<{ty}>") } else { ty }
    }

    fn bare(&self, ty: &Type) -> String {
        match ty {
            Type::Bool => "bool".into(),
            Type::Int8 => "i8".into(),
            Type::Int16 => match self.field.entity {
                Some(Entity::ErrorCode) => "ErrorCode".into(),
                Some(Entity::ApiKey) => "ApiKey".into(),
                _ => "i16".into(),
            },
            Type::Int32 => "i32".into(),
            Type::Int64 => "i64".into(),
            Type::Uint16 => "u16".into(),
            Type::Uint32 => "u32".into(),
            Type::Float64 => "f64".into(),
            Type::Uuid => "Uuid".into(),
            Type::String => "ByteString".into(),
            Type::Bytes | Type::Records => "Bytes".into(),
            Type::Struct(id) => self.message.structure(*id).name.clone(),
            Type::Array(element) if **element == Type::Int32 => "Int32s".into(),
            Type::Array(element) => format!("Vec<{}>", self.bare(element)),
        }
    }

    /// Whether `Default::default()` of the Rust type is the field's default.
    pub(crate) fn natural_default(&self) -> bool {
        match self.field.default {
            FieldDefault::Null => true,
            FieldDefault::Number(number) => number == 0,
            FieldDefault::Empty => !self.is_option() || self.field.ty == Type::Records,
        }
    }

    pub(crate) fn default(&self) -> String {
        if self.natural_default() {
            return match (&self.field.ty, self.is_option()) {
                (_, true) => "None".into(),
                (Type::Bool, _) => "false".into(),
                (Type::Int16, _) if self.field.entity.is_some() => format!("{}(0)", self.bare(&Type::Int16)),
                (Type::Float64, _) => "0.0".into(),
                (Type::Uuid, _) => "Uuid::ZERO".into(),
                (Type::String, _) => "ByteString::new()".into(),
                (Type::Bytes | Type::Records, _) => "Bytes::new()".into(),
                (Type::Array(_), _) => {
                    format!("{}::new()", self.bare(&self.field.ty).split('<').next().unwrap_or("Vec"))
                }
                (Type::Struct(_), _) => format!("{}::default()", self.bare(&self.field.ty)),
                _ => "0".into(),
            };
        }
        match (&self.field.default, &self.field.ty) {
            (FieldDefault::Number(_), Type::Bool) => "true".into(),
            (FieldDefault::Number(i64::MAX), _) => "i64::MAX".into(),
            (FieldDefault::Number(number), Type::Int32) if *number == i64::from(i32::MAX) => "i32::MAX".into(),
            (FieldDefault::Number(number), Type::Int32) if *number == i64::from(i32::MIN) => "i32::MIN".into(),
            (FieldDefault::Number(number), _) => number.to_string(),
            _ => "Some(Default::default())".into(),
        }
    }

    /// An expression that is true when the field of `self` is not its default.
    pub(crate) fn differs(&self) -> String {
        let this = format!("self.{}", self.name());
        match (&self.field.default, &self.field.ty, self.is_option()) {
            (FieldDefault::Null, ..) | (_, Type::Records, true) => format!("{this}.is_some()"),
            (_, Type::Struct(id), true) => {
                format!("{this} != Some({}::default())", self.message.structure(*id).name)
            }
            (_, _, true) => format!("{this}.as_ref().is_none_or(|value| !value.is_empty())"),
            (FieldDefault::Number(0), Type::Bool, _) | (FieldDefault::Empty, Type::Bool, _) => this,
            (_, Type::Bool, _) => format!("!{this}"),
            (_, Type::String | Type::Bytes | Type::Records | Type::Array(_), _) => format!("!{this}.is_empty()"),
            (_, Type::Uuid, _) => format!("!{this}.is_zero()"),
            (_, Type::Struct(id), _) => format!("{this} != {}::default()", self.message.structure(*id).name),
            _ => format!("{this} != {}", self.default()),
        }
    }

    /// Whether the struct that holds the field occurs in versions that lack it.
    pub(crate) fn present(&self) -> Option<String> {
        condition(self.field.versions, self.owner.versions)
    }

    /// The condition under which the field exists but may not be null; `None` when there is no such version.
    pub(crate) fn refuses_null(&self) -> Option<String> {
        let existing = self.field.versions.intersect(self.owner.versions);
        if !self.is_option() || self.field.nullable.covers(existing) {
            return None;
        }
        let nullable = condition(self.field.nullable, existing)?;
        Some(match nullable.split_once("v >= ") {
            Some(("", from)) if !from.contains('v') => format!("v < {from}"),
            _ => match nullable.split_once("v <= ") {
                Some(("", to)) => format!("v > {to}"),
                _ => format!("!{nullable}"),
            },
        })
    }

    /// The width of a field that every version has in the same width: such fields are read and written in runs.
    pub(crate) fn fixed_size(&self) -> Option<usize> {
        if self.field.tag.is_some() || self.present().is_some() {
            return None;
        }
        match self.field.ty {
            Type::Bool | Type::Int8 => Some(1),
            Type::Int16 | Type::Uint16 => Some(2),
            Type::Int32 | Type::Uint32 => Some(4),
            Type::Int64 | Type::Float64 => Some(8),
            Type::Uuid => Some(16),
            _ => None,
        }
    }

    fn flex(&self) -> String {
        let flexible = self.field.flexible.unwrap_or(self.message.flexible);
        let existing = self.field.versions.intersect(self.owner.versions);
        if self.field.tag.is_some() || flexible.covers(existing) {
            "true".into()
        } else if flexible.intersect(existing).is_empty() {
            "false".into()
        } else {
            "flex".into()
        }
    }

    /// The call that reads the value, a `Result`.
    pub(crate) fn read(&self) -> String {
        let flex = self.flex();
        let nullable = self.call(&flex, true);
        match (self.is_option(), self.refuses_null()) {
            (false, _) => self.call(&flex, false),
            (true, None) => nullable,
            (true, Some(condition)) => {
                format!("if {condition} {{ {}.map(Some) }} else {{ {nullable} }}", self.call(&flex, false))
            }
        }
    }

    fn call(&self, flex: &str, nullable: bool) -> String {
        let prefix = if nullable { "nullable_" } else { "" };
        match &self.field.ty {
            Type::Bool => "r.bool()".into(),
            Type::Int16 if self.field.entity.is_some() => format!("r.i16().map({})", self.bare(&self.field.ty)),
            Type::String => format!("r.{prefix}string({flex})"),
            Type::Bytes | Type::Records => format!("r.{prefix}bytes({flex})"),
            Type::Struct(id) => {
                let name = &self.message.structure(*id).name;
                match (nullable, self.field.tag) {
                    (false, _) => format!("{name}::read(r, v)"),
                    (true, None) => format!("read_nullable::<{name}>(r, v)"),
                    (true, Some(_)) => format!("read_tagged_nullable::<{name}>(r, v)"),
                }
            }
            Type::Array(element) => match &**element {
                Type::Int32 => format!("r.{prefix}int32s({flex})"),
                Type::String => format!("r.{prefix}array({flex}, |r| r.string({flex}))"),
                Type::Struct(id) => {
                    let name = &self.message.structure(*id).name;
                    format!("r.{prefix}array({flex}, |r| {name}::read(r, v))")
                }
                primitive => format!("r.{prefix}array({flex}, Reader::{})", self.bare(primitive).to_lowercase()),
            },
            primitive => format!("r.{}()", self.bare(primitive).to_lowercase()),
        }
    }

    /// The call that writes the value, and whether it can fail.
    pub(crate) fn write(&self) -> (String, bool) {
        let flex = self.flex();
        let this = format!("self.{}", self.name());
        let prefix = if self.is_option() { "nullable_" } else { "" };
        let option = self.is_option();
        match &self.field.ty {
            Type::Int16 if self.field.entity.is_some() => (format!("w.i16({this}.0)"), false),
            Type::String if option => (format!("w.nullable_string({this}.as_deref(), {flex})"), true),
            Type::String => (format!("w.string(&{this}, {flex})"), true),
            Type::Bytes | Type::Records if option => (format!("w.nullable_bytes({this}.as_ref(), {flex})"), true),
            Type::Bytes | Type::Records => (format!("w.bytes(&{this}, {flex})"), true),
            Type::Struct(_) => match (option, self.field.tag) {
                (false, _) => (format!("{this}.write(w, v)"), true),
                (true, None) => (format!("write_nullable({this}.as_ref(), w, v)"), true),
                (true, Some(_)) => (format!("write_tagged_nullable({this}.as_ref(), w, v)"), true),
            },
            Type::Array(element) => {
                let array = if option { format!("{this}.as_deref()") } else { format!("&{this}") };
                let call = match &**element {
                    Type::Int32 => format!("w.{prefix}int32s({array}, {flex})"),
                    Type::String => format!("w.{prefix}array({array}, {flex}, |w, value| w.string(value, {flex}))"),
                    Type::Struct(_) => format!("w.{prefix}array({array}, {flex}, |w, value| value.write(w, v))"),
                    primitive => {
                        let method = self.bare(primitive).to_lowercase();
                        format!("w.{prefix}array({array}, {flex}, |w, value| {{ w.{method}(*value); Ok(()) }})")
                    }
                };
                (call, true)
            }
            primitive => (format!("w.{}({this})", self.bare(primitive).to_lowercase()), false),
        }
    }
}

/// Cuts fields into runs of those that go in one step, and all others alone.
pub(crate) fn runs<'a, 'b>(fields: &[&'b RustField<'a>]) -> Vec<Vec<&'b RustField<'a>>> {
    const MAX_FIELDS: usize = 6;
    let mut runs: Vec<Vec<&RustField<'_>>> = Vec::new();
    let mut size = MAX_FIXED_BYTES + 1;
    for field in fields {
        let width = field.fixed_size().unwrap_or(MAX_FIXED_BYTES + 1);
        match runs.last_mut() {
            Some(run) if run.len() < MAX_FIELDS && size + width <= MAX_FIXED_BYTES => {
                run.push(field);
                size += width;
            }
            _ => {
                runs.push(vec![field]);
                size = width;
            }
        }
    }
    runs
}

/// The test on `v` that tells `versions` from the rest of `domain`; `None` when all of the domain is in.
pub(crate) fn condition(versions: VersionRange, domain: VersionRange) -> Option<String> {
    let both = versions.intersect(domain);
    if both.is_empty() {
        return Some("false".into());
    }
    match (both.min() > domain.min(), both.max() < domain.max()) {
        (false, false) => None,
        (true, false) => Some(format!("v >= {}", both.min())),
        (false, true) => Some(format!("v <= {}", both.max())),
        (true, true) if both.min() == both.max() => Some(format!("v == {}", both.min())),
        (true, true) => Some(format!("({}..={}).contains(&v)", both.min(), both.max())),
    }
}
