//! Bytes as people paste them: the outputs are those of the programs themselves.

use milena_inspect::text::{Form, is_text, parse};

fn auto(text: &str) -> Result<Vec<u8>, String> {
    parse(text, Form::Auto)
}

/// A frame of ApiVersions version 0 with the client id "rune".
const FRAME: &[u8] = b"\0\0\0\x0e\0\x12\0\0\0\0\0\x01\0\x04rune";

#[test]
fn hex_may_come_in_many_tastes() {
    for text in [
        "0000000e001200000000000100 0472756e65",
        "0000000E 0012 0000 00000001 0004 72756E65\n",
        "00:00:00:0e:00:12:00:00:00:00:00:01:00:04:72:75:6e:65",
        "0x0000000e 0x0012 0x0000 0x00000001 0x0004 0x72756e65",
        r"\x00\x00\x00\x0e\x00\x12\x00\x00\x00\x00\x00\x01\x00\x04\x72\x75\x6e\x65",
        "<Buffer 00 00 00 0e 00 12 00 00 00 00 00 01 00 04 72 75 6e 65>",
        "{0x0, 0x0, 0x0, 0xe, 0x0, 0x12, 0x0, 0x0, 0x0, 0x0, 0x0, 0x1, 0x0, 0x4, 0x72, 0x75, 0x6e, 0x65}",
        "'0000000e001200000000000100 0472756e65'",
    ] {
        assert_eq!(auto(text).as_deref(), Ok(FRAME), "{text}");
    }
}

#[test]
fn dumps_of_programs_are_read() {
    let xxd = "\
00000000: 0000 000e 0012 0000 0000 0001 0004 7275  ..............ru
00000010: 6e65                                     ne
";
    let hexdump_c = "\
00000000  00 00 00 0e 00 12 00 00  00 00 00 01 00 04 72 75  |..............ru|
00000010  6e 65                                             |ne|
00000012
";
    // Words of the machine, with their bytes swapped on all that people have.
    let hexdump = "\
0000000 0000 0e00 1200 0000 0000 0100 0400 7572
0000010 656e
0000012
";
    let od = "\
0000000 00 00 00 0e 00 12 00 00 00 00 00 01 00 04 72 75
0000020 6e 65
0000022
";
    let tcpdump = "\
12:00:00.000000 IP 10.0.0.7.52144 > 10.0.0.1.9092: Flags [P.], length 18
\t0x0000:  0000 000e 0012 0000 0000 0001 0004 7275  ..............ru
\t0x0010:  6e65                                     ne
";
    let wireshark = "\
0000   00 00 00 0e 00 12 00 00 00 00 00 01 00 04 72 75   ..............ru
0010   6e 65                                             ne
";
    let array = "\
/* Frame (18 bytes) */
static const unsigned char pkt1[18] = {
0x00, 0x00, 0x00, 0x0e, 0x00, 0x12, 0x00, 0x00, /* ........ */
0x00, 0x00, 0x00, 0x01, 0x00, 0x04, 0x72, 0x75, /* ......ru */
0x6e, 0x65 /* ne */
};
";
    let escaped = "\
\"\\x00\\x00\\x00\\x0e\\x00\\x12\\x00\\x00\\x00\\x00\\x00\\x01\\x00\\x04\\x72\\x75\" \\
\"\\x6e\\x65\"
";
    for dump in [xxd, hexdump_c, hexdump, od, tcpdump, wireshark, array, escaped] {
        assert_eq!(auto(dump).as_deref(), Ok(FRAME), "{dump}");
    }
}

#[test]
fn characters_that_look_like_hex_are_none_of_it() {
    let xxd = "00000000: 6162 6364 6566 6162 6364 6566 6162 6364  abcdefabcdefabcd\n00000010: 6566                                     ef\n";
    assert_eq!(auto(xxd).unwrap(), b"abcdefabcdefabcdef");
    let wireshark = "0000   61 62 63 64                                       abcd\n";
    assert_eq!(auto(wireshark).unwrap(), b"abcd");
}

#[test]
fn equal_lines_that_were_left_out_come_back() {
    let dump = "\
00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|
*
00000040  01                                                |.|
00000041
";
    let mut expected = vec![0; 64];
    expected.push(1);
    assert_eq!(auto(dump), Ok(expected));
    let bomb = "00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|\n*\nffffffffffff\n";
    assert!(auto(bomb).is_err());
}

#[test]
fn strings_have_the_escapes_of_their_languages() {
    for (text, expected) in [
        (r"b'\x00\x12abc'", &b"\0\x12abc"[..]),
        (r#"b"\x00it's""#, b"\0it's"),
        (r#""\0\022\377""#, b"\0\x12\xff"),
        (r#""a\n\r\t\\\"" "#, b"a\n\r\t\\\""),
        (r"\x00\x04rune", b"\0\x04rune"),
        (r"\0\004rune", b"\0\x04rune"),
        (r#""\u0000\u00ffx""#, b"\0\xffx"),
        (r#"char packet_bytes[] = "\x00\x12";"#, b"\0\x12"),
    ] {
        assert_eq!(auto(text).as_deref(), Ok(expected), "{text}");
    }
    assert_eq!(parse("plain", Form::Escaped).as_deref(), Ok(&b"plain"[..]));
    for (text, expected) in
        [(r"\xg0", "two hex digits"), (r"\q", "no escape"), ("a\\", "at the end"), (r"\777", "byte")]
    {
        let error = parse(text, Form::Escaped).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn arrays_of_decimals_are_distinguished_from_hex() {
    for (text, expected) in [
        ("[0, 18, -1, 97]", &[0, 18, 255, 97][..]),
        ("[0 18 255 97]", &[0, 18, 255, 97]),
        ("[]byte{0, 1, 255}", &[0, 1, 255]),
        ("<<0,18,255>>", &[0, 18, 255]),
        ("[10, 20]", &[10, 20]),
        ("[00, 12]", &[0, 0x12]),
        ("[0a, 12]", &[10, 0x12]),
    ] {
        assert_eq!(auto(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn base64_may_be_of_either_alphabet() {
    for text in ["//79+w==", "//79+w", "__79-w", "//79\n+w=="] {
        assert_eq!(auto(text).unwrap(), [0xff, 0xfe, 0xfd, 0xfb], "{text}");
    }
    // What can be both is hex, unless said otherwise.
    assert_eq!(auto("abcd").unwrap(), [0xab, 0xcd]);
    assert_eq!(parse("abcd", Form::Base64).unwrap(), [0x69, 0xb7, 0x1d]);
}

#[test]
fn what_is_no_bytes_says_so() {
    let error = auto("hello, world!").unwrap_err();
    assert!(error.starts_with("the input is neither hex nor base64: as hex, 'h' at character 0"), "{error}");
    assert!(is_text(b"00 12\n") && !is_text(b"\0\x12") && !is_text(b" \n") && !is_text(b"\xff"));
}

#[test]
fn offsets_of_od_are_octal() {
    let od = "0000000 61 61 61 61 61 61 61 61 61 61 61 61 61 61 61 61\n*\n0000040 62\n0000041\n";
    let plain = "0000000 61 61 61 61 61 61 61 61 61 61 61 61 61 61 61 61\n0000020 61\n0000021\n";
    assert_eq!(auto(plain).map(|bytes| bytes.len()), Ok(17));
    assert_eq!(auto(od).map(|bytes| bytes.len()), Ok(33), "two equal lines and a byte");
}
