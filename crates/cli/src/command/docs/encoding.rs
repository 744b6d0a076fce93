//! How values become bytes. The bytes are written by milena's own writer.

use bytes::Bytes;
use maud::{Markup, html};
use milena_wire::{Result, Uuid, Writer};
use serde_json::json;

use super::message::table;
use super::site::{NEWLINE, Site};
use crate::example::Example;

/// The bytes of a value in hex.
fn hex(write: impl FnOnce(&mut Writer) -> Result<()>) -> String {
    let mut writer = Writer::new();
    match write(&mut writer) {
        Ok(()) => {
            let bytes: Vec<String> = writer.into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            bytes.join(" ")
        }
        Err(_) => "cannot be written".to_owned(),
    }
}

/// Writes a value that always fits.
fn put_hex(write: impl FnOnce(&mut Writer)) -> String {
    hex(|writer| {
        write(writer);
        Ok(())
    })
}

pub(super) fn page(site: &Site<'_>) -> String {
    let body = html! {
        h1 { "Encodings" }
        p.lead {
            "A message is its fields, one after the other. Neither names nor types are on the wire: both sides have to know the "
            "layout of the version."
        } (NEWLINE)
        (fixed())
        (varints())
        (lengths())
        (structs())
        (tagged(site))
        (versions())
    };
    site.page("Encodings", "encodings.html", &body)
}

/// A row: its id if it has one, and its cells.
struct Row<'a>(Option<&'a str>, Vec<String>);

fn rows(titles: &[&str], rows: &[Row<'_>]) -> Markup {
    html! {
        table.list.encodings {
            thead { tr { @for title in titles { th { (title) } } } } (NEWLINE)
            tbody {
                @for Row(id, cells) in rows {
                    tr id=[id] {
                        @for (index, cell) in cells.iter().enumerate() {
                            @if index == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                        }
                    } (NEWLINE)
                }
            }
        } (NEWLINE)
    }
}

fn fixed() -> Markup {
    let uuid = Uuid::from_bytes(*b"letters-topic-id");
    let types: [(&str, &str, String, String); 9] = [
        ("bool", "1; any but 0 reads as true", "true".into(), put_hex(|w| w.bool(true))),
        ("int8", "1", "-1".into(), put_hex(|w| w.i8(-1))),
        ("int16", "2", "1000".into(), put_hex(|w| w.i16(1000))),
        ("int32", "4", "-2".into(), put_hex(|w| w.i32(-2))),
        ("int64", "8", "1767225600000".into(), put_hex(|w| w.i64(1_767_225_600_000))),
        ("uint16", "2", "65535".into(), put_hex(|w| w.u16(65535))),
        ("uint32", "4", "3000000000".into(), put_hex(|w| w.u32(3_000_000_000))),
        ("float64", "8, IEEE 754", "0.5".into(), put_hex(|w| w.f64(0.5))),
        ("uuid", "16; text is base64 for URLs", uuid.to_string(), put_hex(|w| w.uuid(uuid))),
    ];
    let list: Vec<Row<'_>> = types
        .into_iter()
        .map(|(name, width, value, bytes)| Row(Some(name), vec![name.to_owned(), width.to_owned(), value, bytes]))
        .collect();
    html! {
        h2 #fixed { "Fixed width" }
        p { "Numbers are big-endian, signed ones in two’s complement." } (NEWLINE)
        (rows(&["Type", "Bytes", "Example", "On the wire"], &list))
    }
}

fn varints() -> Markup {
    let row = |number: i32| {
        let unsigned = u32::try_from(number).map_or_else(|_| "–".to_owned(), |number| put_hex(|w| w.uvarint(number)));
        Row(None, vec![number.to_string(), unsigned, put_hex(|w| w.varint(number))])
    };
    let list: Vec<Row<'_>> = [0, 1, -1, 63, 64, 127, 128, 300, 16_384, i32::MAX].into_iter().map(row).collect();
    html! {
        h2 #varints { "Varints" }
        p {
            "Each byte of an unsigned varint has 7 bits of the number, the lowest first. The highest bit of a byte says that "
            "another byte follows. 32 bits take 1 to 5 bytes. Flexible versions write lengths, counts and tags this way."
        }
        p {
            "Varint and varlong are signed. Zigzag first maps 0, −1, 1, −2 to 0, 1, 2, 3, then the result is written as an "
            "unsigned varint. Only records inside record batches use them."
        } (NEWLINE)
        (rows(&["Number", "Unsigned varint", "Varint"], &list))
    }
}

fn lengths() -> Markup {
    let text =
        |text: Option<&'static str>| [false, true].map(|flexible| hex(|writer| writer.nullable_string(text, flexible)));
    let bytes = |bytes: Option<&'static [u8]>| {
        let bytes = bytes.map(Bytes::from_static);
        [false, true].map(|flexible| hex(|writer| writer.nullable_bytes(bytes.as_ref(), flexible)))
    };
    let array =
        |array: Option<&[i32]>| [false, true].map(|flexible| hex(|writer| writer.nullable_int32s(array, flexible)));
    let types = [
        (Some("string"), "string", "“milena”", text(Some("milena"))),
        (None, "string", "empty", text(Some(""))),
        (None, "string?", "null", text(None)),
        (Some("bytes"), "bytes", "ca fe", bytes(Some(&[0xca, 0xfe]))),
        (None, "bytes?", "null", bytes(None)),
        (Some("array"), "[]int32", "1, 2", array(Some(&[1, 2]))),
        (None, "[]int32", "empty", array(Some(&[]))),
        (None, "[]int32?", "null", array(None)),
    ];
    let list: Vec<Row<'_>> = types
        .into_iter()
        .map(|(id, ty, value, [classic, flexible])| Row(id, vec![ty.to_owned(), value.to_owned(), classic, flexible]))
        .collect();
    html! {
        h2 #compact { "Lengths and counts" }
        p {
            "Strings, bytes and arrays begin with their length. Flexible versions (KIP-482) have compact lengths: an unsigned "
            "varint with the length " em { "plus one" } ", so that 0 can mean null. In the other versions the length of a string "
            "is an int16, that of bytes and arrays an int32, and null is −1."
        } (NEWLINE)
        (rows(&["Type", "Value", "Not flexible", "Flexible"], &list))
        p {
            "Text is UTF-8 of at most 32767 bytes. " span #records { "A field of type " code { "records" } } " is encoded as "
            "bytes; inside are " a href="batches.html" { "record batches" } " or, from clients before 0.11, messages. One "
            "string is never compact: the client id in the " a href="headers.html" { "request header" } ", so that brokers of "
            "all ages can read it."
        } (NEWLINE)
    }
}

fn structs() -> Markup {
    let row = |name: &str, classic: fn(&mut Writer), flexible: fn(&mut Writer)| {
        Row(None, vec![name.to_owned(), put_hex(classic), put_hex(flexible)])
    };
    let list = [
        row(
            "not nullable",
            |w| w.i16(5),
            |w| {
                w.i16(5);
                w.uvarint(0);
            },
        ),
        row(
            "nullable",
            |w| {
                w.i8(1);
                w.i16(5);
            },
            |w| {
                w.i8(1);
                w.i16(5);
                w.uvarint(0);
            },
        ),
        row("nullable, and null", |w| w.i8(-1), |w| w.i8(-1)),
    ];
    html! {
        h2 #structs { "Structs" }
        p {
            "A struct is its fields, without a length or an end. In flexible versions a section of tagged fields follows them. A "
            "struct that may be null begins with an int8: −1 for null, 1 when it follows. If it is a tagged field, that marker is "
            "an unsigned varint: 0 for null, 1 when it follows."
        } (NEWLINE)
        (rows(&["Struct of one int16 that is 5", "Not flexible", "Flexible"], &list))
    }
}

fn tagged(site: &Site<'_>) -> Markup {
    let json = json!({ "errorCode": 0, "apiKeys": [], "throttleTimeMs": 0, "finalizedFeaturesEpoch": 5 });
    let example = site.spec.message("ApiVersionsResponse").ok().map(|message| Example::body(message, 3, json));
    html! {
        h2 #tagged { "Tagged fields" }
        p {
            "In flexible versions each struct ends with a section of tagged fields: an unsigned varint with their count, then for "
            "each its tag and its size in bytes as unsigned varints, and its value. Tags are in ascending order. A tagged field is "
            "written only when it differs from its default. A reader that does not know a tag skips it by its size, so fields can "
            "be added without a new version."
        } (NEWLINE)
        @if let Some(Ok(example)) = example {
            p { "An ApiVersions response without any API and with one tagged field:" } (NEWLINE)
            (table(&example))
        }
    }
}

fn versions() -> Markup {
    html! {
        h2 #rules { "Fields that a version lacks" }
        ul {
            li {
                "A reader gives such a field its default: what the tables say, otherwise 0, false or empty. A field that can be "
                "null is null by default only where the table says so."
            }
            li {
                "A writer fails when such a field does not have its default. Only if the field is " em { "ignorable" } ", its value is "
                "silently dropped."
            }
            li { em { "key" } " marks the field by which Kafka indexes the array around it. It does not change the bytes." }
            li {
                "Words like " code { "topicName" } " or " code { "brokerId" } " after a field say what its value refers to."
            }
        } (NEWLINE)
    }
}
