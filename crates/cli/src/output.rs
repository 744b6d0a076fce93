use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
pub(crate) use milena_inspect::short;
use serde_json::Value;

use crate::failure::Result;

/// Buffered stdout; the caller flushes it.
pub(crate) fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(64 * 1024, io::stdout().lock())
}

/// Prints one text.
pub(crate) fn print(text: &str) -> Result {
    let mut out = stdout();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Prints one JSON document.
pub(crate) fn print_json(json: &Value) -> Result {
    let mut out = stdout();
    serde_json::to_writer_pretty(&mut out, json)?;
    out.write_all(b"\n")?;
    out.flush()?;
    Ok(())
}

/// Bytes as hex without spaces.
pub(crate) fn push_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.reserve(2 * bytes.len());
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
}

/// Bytes as hex without spaces.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut out = Vec::new();
    push_hex(&mut out, bytes);
    String::from_utf8(out).unwrap_or_default()
}

/// Bytes as standard base64.
pub(crate) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// One line of the form that xxd prints, which `milena decode` reads.
pub(crate) fn dump_line(offset: usize, bytes: &[u8]) -> String {
    let groups: Vec<String> = bytes.chunks(2).map(hex).collect();
    let printable = |byte: &u8| if (0x20..0x7f).contains(byte) { char::from(*byte) } else { '.' };
    let text: String = bytes.iter().map(printable).collect();
    format!("{offset:08x}: {:39}  {text}", groups.join(" "))
}

/// A number of bytes, in words.
pub(crate) fn size(bytes: usize) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        _ => format!("{bytes} bytes"),
    }
}

/// Whether `--wide` was given: nothing is cut to fit a terminal.
static WIDE: AtomicBool = AtomicBool::new(false);

/// From now on nothing is cut to fit a terminal, if `wide` says so.
pub(crate) fn set_wide(wide: bool) {
    WIDE.store(wide, Ordering::Relaxed);
}

/// Characters of a line, where text is cut to fit: `None` when stdout is no terminal, or with `--wide`.
pub(crate) fn line_width() -> Option<usize> {
    let width = terminal_width();
    (width < usize::MAX && !WIDE.load(Ordering::Relaxed)).then_some(width)
}

/// Text as it fits into so many characters of a terminal; whole where nothing has to fit.
pub(crate) fn fit(text: &str, width: usize) -> String {
    short(text, if line_width().is_some() { width } else { usize::MAX })
}

/// Columns of the terminal at stdout; without bound if it is not a terminal.
pub(crate) fn terminal_width() -> usize {
    match io::stdout().is_terminal() {
        true => terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0).max(60)),
        false => usize::MAX,
    }
}

/// Colours, where there is a terminal that wants them.
#[derive(Clone, Copy)]
pub(crate) struct Paint(bool);

impl Paint {
    pub(crate) const CYAN: u8 = 36;
    pub(crate) const GREEN: u8 = 32;

    /// As stdout wants it.
    pub(crate) fn stdout() -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self(io::stdout().is_terminal() && !unwanted)
    }

    /// None at all.
    pub(crate) fn none() -> Self {
        Self(false)
    }

    pub(crate) fn color(self, color: u8, text: &str) -> String {
        self.code(&color.to_string(), text)
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.code("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.code("2", text)
    }

    fn code(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Shows the progress of long work on stderr, if that is a terminal.
pub(crate) struct Progress {
    /// When it was shown last; `None` if it is not to be shown.
    last: Option<Instant>,
    shown: bool,
}

impl Progress {
    /// The progress of work, which shows nothing else on the terminal if `alone`.
    pub(crate) fn new(alone: bool) -> Self {
        Self { last: (alone && io::stderr().is_terminal()).then(Instant::now), shown: false }
    }

    /// Shows how many are done, a few times a second.
    pub(crate) fn show(&mut self, done: u64, what: &str) {
        if let Some(last) = self.last.as_mut().filter(|last| last.elapsed() > Duration::from_millis(250)) {
            *last = Instant::now();
            self.shown = true;
            eprint!("\r{done} {what}");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            eprint!("\r\x1b[K");
        }
    }
}
