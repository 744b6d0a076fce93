//! How a version of a message is read, with all questions of versions decided beforehand.

use std::fmt;
use std::sync::OnceLock;

use milena_wire::VersionRange;

use crate::model::{Field, MessageSpec, StructId, StructSpec, Type};

/// How one version of a struct is read.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(super) id: StructId,
    /// The versions that a shared struct states for itself, when this one is not among them: Kafka refuses to read it.
    pub(super) refused: Option<VersionRange>,
    /// Untagged fields in the order of the wire.
    pub(super) steps: Vec<Step>,
    /// Tagged fields; `None` when the version has none.
    pub(super) tags: Option<Vec<Tagged>>,
}

/// How one field is read.
#[derive(Debug)]
pub(super) struct Step {
    /// The field's place in its struct; meaningless when several are skipped at once.
    pub(super) index: usize,
    pub(super) nullable: bool,
    pub(super) flexible: bool,
    /// Whether the visitor wants to see the value.
    pub(super) wanted: bool,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// So many bytes that nobody wants to see.
    Skip(usize),
    Scalar(Type),
    Struct(Marker, Plan),
    Array(Box<Array>),
}

/// What says that a struct is null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    None,
    Untagged,
    Tagged,
}

#[derive(Debug)]
pub(super) struct Array {
    /// The type of an element.
    pub(super) ty: Type,
    /// The memory that an element takes as JSON.
    pub(super) memory: usize,
    pub(super) element: Element,
}

#[derive(Debug)]
pub(super) enum Element {
    /// So many bytes that nobody wants to see.
    Skip(usize),
    Scalar,
    Struct(Plan),
}

#[derive(Debug)]
pub(super) struct Tagged {
    pub(super) tag: u32,
    /// How the field is read; `None` when the version lacks it.
    pub(super) step: Option<Step>,
}

/// Says which fields a visitor wants to see.
pub(super) type Wanted<'a> = dyn Fn(&StructSpec, &Field) -> bool + 'a;

/// The plans of all versions of a message for visitors that want to see everything, each made when it is first needed.
#[derive(Default)]
pub(crate) struct Plans(OnceLock<Box<[OnceLock<Plan>]>>);

impl Plans {
    /// The plan of a version that the message has.
    pub(super) fn get(&self, message: &MessageSpec, version: i16) -> &Plan {
        let (min, max) = (i32::from(message.versions.min()), i32::from(message.versions.max()));
        let plans = self.0.get_or_init(|| (min..=max).map(|_| OnceLock::new()).collect());
        // A version that the message lacks gets the plan of the first: versions are checked before, so no caller gets here.
        let index = usize::try_from(i32::from(version) - min).unwrap_or(0).min(plans.len().saturating_sub(1));
        plans[index].get_or_init(|| Plan::new(message, version, &|_, _| true))
    }
}

/// Plans follow from the rest of the message: a copy makes its own.
impl Clone for Plans {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Plans {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Plans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Plans")
    }
}

impl Plan {
    pub(super) fn new(message: &MessageSpec, version: i16, wanted: &Wanted<'_>) -> Self {
        Planner { message, version, flexible: message.is_flexible(version), wanted }.structure(StructId::ROOT)
    }

    /// Whether there is anything that the visitor wants to see.
    pub(super) fn is_wanted(&self) -> bool {
        let mut tagged = self.tags.iter().flatten().filter_map(|tagged| tagged.step.as_ref());
        self.steps.iter().any(Step::is_wanted) || tagged.any(Step::is_wanted)
    }

    /// Drops all that comes after the last thing that is wanted.
    pub(super) fn truncate(&mut self) {
        if self.tags.iter().flatten().any(|tagged| tagged.step.as_ref().is_some_and(Step::is_wanted)) {
            return;
        }
        self.tags = None;
        self.steps.truncate(self.steps.iter().rposition(Step::is_wanted).map_or(0, |last| last + 1));
    }

    /// The bytes that the struct takes, when nobody wants to see any of them and they are always as many.
    fn fixed_size(&self) -> Option<usize> {
        match (&self.steps[..], &self.tags, self.refused) {
            ([Step { kind: Kind::Skip(size), .. }], None, None) => Some(*size),
            _ => None,
        }
    }
}

impl Step {
    fn is_wanted(&self) -> bool {
        match &self.kind {
            Kind::Skip(_) => false,
            Kind::Scalar(_) => self.wanted,
            Kind::Struct(_, plan) => plan.is_wanted(),
            Kind::Array(array) => match &array.element {
                Element::Skip(_) => false,
                Element::Scalar => self.wanted,
                Element::Struct(plan) => plan.is_wanted(),
            },
        }
    }
}

struct Planner<'a> {
    message: &'a MessageSpec,
    version: i16,
    flexible: bool,
    wanted: &'a Wanted<'a>,
}

impl Planner<'_> {
    fn structure(&self, id: StructId) -> Plan {
        let structure = self.message.structure(id);
        let mut steps: Vec<Step> = Vec::new();
        let fields = structure.fields.iter().enumerate();
        for (index, field) in fields.clone().filter(|(_, field)| field.tag.is_none() && self.has(field)) {
            let step = self.step(structure, index, field);
            match (steps.last_mut().map(|step| &mut step.kind), &step.kind) {
                (Some(Kind::Skip(before)), Kind::Skip(size)) => *before += size,
                _ => steps.push(step),
            }
        }
        let tagged = fields.filter_map(|(index, field)| {
            let step = self.has(field).then(|| self.step(structure, index, field));
            Some(Tagged { tag: field.tag?, step })
        });
        Plan {
            id,
            refused: Some(structure.versions).filter(|versions| !versions.contains(self.version)),
            steps,
            tags: self.flexible.then(|| tagged.collect()),
        }
    }

    fn has(&self, field: &Field) -> bool {
        field.versions.contains(self.version)
    }

    fn step(&self, structure: &StructSpec, index: usize, field: &Field) -> Step {
        let nullable = field.nullable.contains(self.version);
        let flexible = field.flexible.map_or(self.flexible, |versions| versions.contains(self.version));
        let wanted = (self.wanted)(structure, field);
        let kind = match &field.ty {
            Type::Struct(id) => {
                let plan = self.structure(*id);
                let marker = match (nullable, field.tag) {
                    (false, _) => Marker::None,
                    (true, None) => Marker::Untagged,
                    (true, Some(_)) => Marker::Tagged,
                };
                match plan.fixed_size().filter(|_| marker == Marker::None) {
                    Some(size) => Kind::Skip(size),
                    None => Kind::Struct(marker, plan),
                }
            }
            Type::Array(ty) => {
                let element = match &**ty {
                    Type::Struct(id) => {
                        let plan = self.structure(*id);
                        plan.fixed_size().map_or(Element::Struct(plan), Element::Skip)
                    }
                    ty => size(ty).filter(|_| !wanted).map_or(Element::Scalar, Element::Skip),
                };
                let memory = super::decode::memory(self.message, self.version, ty);
                Kind::Array(Box::new(Array { ty: (**ty).clone(), memory, element }))
            }
            ty => match size(ty).filter(|_| !wanted) {
                Some(size) => Kind::Skip(size),
                None => Kind::Scalar(ty.clone()),
            },
        };
        Step { index, nullable, flexible, wanted, kind }
    }
}

/// The bytes of a value of a type whose values all have the same size.
fn size(ty: &Type) -> Option<usize> {
    Some(match ty {
        Type::Bool | Type::Int8 => 1,
        Type::Int16 | Type::Uint16 => 2,
        Type::Int32 | Type::Uint32 => 4,
        Type::Int64 | Type::Float64 => 8,
        Type::Uuid => 16,
        Type::String | Type::Bytes | Type::Records | Type::Struct(_) | Type::Array(_) => return None,
    })
}
