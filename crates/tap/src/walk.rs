//! A walk over the bytes of a message that stops at a few fields and steps over all others.
//!
//! The layout comes from the spec. Nothing is built, and bytes of records are stepped over by their length alone.

use std::ops::Range;

use milena_schema::{Field, MessageSpec, StructId, Type};
use milena_wire::varint;

/// What a walk stops at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A host, with its port directly behind.
    Endpoint,
    /// The name of a topic.
    Topic,
    /// The id of a topic.
    TopicId,
    /// An error code.
    Error,
    /// The number of a partition.
    Partition,
    /// Record batches.
    Records,
    /// The field of a request that says whether an answer is wanted.
    Unanswered,
}

/// Something that a walk stopped at.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    pub(crate) mark: Mark,
    /// The bytes of the field, with the length in front of a text, without the port behind a host.
    pub(crate) field: Range<usize>,
    /// The bytes of the value alone; none for null.
    pub(crate) value: Range<usize>,
    /// The bytes of the port behind a host.
    pub(crate) port: Range<usize>,
    /// Whether the length in front is a varint.
    pub(crate) flexible: bool,
    /// The tagged fields around it, outermost first.
    pub(crate) tags: &'a [TagSize],
}

/// Where the size of a tagged field stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TagSize {
    pub(crate) at: Range<usize>,
    pub(crate) size: u32,
}

/// The bytes are not what the layout says, from about this position on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lost(pub(crate) usize);

/// How to walk over one version of a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    steps: Vec<Step>,
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    Skip(usize),
    Text { flexible: bool, mark: Option<Mark> },
    Bytes { flexible: bool, mark: Option<Mark> },
    Fixed { size: usize, mark: Mark },
    Endpoint { flexible: bool, port: usize },
    Array { flexible: bool, element: Vec<Step> },
    Nullable(Vec<Step>),
    TaggedNullable(Vec<Step>),
    Tags(Vec<(u32, Vec<Step>)>),
}

impl Plan {
    /// The plan for a version, with the fields that `mark` names.
    pub(crate) fn new(
        message: &MessageSpec,
        version: i16,
        mark: &dyn Fn(&MessageSpec, StructId, &Field) -> Option<Mark>,
    ) -> Self {
        let planner = Planner { message, version, flexible: message.is_flexible(version), mark };
        let mut steps = planner.structure(StructId::ROOT);
        // Nobody walks on behind the last place to stop at.
        steps.truncate(steps.iter().rposition(Step::stops).map_or(0, |last| last + 1));
        Self { steps }
    }

    /// Whether there is anything to stop at.
    pub(crate) fn stops(&self) -> bool {
        !self.steps.is_empty()
    }

    /// Walks over `bytes` from `base` on, and tells of all it stops at in their order.
    ///
    /// # Errors
    /// The bytes are not what the protocol says; what was told up to there may be told wrong.
    pub(crate) fn walk(&self, bytes: &[u8], base: usize, visit: &mut dyn FnMut(&Found<'_>)) -> Result<(), Lost> {
        let bytes = bytes.get(base..).ok_or(Lost(base))?;
        Walker { bytes, at: 0, base, tags: Vec::new(), visit }.steps(&self.steps)
    }
}

impl Step {
    fn stops(&self) -> bool {
        match self {
            Self::Skip(_) => false,
            Self::Text { mark, .. } | Self::Bytes { mark, .. } => mark.is_some(),
            Self::Fixed { .. } | Self::Endpoint { .. } => true,
            Self::Array { element, .. } => element.iter().any(Self::stops),
            Self::Nullable(steps) | Self::TaggedNullable(steps) => steps.iter().any(Self::stops),
            Self::Tags(tags) => tags.iter().any(|(_, steps)| steps.iter().any(Self::stops)),
        }
    }
}

struct Planner<'a> {
    message: &'a MessageSpec,
    version: i16,
    flexible: bool,
    mark: &'a dyn Fn(&MessageSpec, StructId, &Field) -> Option<Mark>,
}

impl Planner<'_> {
    fn structure(&self, id: StructId) -> Vec<Step> {
        let fields: Vec<&Field> =
            self.message.structure(id).fields.iter().filter(|field| field.versions.contains(self.version)).collect();
        let mut steps = Vec::new();
        let mut untagged = fields.iter().filter(|field| field.tag.is_none()).peekable();
        while let Some(field) = untagged.next() {
            let mark = (self.mark)(self.message, id, field);
            if mark == Some(Mark::Endpoint) {
                if let Some(port) = untagged.peek().and_then(|port| port_size(port)) {
                    untagged.next();
                    steps.push(Step::Endpoint { flexible: self.flexible, port });
                    continue;
                }
            }
            self.field(field, mark, &mut steps);
        }
        if self.flexible {
            let tags = fields.iter().filter_map(|field| {
                let tag = field.tag?;
                let mut steps = Vec::new();
                self.field(field, (self.mark)(self.message, id, field), &mut steps);
                // A tagged field without anything to stop at is stepped over by its size.
                steps.iter().any(Step::stops).then_some((tag, steps))
            });
            steps.push(Step::Tags(tags.collect()));
        }
        steps
    }

    fn field(&self, field: &Field, mark: Option<Mark>, steps: &mut Vec<Step>) {
        let flexible = field.flexible.map_or(self.flexible, |versions| versions.contains(self.version));
        match &field.ty {
            Type::Struct(id) if field.nullable.contains(self.version) => {
                let inner = self.structure(*id);
                steps.push(if field.tag.is_some() { Step::TaggedNullable(inner) } else { Step::Nullable(inner) });
            }
            ty => self.element(ty, flexible, mark, steps),
        }
    }

    fn element(&self, ty: &Type, flexible: bool, mark: Option<Mark>, steps: &mut Vec<Step>) {
        let size = match ty {
            Type::Bool | Type::Int8 => 1,
            Type::Int16 | Type::Uint16 => 2,
            Type::Int32 | Type::Uint32 => 4,
            Type::Int64 | Type::Float64 => 8,
            Type::Uuid => 16,
            Type::String => return steps.push(Step::Text { flexible, mark }),
            Type::Bytes | Type::Records => return steps.push(Step::Bytes { flexible, mark }),
            Type::Struct(id) => return steps.extend(self.structure(*id)),
            Type::Array(element) => {
                let mut inner = Vec::new();
                self.element(element, flexible, mark, &mut inner);
                return steps.push(Step::Array { flexible, element: inner });
            }
        };
        match (mark, steps.last_mut()) {
            (Some(mark), _) => steps.push(Step::Fixed { size, mark }),
            (None, Some(Step::Skip(skipped))) => *skipped += size,
            (None, _) => steps.push(Step::Skip(size)),
        }
    }
}

/// The size of a field that is the port to the host in front of it.
pub(crate) fn port_size(field: &Field) -> Option<usize> {
    match field.ty {
        Type::Int32 if field.name == "Port" => Some(4),
        Type::Uint16 if field.name == "Port" => Some(2),
        _ => None,
    }
}

struct Walker<'a> {
    bytes: &'a [u8],
    at: usize,
    base: usize,
    tags: Vec<TagSize>,
    visit: &'a mut dyn FnMut(&Found<'_>),
}

impl Walker<'_> {
    fn steps(&mut self, steps: &[Step]) -> Result<(), Lost> {
        steps.iter().try_for_each(|step| self.step(step))
    }

    fn step(&mut self, step: &Step) -> Result<(), Lost> {
        let start = self.at;
        match step {
            Step::Skip(size) => self.skip(*size),
            Step::Fixed { size, mark } => {
                self.skip(*size)?;
                self.found(*mark, start, *size, true, 0);
                Ok(())
            }
            Step::Text { flexible, mark } => {
                let size = self.text_length(*flexible)?;
                self.stretch(start, size, *flexible, *mark)
            }
            Step::Bytes { flexible, mark } => {
                let size = self.length(*flexible)?;
                self.stretch(start, size, *flexible, *mark)
            }
            Step::Endpoint { flexible, port } => {
                let size = self.text_length(*flexible)?;
                self.skip(size + port)?;
                self.found(Mark::Endpoint, start, size, *flexible, *port);
                Ok(())
            }
            Step::Array { flexible, element } => {
                let count = self.length(*flexible)?;
                // No element is without bytes, so that a count has to have them.
                if count > self.bytes.len() - self.at {
                    return Err(Lost(self.base + start));
                }
                match element.as_slice() {
                    [Step::Skip(size)] => self.skip(count.saturating_mul(*size)),
                    steps => (0..count).try_for_each(|_| self.steps(steps)),
                }
            }
            Step::Nullable(steps) => {
                let present = self.take::<1>()?[0] as i8 >= 0;
                if present { self.steps(steps) } else { Ok(()) }
            }
            Step::TaggedNullable(steps) => {
                let present = self.uvarint()? as i32 > 0;
                if present { self.steps(steps) } else { Ok(()) }
            }
            Step::Tags(known) => self.tagged(known),
        }
    }

    fn tagged(&mut self, known: &[(u32, Vec<Step>)]) -> Result<(), Lost> {
        for _ in 0..self.uvarint()? {
            let tag = self.uvarint()?;
            let start = self.at;
            let size = self.uvarint()?;
            let value = self.at;
            match known.iter().find(|(other, _)| *other == tag) {
                None => self.skip(size as usize)?,
                Some((_, steps)) => {
                    self.tags.push(TagSize { at: self.base + start..self.base + value, size });
                    self.steps(steps)?;
                    self.tags.pop();
                    if self.at - value != size as usize {
                        return Err(Lost(self.base + start));
                    }
                }
            }
        }
        Ok(())
    }

    fn stretch(&mut self, start: usize, size: usize, flexible: bool, mark: Option<Mark>) -> Result<(), Lost> {
        self.skip(size)?;
        if let Some(mark) = mark {
            self.found(mark, start, size, flexible, 0);
        }
        Ok(())
    }

    /// Tells of a field that ends here, with a value of `size` bytes and a port behind it of `port` bytes.
    fn found(&mut self, mark: Mark, start: usize, size: usize, flexible: bool, port: usize) {
        let end = self.base + self.at - port;
        (self.visit)(&Found {
            mark,
            field: self.base + start..end,
            value: end - size..end,
            port: end..end + port,
            flexible,
            tags: &self.tags,
        });
    }

    fn skip(&mut self, size: usize) -> Result<(), Lost> {
        if size > self.bytes.len() - self.at {
            return Err(Lost(self.base + self.at));
        }
        self.at += size;
        Ok(())
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Lost> {
        let taken = self.bytes[self.at..].first_chunk().copied().ok_or(Lost(self.base + self.at))?;
        self.at += N;
        Ok(taken)
    }

    fn uvarint(&mut self) -> Result<u32, Lost> {
        let (value, size) = varint::read_u32(&self.bytes[self.at..]).ok_or(Lost(self.base + self.at))?;
        self.at += size;
        Ok(value)
    }

    /// The length of a text; 0 for null.
    fn text_length(&mut self, flexible: bool) -> Result<usize, Lost> {
        if flexible {
            return self.length(true);
        }
        Ok(usize::try_from(i16::from_be_bytes(self.take()?)).unwrap_or(0))
    }

    /// The length of bytes or of an array; 0 for null. As in Kafka, a negative one is null too.
    fn length(&mut self, flexible: bool) -> Result<usize, Lost> {
        let length = if flexible { (self.uvarint()? as i32).wrapping_sub(1) } else { i32::from_be_bytes(self.take()?) };
        Ok(usize::try_from(length).unwrap_or(0))
    }
}
