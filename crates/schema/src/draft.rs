use milena_wire::VersionRange;

use crate::check;
use crate::line::Line;
use crate::model::{Entity, Field, FieldDefault, MessageKind, MessageSpec, PRIMITIVES, StructId, StructSpec, Type};
use crate::parser::{Result, SpecError, parse, range, since, type_name};

/// A message being read, whose struct types are still names.
pub(crate) struct Draft {
    pub(crate) message: MessageSpec,
    uses: Vec<Use>,
    open: Vec<Level>,
}

/// A field that is a struct, or an array of them.
struct Use {
    owner: usize,
    field: usize,
    struct_name: String,
    array: bool,
    column: usize,
}

/// Where a field of that depth goes.
struct Level {
    depth: usize,
    target: Target,
}

enum Target {
    Struct(usize),
    /// The struct of the field above; it comes to be when a field stands below.
    Below(String),
}

impl Draft {
    pub(crate) fn new(
        line: &Line<'_>,
        kind: MessageKind,
        name: String,
        key: Option<i16>,
        family: &str,
        doc: String,
    ) -> Self {
        let message = MessageSpec {
            name: name.clone(),
            kind,
            key,
            family: family.to_owned(),
            versions: VersionRange::NONE,
            flexible: VersionRange::NONE,
            added: Vec::new(),
            dropped: Vec::new(),
            doc: doc.clone(),
            structs: vec![StructSpec { name, versions: VersionRange::NONE, shared: None, doc, fields: Vec::new() }],
            file: line.file.to_owned(),
            line: line.number,
            plans: Default::default(),
        };
        Self { message, uses: Vec::new(), open: vec![Level { depth: 1, target: Target::Struct(0) }] }
    }

    /// A line without indentation below the head of a message that is of no API.
    pub(crate) fn directive(&mut self, directive: &str, line: &mut Line<'_>) -> Result<()> {
        let message = &mut self.message;
        match directive {
            "versions" => message.versions = range(line)?,
            "flexible" => message.flexible = range(line)?,
            "added" => message.added = since(line)?,
            "dropped" => message.dropped = since(line)?,
            other => {
                return Err(line.error(format!("`{other}`, expected versions, flexible, added, dropped or a message")));
            }
        }
        Ok(())
    }

    /// An indented line: a field, or the head of a shared struct.
    pub(crate) fn line(&mut self, line: &mut Line<'_>, doc: String) -> Result<()> {
        while self.open.last().is_some_and(|level| level.depth > line.depth) {
            self.open.pop();
        }
        let Some(level) = self.open.last().filter(|level| level.depth == line.depth) else {
            return Err(line.error("indented too far, expected at most one level below a field of struct type"));
        };
        let owner = match &level.target {
            Target::Struct(index) => *index,
            Target::Below(name) => {
                let name = name.clone();
                self.open.pop();
                let index = self.structure(line, &name, None, String::new())?;
                self.open.push(Level { depth: line.depth, target: Target::Struct(index) });
                index
            }
        };
        if line.peek() == Some("struct") {
            line.word("")?;
            if owner != 0 {
                return Err(line.error("a shared struct, expected it at the level of the message's own fields"));
            }
            let name = line.parse("the struct's name, beginning with a capital", type_name)?;
            let versions = range(line)?;
            let index = self.structure(line, name, Some(versions), doc)?;
            self.open.push(Level { depth: line.depth + 1, target: Target::Struct(index) });
            return line.finish("the end of the line");
        }
        self.field(line, owner, doc)
    }

    fn structure(&mut self, line: &Line<'_>, name: &str, shared: Option<VersionRange>, doc: String) -> Result<usize> {
        if self.message.structs.iter().any(|other| other.name == name) {
            return Err(line.error(format!("struct {name} is defined twice in this message")));
        }
        let structure =
            StructSpec { name: name.to_owned(), versions: VersionRange::NONE, shared, doc, fields: Vec::new() };
        self.message.structs.push(structure);
        Ok(self.message.structs.len() - 1)
    }

    fn field(&mut self, line: &mut Line<'_>, owner: usize, doc: String) -> Result<()> {
        let name =
            line.parse("a field's name", |word| word.bytes().all(|b| b.is_ascii_alphanumeric()).then_some(word))?;
        let fields = &self.message.structs[owner].fields;
        if fields.iter().any(|other| other.name == name) {
            return Err(line.error(format!("field {name} stands here twice")));
        }
        let index = fields.len();
        let head = line.error("");
        let word = line.word("a type")?;
        let type_at = line.error("");
        let (type_word, nullable) = match word.split_once('?') {
            Some((ty, nullable)) => (ty, Some(nullable)),
            None => (word, None),
        };
        let (array, element) = match type_word.strip_prefix("[]") {
            Some(element) => (true, element),
            None => (false, type_word),
        };
        let primitive = PRIMITIVES.iter().find(|(keyword, _)| *keyword == element).map(|(_, ty)| ty.clone());
        let ty = match primitive {
            Some(ty) => ty,
            None if type_name(element).is_some() => {
                let struct_name = element.to_owned();
                self.open.push(Level { depth: line.depth + 1, target: Target::Below(struct_name.clone()) });
                self.uses.push(Use { owner, field: index, struct_name, array, column: type_at.column });
                Type::Struct(StructId::ROOT)
            }
            None => {
                let names: Vec<_> = PRIMITIVES.iter().map(|(name, _)| *name).collect();
                return Err(line.error(format!(
                    "`{word}`, expected a type: {}, a struct's name, or [] and one of these",
                    names.join(", ")
                )));
            }
        };
        let versions = range(line)?;
        let nullable = match nullable {
            None => VersionRange::NONE,
            Some("") => versions,
            Some(text) => match text.parse() {
                Ok(nullable) => nullable,
                Err(_) => {
                    let message = format!("`?{text}`, expected ? alone or with versions as N, N-M or N+");
                    return Err(SpecError { message, ..type_at });
                }
            },
        };
        let mut field = Field {
            name: name.to_owned(),
            json_name: json_name(name),
            ty: if array { Type::Array(Box::new(ty)) } else { ty },
            versions,
            nullable,
            tag: None,
            default: FieldDefault::Empty,
            ignorable: false,
            map_key: false,
            entity: None,
            flexible: None,
            zero_copy: false,
            doc,
            line: line.number,
        };
        attributes(&mut field, line)?;
        check::field(&field, self.message.versions, self.message.flexible)
            .map_err(|message| SpecError { message, ..head })?;
        self.message.structs[owner].fields.push(field);
        Ok(())
    }

    /// Finds the struct that each field names, and the versions in which each can occur.
    pub(crate) fn finish(mut self) -> Result<MessageSpec> {
        let message = &mut self.message;
        for used in &self.uses {
            let position = message.structs.iter().position(|other| other.name == used.struct_name);
            let field = &mut message.structs[used.owner].fields[used.field];
            let Some(index) = position.filter(|index| *index != 0) else {
                let text = format!("no struct {} in this message", used.struct_name);
                return Err(SpecError::new(&message.file, field.line, used.column, text));
            };
            let ty = Type::Struct(StructId(index));
            field.ty = if used.array { Type::Array(Box::new(ty)) } else { ty };
        }
        message.structs[0].versions = message.versions;
        // A struct may be used before the one that uses it is reached, so go on until nothing changes.
        loop {
            let mut changed = false;
            for owner in 0..message.structs.len() {
                for field in 0..message.structs[owner].fields.len() {
                    let Some(id) = message.structs[owner].fields[field].ty.struct_id() else { continue };
                    let within =
                        message.structs[owner].versions.intersect(message.structs[owner].fields[field].versions);
                    let used = &mut message.structs[id.0];
                    let reach = within.intersect(used.shared.unwrap_or(VersionRange::ALL));
                    let hull = hull(used.versions, reach);
                    changed |= hull != used.versions;
                    used.versions = hull;
                }
            }
            if !changed {
                break;
            }
        }
        check::message(message)?;
        Ok(self.message)
    }
}

fn hull(a: VersionRange, b: VersionRange) -> VersionRange {
    match (a.is_empty(), b.is_empty()) {
        (true, _) => b,
        (_, true) => a,
        _ => VersionRange::new(a.min().min(b.min()), a.max().max(b.max())),
    }
}

fn json_name(name: &str) -> String {
    let mut chars = name.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => String::new(),
    }
}

fn attributes(field: &mut Field, line: &mut Line<'_>) -> Result<()> {
    while let Some(word) = line.peek() {
        line.word("an attribute")?;
        match word {
            "tag" => field.tag = Some(line.parse("the tag's number", parse)?),
            "default" => {
                field.default = line.parse("a number, true, false, null or \"\"", |word| match word {
                    "null" => Some(FieldDefault::Null),
                    "false" => Some(FieldDefault::Number(0)),
                    "true" => Some(FieldDefault::Number(1)),
                    "\"\"" => Some(FieldDefault::Empty),
                    number => number.parse().ok().map(FieldDefault::Number),
                })?;
            }
            "ignorable" => field.ignorable = true,
            "key" => field.map_key = true,
            "zero-copy" => field.zero_copy = true,
            "flexible" => field.flexible = Some(range(line)?),
            "entity" => {
                field.entity = Some(line.parse("an entity", |word| {
                    Entity::ALL.iter().find(|(name, _, _)| *name == word).map(|(_, entity, _)| *entity)
                })?);
            }
            other => {
                return Err(line.error(format!(
                    "`{other}`, expected tag, default, ignorable, key, entity, zero-copy or flexible"
                )));
            }
        }
    }
    Ok(())
}
