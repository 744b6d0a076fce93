//! Text into HTML. All that comes from the spec goes through [`esc`].

use std::fmt;

/// Appends formatted text to a string, which does not fail.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => {{
        use std::fmt::Write as _;
        let _ = write!($out, $($arg)*);
    }};
}
pub(super) use put;

/// Text with the characters that mean something in HTML replaced; safe inside of elements and quoted attributes.
pub(super) struct Esc<'a>(&'a str);

pub(super) fn esc(text: &str) -> Esc<'_> {
    Esc(text)
}

impl fmt::Display for Esc<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                // HTML has no way to write these.
                c if c.is_control() && c != '\n' && c != '\t' => f.write_str("\u{fffd}")?,
                c => write!(f, "{c}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_text_stays_markup() {
        assert_eq!(esc("<b a=\"'\">&\u{1}").to_string(), "&lt;b a=&quot;&#39;&quot;&gt;&amp;\u{fffd}");
    }
}
