//! The subject of a certificate as text, as Kafka names principals of TLS: in the form of RFC 2253 that Java writes.

use crate::security::der::{OID, SEQUENCE, SET, any, read};

/// The first field of a certificate when it has a version.
const VERSION: u8 = 0xa0;
/// Kinds of text: UTF8String, PrintableString, T61String, IA5String, GeneralString, BMPString. Java reads all of them as
/// UTF-8.
const TEXT: [u8; 6] = [0x0c, 0x13, 0x14, 0x16, 0x1b, 0x1e];

/// The names of attributes that RFC 2253 has, with the bytes of their OIDs.
const ATTRIBUTES: [(&[u8], &str); 9] = [
    (&[0x55, 4, 3], "CN"),
    (&[0x55, 4, 6], "C"),
    (&[0x55, 4, 7], "L"),
    (&[0x55, 4, 8], "ST"),
    (&[0x55, 4, 9], "STREET"),
    (&[0x55, 4, 10], "O"),
    (&[0x55, 4, 11], "OU"),
    (&[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25], "DC"),
    (&[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 1], "UID"),
];

/// The subject of a certificate in DER, such as `CN=alice,OU=Letters,C=CZ`; `None` when the bytes are no certificate.
pub(crate) fn subject(certificate: &[u8]) -> Option<String> {
    let (certificate, _) = read(certificate, SEQUENCE)?;
    let (mut fields, _) = read(certificate, SEQUENCE)?;
    if let Some((_, rest)) = read(fields, VERSION) {
        fields = rest;
    }
    // Serial number, algorithm, issuer, validity.
    for _ in 0..4 {
        fields = any(fields)?.2;
    }
    name(fields)
}

fn name(bytes: &[u8]) -> Option<String> {
    let (mut sets, _) = read(bytes, SEQUENCE)?;
    let mut parts = Vec::new();
    while !sets.is_empty() {
        let (mut pairs, rest) = read(sets, SET)?;
        sets = rest;
        let mut values = Vec::new();
        while !pairs.is_empty() {
            let (pair, rest) = read(pairs, SEQUENCE)?;
            pairs = rest;
            let (attribute, value) = read(pair, OID)?;
            values.push(attribute_text(attribute, value)?);
        }
        parts.push(values.join("+"));
    }
    // The last one in the certificate is the first in the text.
    parts.reverse();
    Some(parts.join(","))
}

fn attribute_text(attribute: &[u8], value: &[u8]) -> Option<String> {
    let (tag, contents, _) = any(value)?;
    let hex = || value.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    Some(match ATTRIBUTES.iter().find(|(oid, _)| *oid == attribute) {
        None => format!("{}=#{}", dotted(attribute)?, hex()),
        Some((_, name)) if !TEXT.contains(&tag) => format!("{name}=#{}", hex()),
        Some((_, name)) => format!("{name}={}", escaped(&String::from_utf8_lossy(contents))),
    })
}

/// Escapes what has a meaning in the text, and space at both ends.
fn escaped(text: &str) -> String {
    let is_space = |c: char| c == ' ' || c == '\r';
    let first = text.find(|c| !is_space(c)).unwrap_or(text.len());
    let last = text.trim_end_matches(is_space).len();
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match c {
            '\0' => {
                out.push_str("\\00");
                continue;
            }
            ',' | '=' | '+' | '<' | '>' | '#' | ';' | '"' | '\\' => out.push('\\'),
            _ if at < first || at >= last => out.push('\\'),
            _ => {}
        }
        out.push(c);
    }
    out
}

/// An OID as numbers with dots.
fn dotted(oid: &[u8]) -> Option<String> {
    let mut numbers: Vec<u64> = Vec::new();
    let mut number: u64 = 0;
    for byte in oid {
        number = number.checked_mul(128)? | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            numbers.push(number);
            number = 0;
        }
    }
    let (first, rest) = numbers.split_first()?;
    let top = (first / 40).min(2);
    let mut text = format!("{top}.{}", first - 40 * top);
    rest.iter().for_each(|number| text.push_str(&format!(".{number}")));
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of names, and what `X500Principal.getName` of Java 17 makes of them.
    #[test]
    fn names_are_written_as_java_writes_them() {
        for (hex, text) in [
            ("3010310e300c06035504031305616c696365", "CN=alice"),
            (
                "3057310b300906035504061302435a310c300a06035504081303613d62310e300c06035504071305747261696c310d300b0603\
                 55040a13046c656164310d300b060355040b0c0423782379310c300a06035504031303612c62",
                r"CN=a\,b,OU=\#x\#y,O=lead,L=trail,ST=a\=b,C=CZ",
            ),
            (
                "302d31133011060355040a0c0a613c623e3b6322645c6531163008060355040b130171300a06035504031303612b62",
                r#"OU=q+CN=a\+b,O=a\<b\>\;c\"d\\e"#,
            ),
            (
                "3081a0310a3008060355042a130167310e300c060355040c13057469746c65310a300806035504051301353114301206092a86\
                 4886f70d01090116056140622e63310a3008060355040913017331123010060a0992268993f22c640101130275313113301106\
                 0a0992268993f22c6401191603636f6d31173015060a0992268993f22c64011916076578616d706c653112301006035504030c\
                 09c3a4c3b6c3bce282ac",
                "CN=äöü€,DC=example,DC=com,UID=u1,STREET=s,1.2.840.113549.1.9.1=#16056140622e63,2.5.4.5=#130135,\
                 2.5.4.12=#13057469746c65,2.5.4.42=#130167",
            ),
            ("300e310c300a06035504030c03610062", r"CN=a\00b"),
            ("30123110300e06035504030c0720206120622020", r"CN=\ \ a b\ \ "),
            ("300d310b300906035504030c022020", r"CN=\ \ "),
            ("300f310d300b06035504031e0400610062", r"CN=\00a\00b"),
            ("30133111300f06035504031c080000006100000062", "CN=#1c080000006100000062"),
            ("300d310b3009060355040312023132", "CN=#12023132"),
            ("300d310b300906035504031b026162", "CN=ab"),
            ("3020311e300806035504031301613008060355040a1301633008060355040b130162", "CN=a+O=c+OU=b"),
            ("300b3109300706035504031300", "CN="),
            ("3000", ""),
        ] {
            let hex: String = hex.split_whitespace().collect();
            let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
            let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
            assert_eq!(name(&bytes).as_deref(), Some(text));
        }
    }

    #[test]
    fn bytes_that_are_no_certificate_have_no_subject() {
        for bytes in [&b""[..], b"\x30", b"\x30\x84\xff\xff\xff\xff", b"\x30\x02\x30\x00", b"\x30\x80\x00\x00"] {
            assert_eq!(subject(bytes), None);
        }
    }
}
