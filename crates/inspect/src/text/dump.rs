//! Dumps with an offset in front of each line: xxd, hexdump, od, tcpdump -x, Wireshark.

use super::hex::{digit, from_hex};

/// Bytes that a run of equal lines may stand for.
const MAX_REPEAT: u64 = 64 << 20;

/// The bytes of a dump; lines that are none of it, such as tcpdump's line for each packet, do not matter. `None` when
/// there are no lines of a dump, or too few among others.
pub(super) fn lines(text: &str) -> Option<Result<Vec<u8>, String>> {
    let lines: Vec<Line> = text.lines().filter_map(line).collect();
    let with_bytes = lines.iter().filter(|line| matches!(line, Line::Bytes { .. })).count();
    // One line may be plain hex that begins with a word of its own; its offset decides.
    let starts_low = matches!(lines.first(), Some(Line::Bytes { offset: 0, .. }));
    if with_bytes == 0 || !starts_low {
        return None;
    }
    Some(join(&lines))
}

enum Line<'a> {
    /// Offset, the digits after it, whether words of four digits have their bytes swapped, and whether only od writes so.
    Bytes { offset: u64, digits: &'a str, swapped: bool, od: bool },
    /// The lines in between are like the one before.
    Star,
    /// An offset alone, as at the end.
    End(u64),
}

fn join(lines: &[Line]) -> Result<Vec<u8>, String> {
    let mut bytes: Vec<u8> = Vec::new();
    // Where the dump of this packet begins in `bytes`.
    let mut base = 0_usize;
    let mut last: Vec<u8> = Vec::new();
    let mut starred = false;
    let octal = is_octal(lines);
    for line in lines {
        let offset = match line {
            Line::Star => {
                starred = true;
                continue;
            }
            Line::Bytes { offset, .. } | Line::End(offset) if octal => from_octal(*offset),
            Line::Bytes { offset, .. } | Line::End(offset) => *offset,
        };
        if std::mem::take(&mut starred) && !last.is_empty() {
            let missing = offset.saturating_sub((bytes.len() - base) as u64);
            if missing > MAX_REPEAT {
                return Err(format!("equal lines up to {offset:#x} would make {missing} bytes"));
            }
            let missing = missing as usize;
            bytes.extend(last.iter().copied().cycle().take(missing));
        }
        if let Line::Bytes { digits, swapped, .. } = line {
            if offset == 0 {
                base = bytes.len();
            }
            last = words(digits, *swapped)?;
            bytes.extend_from_slice(&last);
        }
    }
    Ok(bytes)
}

/// Whether offsets are octal, as those of od are: after 16 bytes comes 20.
fn is_octal(lines: &[Line]) -> bool {
    match lines {
        [Line::Bytes { od: true, .. }, ..] => true,
        [Line::Bytes { digits, .. }, Line::Bytes { offset: second, .. } | Line::End(second), ..] => {
            *second == 0x20 && digits.bytes().filter(|byte| digit(*byte).is_some()).count() == 32
        }
        _ => false,
    }
}

/// An offset whose octal digits were read as hex.
fn from_octal(offset: u64) -> u64 {
    (0..16).rev().fold(0, |value, digit| value << 3 | (offset >> (4 * digit) & 7))
}

/// One line: `00000000: 0012 ff61  ...a`, `00000000  00 12 ff 61  |...a|`, `0x0000:  0012 ff61  ...a`,
/// `0000   00 12 ff 61   ...a`, `0000000 000 …` of od.
fn line(line: &str) -> Option<Line<'_>> {
    let line = line.trim();
    if line == "*" {
        return Some(Line::Star);
    }
    let end = line.find(|c: char| c.is_whitespace() || c == ':').unwrap_or(line.len());
    let (word, rest) = line.split_at(end);
    let digits = word.strip_prefix("0x").unwrap_or(word);
    let is_offset = (4..=16).contains(&digits.len()) && digits.bytes().all(|byte| digit(byte).is_some());
    let offset = is_offset.then(|| u64::from_str_radix(digits, 16).ok()).flatten()?;
    if rest.is_empty() {
        return Some(Line::End(offset));
    }
    let colon = rest.starts_with(':');
    let rest = rest.trim_start_matches(':');
    // xxd has one space after its colon, all others two or more; hexdump without -C and od have one and seven digits.
    let spaces = rest.len() - rest.trim_start().len();
    let seven = digits.len() == 7 && spaces == 1;
    if !colon && spaces < 2 && !seven {
        return None;
    }
    let rest = rest.trim_start();
    let rest = rest.split('|').next().unwrap_or_default();
    let run = hex_run(rest, line.contains('|'));
    if run.trim().is_empty() {
        return None;
    }
    let words_of_four = run.split_whitespace().all(|word| word.len() == 4);
    Some(Line::Bytes { offset, digits: run, swapped: seven && words_of_four, od: seven && !words_of_four })
}

/// The words of hex at the start, without the characters that stand after two or more spaces. `hexdump -C` has such a
/// gap in its middle as well, but bars around its characters.
fn hex_run(text: &str, barred: bool) -> &str {
    let mut end = 0;
    let mut at = 0;
    let mut bytes = 0;
    for word in text.split(' ') {
        let is_hex = !word.is_empty() && word.len() % 2 == 0 && word.bytes().all(|byte| digit(byte).is_some());
        if word.is_empty() {
            at += 1;
            continue;
        }
        let gap = at - end;
        // Wireshark and old hexdump have a wider gap after eight bytes.
        let middle = bytes == 8 && gap == 2;
        if !is_hex || (gap >= 2 && end > 0 && !barred && !middle) || bytes + word.len() / 2 > 32 {
            break;
        }
        bytes += word.len() / 2;
        at += word.len();
        end = at;
        at += 1;
    }
    text.get(..end).unwrap_or_default()
}

fn words(digits: &str, swapped: bool) -> Result<Vec<u8>, String> {
    let mut bytes = from_hex(&digits.split_whitespace().collect::<String>())?;
    if swapped {
        bytes.chunks_exact_mut(2).for_each(|word| word.swap(0, 1));
    }
    Ok(bytes)
}
