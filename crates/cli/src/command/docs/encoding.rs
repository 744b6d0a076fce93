//! How values become bytes. The bytes are written by milena's own writer.

use bytes::Bytes;
use milena_wire::{Result, Uuid, Writer};
use serde_json::json;

use super::html::{esc, put};
use super::message::table;
use super::site::Site;
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
    let mut out = String::from(
        "<h1>Encodings</h1>\n<p class=\"lead\">A message is its fields, one behind the other. No name and no type is on the \
         wire: both sides have to know the layout of the version.</p>\n",
    );
    fixed(&mut out);
    varints(&mut out);
    lengths(&mut out);
    structs(&mut out);
    tagged(&mut out, site);
    versions(&mut out);
    site.page("Encodings", "encodings.html", &out)
}

fn open(out: &mut String, titles: &[&str]) {
    out.push_str("<table class=\"list encodings\">\n<thead><tr>");
    for title in titles {
        put!(out, "<th>{title}</th>");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
}

fn row(out: &mut String, id: Option<&str>, cells: &[&str]) {
    match id {
        Some(id) => put!(out, "<tr id=\"{id}\">"),
        None => out.push_str("<tr>"),
    }
    for (index, cell) in cells.iter().enumerate() {
        match index {
            0 => put!(out, "<th scope=\"row\">{}</th>", esc(cell)),
            _ => put!(out, "<td>{}</td>", esc(cell)),
        }
    }
    out.push_str("</tr>\n");
}

fn fixed(out: &mut String) {
    out.push_str(
        "<h2 id=\"fixed\">Fixed width</h2>\n<p>Numbers are big-endian, signed ones in two’s complement.</p>\n",
    );
    open(out, &["Type", "Bytes", "A value", "On the wire"]);
    let uuid = Uuid::from_bytes(*b"letters-topic-id");
    let rows: [(&str, &str, String, String); 9] = [
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
    for (name, width, value, bytes) in &rows {
        row(out, Some(name), &[name, width, value, bytes]);
    }
    out.push_str("</tbody>\n</table>\n");
}

fn varints(out: &mut String) {
    out.push_str(
        "<h2 id=\"varints\">Varints</h2>\n<p>An unsigned varint has 7 bits of the number in each byte, the lowest first; the \
         highest bit of a byte says that another follows. 32 bits take 1 to 5 bytes. Lengths, counts and tags of flexible \
         versions are written so.</p>\n<p>Varint and varlong are signed: zigzag first turns 0, −1, 1, −2 into 0, 1, 2, 3, then \
         the result is written as an unsigned varint. Only records inside of record batches use them.</p>\n",
    );
    open(out, &["Number", "Unsigned varint", "Varint"]);
    for number in [0, 1, -1, 63, 64, 127, 128, 300, 16_384, i32::MAX] {
        let unsigned = u32::try_from(number).map_or_else(|_| "–".to_owned(), |number| put_hex(|w| w.uvarint(number)));
        row(out, None, &[&number.to_string(), &unsigned, &put_hex(|w| w.varint(number))]);
    }
    out.push_str("</tbody>\n</table>\n");
}

fn lengths(out: &mut String) {
    out.push_str(
        "<h2 id=\"compact\">Lengths and counts</h2>\n<p>Strings, bytes and arrays say first how long they are. Flexible \
         versions (KIP-482) have compact lengths: an unsigned varint with the length <em>plus one</em>, so that 0 is left for \
         null. In the others the length of a string is an int16, that of bytes and arrays an int32, and null is −1.</p>\n",
    );
    open(out, &["Type", "Value", "Not flexible", "Flexible"]);
    let text =
        |text: Option<&'static str>| [false, true].map(|flexible| hex(|writer| writer.nullable_string(text, flexible)));
    let bytes = |bytes: Option<&'static [u8]>| {
        let bytes = bytes.map(Bytes::from_static);
        [false, true].map(|flexible| hex(|writer| writer.nullable_bytes(bytes.as_ref(), flexible)))
    };
    let array =
        |array: Option<&[i32]>| [false, true].map(|flexible| hex(|writer| writer.nullable_int32s(array, flexible)));
    let rows = [
        (Some("string"), "string", "“milena”", text(Some("milena"))),
        (None, "string", "empty", text(Some(""))),
        (None, "string?", "null", text(None)),
        (Some("bytes"), "bytes", "ca fe", bytes(Some(&[0xca, 0xfe]))),
        (None, "bytes?", "null", bytes(None)),
        (Some("array"), "[]int32", "1, 2", array(Some(&[1, 2]))),
        (None, "[]int32", "empty", array(Some(&[]))),
        (None, "[]int32?", "null", array(None)),
    ];
    for (id, ty, value, [classic, flexible]) in &rows {
        row(out, *id, &[ty, value, classic, flexible]);
    }
    out.push_str(
        "</tbody>\n</table>\n<p>Text is UTF-8 of at most 32767 bytes. <span id=\"records\">A field of type \
         <code>records</code></span> is encoded as bytes; inside are <a href=\"batches.html\">record batches</a> or, from clients before 0.11, messages. \
         One string is never compact: the client id in the <a href=\"headers.html\">request header</a>, so that a broker of \
         any age can read it.</p>\n",
    );
}

fn structs(out: &mut String) {
    out.push_str(
        "<h2 id=\"structs\">Structs</h2>\n<p>A struct is its fields, without a length or an end; in flexible versions a section \
         of tagged fields stands behind them. A struct that may be null has an int8 in front: −1 for null, 1 when it \
         follows. If it is a tagged field, that marker is an unsigned varint: 0 for null, 1 when it follows.</p>\n",
    );
    open(out, &["Struct of one int16 that is 5", "Not flexible", "Flexible"]);
    row(
        out,
        None,
        &[
            "not nullable",
            &put_hex(|w| w.i16(5)),
            &put_hex(|w| {
                w.i16(5);
                w.uvarint(0);
            }),
        ],
    );
    row(
        out,
        None,
        &[
            "nullable",
            &put_hex(|w| {
                w.i8(1);
                w.i16(5);
            }),
            &put_hex(|w| {
                w.i8(1);
                w.i16(5);
                w.uvarint(0);
            }),
        ],
    );
    row(out, None, &["nullable, and null", &put_hex(|w| w.i8(-1)), &put_hex(|w| w.i8(-1))]);
    out.push_str("</tbody>\n</table>\n");
}

fn tagged(out: &mut String, site: &Site<'_>) {
    out.push_str(
        "<h2 id=\"tagged\">Tagged fields</h2>\n<p>In flexible versions each struct ends with a section of tagged fields: an \
         unsigned varint with their count, then for each its tag and its size in bytes as unsigned varints, and its value. \
         Tags ascend. A tagged field is written only when it is not at its default, and who does not know a tag skips it by \
         its size; so fields can be added without a new version.</p>\n",
    );
    let json = json!({ "errorCode": 0, "apiKeys": [], "throttleTimeMs": 0, "finalizedFeaturesEpoch": 5 });
    let example = site.spec.message("ApiVersionsResponse").ok().map(|message| Example::body(message, 3, json));
    if let Some(Ok(example)) = example {
        out.push_str("<p>An ApiVersions response without any API and with one tagged field:</p>\n");
        table(out, &example);
    }
}

fn versions(out: &mut String) {
    out.push_str(
        "<h2 id=\"rules\">Fields that a version lacks</h2>\n<ul>\n\
         <li>On reading, such a field has its default: what the tables say, otherwise 0, false or empty. A field that can be \
         null is null by default only where that is said.</li>\n\
         <li>On writing, it has to hold its default. If it is <em>ignorable</em>, another value is dropped in silence; if not, \
         writing fails.</li>\n<li><em>key</em> marks the field by which Kafka indexes the array around it. Bytes do not change \
         by it.</li>\n<li>Words like <code>topicName</code> or <code>brokerId</code> behind a field say what its value refers \
         to.</li>\n</ul>\n",
    );
}
