use std::str::FromStr;

use milena_connection::fault::{Pattern, split_unquoted};
use milena_inspect::conversation::{Exchange, Facts};
use milena_messages::{ApiKey, ErrorCode};

/// Which exchanges are shown: one of several values has to fit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Filter {
    Api(Vec<ApiKey>),
    Client(Vec<Pattern>),
    Topic(Vec<Pattern>),
    /// Any error when there is no code.
    Error(Vec<ErrorCode>),
}

impl Filter {
    pub(crate) fn lets(&self, exchange: &Exchange, facts: &Facts) -> bool {
        match self {
            Self::Api(apis) => exchange.head().is_some_and(|head| apis.contains(&head.api_key)),
            Self::Client(all) => {
                let id = exchange.head().and_then(|head| head.client_id.as_ref());
                id.is_some_and(|id| all.iter().any(|one| one.matches(id)))
            }
            Self::Topic(all) => facts.topics.iter().any(|topic| all.iter().any(|one| one.matches(topic))),
            Self::Error(codes) => match codes.as_slice() {
                [] => !facts.errors.is_empty(),
                codes => facts.errors.iter().any(|code| codes.contains(code)),
            },
        }
    }
}

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (what, values) = text.split_once('=').unwrap_or((text, ""));
        let values = split_unquoted(values, |c| c == ',');
        let values: Vec<&str> = values.into_iter().filter(|value| !value.is_empty()).collect();
        let patterns = || values.iter().map(|value| value.parse()).collect::<Result<Vec<Pattern>, _>>().map_err(said);
        let filter = match what {
            "api" => Self::Api(values.iter().map(|name| name.parse()).collect::<Result<_, _>>().map_err(said)?),
            "client" => Self::Client(patterns()?),
            "topic" => Self::Topic(patterns()?),
            "error" => Self::Error(values.iter().map(|name| name.parse()).collect::<Result<_, _>>().map_err(said)?),
            _ => return Err(format!("`{what}` is not a filter; expected api=, client=, topic= or error")),
        };
        match (&filter, values.is_empty()) {
            (Self::Error(codes), _) if codes.contains(&ErrorCode::NONE) => {
                Err("error=NONE matches nothing; code 0 means success".to_owned())
            }
            (Self::Error(_), _) | (_, false) => Ok(filter),
            (_, true) => Err(format!("{what}= needs a value")),
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
        for wrong in ["", "api", "api=", "api=fletch", "topic=", "error=NO_SUCH", "error=NONE", "size=3", "client=\"a"]
        {
            assert!(wrong.parse::<Filter>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn values_are_patterns_and_quotes_let_them_hold_anything() {
        let fits = |filter: &str, text: &str| match filter.parse().unwrap() {
            Filter::Client(all) | Filter::Topic(all) => all.iter().any(|one| one.matches(text)),
            _ => panic!("{filter}"),
        };
        assert!(fits("topic=let*", "letters") && fits("topic=*", "") && fits("client=a,letters", "letters"));
        assert!(!fits("topic=let", "letters") && !fits("topic=letters*", "let") && fits("client=*app*1", "my app: 1"));
        assert!(fits("client=\"my app: 1, 2\"", "my app: 1, 2") && !fits("client=\"app*\"", "app-1"));
    }
}
