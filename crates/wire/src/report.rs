use std::error::Error;
use std::fmt;

/// Shows an error with all its causes in one line: `outer: inner: innermost`.
///
/// Our errors do not repeat their source in their own text, so that programs can print the chain in their own form. Use
/// this where one line has to say everything.
///
/// ```
/// use milena_wire::Report;
///
/// let error = std::io::Error::new(std::io::ErrorKind::Other, "disk full");
/// assert_eq!(Report(&error).to_string(), "disk full");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Report<'a>(pub &'a dyn Error);

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut next = self.0.source();
        while let Some(cause) = next {
            write!(f, ": {cause}")?;
            next = cause.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Layer(&'static str, Option<Box<Layer>>);

    impl fmt::Display for Layer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Layer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|cause| cause as _)
        }
    }

    #[test]
    fn every_cause_is_in_the_line_once() {
        let error = Layer("a", Some(Box::new(Layer("b", Some(Box::new(Layer("c", None)))))));
        assert_eq!(Report(&error).to_string(), "a: b: c");
    }
}
