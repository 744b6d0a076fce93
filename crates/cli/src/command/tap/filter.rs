use std::str::FromStr;

use milena_inspect::conversation::{Exchange, Facts};
use milena_messages::{ApiKey, ErrorCode};

/// Which exchanges are shown: one of several values has to fit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Filter {
    Api(Vec<ApiKey>),
    Client(Vec<String>),
    Topic(Vec<String>),
    /// Any error when there is no code.
    Error(Vec<ErrorCode>),
}

impl Filter {
    pub(crate) fn lets(&self, exchange: &Exchange, facts: &Facts) -> bool {
        match self {
            Self::Api(apis) => exchange.head().is_some_and(|head| apis.contains(&head.api_key)),
            Self::Client(all) => {
                let id = exchange.head().and_then(|head| head.client_id.as_ref());
                id.is_some_and(|id| all.iter().any(|one| fits(one, id)))
            }
            Self::Topic(all) => facts.topics.iter().any(|topic| all.iter().any(|one| fits(one, topic))),
            Self::Error(codes) => match codes.as_slice() {
                [] => !facts.errors.is_empty(),
                codes => facts.errors.iter().any(|code| codes.contains(code)),
            },
        }
    }
}

fn fits(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => text.starts_with(start),
        None => text == pattern,
    }
}

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (what, values) = text.split_once('=').unwrap_or((text, ""));
        let values: Vec<&str> = values.split(',').filter(|value| !value.is_empty()).collect();
        let texts = || values.iter().map(|value| (*value).to_owned()).collect();
        let filter = match what {
            "api" => Self::Api(values.iter().map(|name| name.parse()).collect::<Result<_, _>>().map_err(said)?),
            "client" => Self::Client(texts()),
            "topic" => Self::Topic(texts()),
            "error" => Self::Error(values.iter().map(|name| name.parse()).collect::<Result<_, _>>().map_err(said)?),
            _ => return Err(format!("`{what}` is nothing to filter by; there are api=, client=, topic= and error")),
        };
        match (&filter, values.is_empty()) {
            (Self::Error(_), _) | (_, false) => Ok(filter),
            (_, true) => Err(format!("{what}= wants a value")),
        }
    }
}

fn said(error: impl ToString) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_read() {
        assert_eq!("api=fetch,1".parse(), Ok(Filter::Api(vec![ApiKey::FETCH, ApiKey::FETCH])));
        assert_eq!("error".parse(), Ok(Filter::Error(vec![])));
        assert_eq!("error=6".parse(), Ok(Filter::Error(vec![ErrorCode(6)])));
        for wrong in ["", "api", "api=", "api=fletch", "topic=", "error=NO_SUCH", "size=3"] {
            assert!(wrong.parse::<Filter>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_star_is_for_any_rest() {
        assert!(fits("let*", "letters") && fits("*", "") && fits("letters", "letters"));
        assert!(!fits("let", "letters") && !fits("letters*", "let"));
    }
}
