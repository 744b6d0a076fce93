//! Faults on demand: rules that say which requests go wrong, and how.
//!
//! A proxy or a broker asks [`Faults::decide`] about each request, in the order in which requests arrive, and does what the
//! [`Action`] says. Time and randomness are the caller's: the same requests in the same order with the same random numbers
//! give the same faults.
//!
//! ```
//! use milena_connection::fault::{Action, Faults, RequestInfo};
//! use milena_messages::{ApiKey, ErrorCode};
//!
//! let mut faults: Faults = ["fetch@2: error NOT_LEADER_OR_FOLLOWER".parse()?].into_iter().collect();
//! let fetch = RequestInfo::new(ApiKey::FETCH, 13, Some("letters"));
//! let mut random = || 0;
//! assert_eq!(faults.decide(&fetch, &mut random), None);
//! let decision = faults.decide(&fetch, &mut random).unwrap();
//! assert_eq!(decision.action, Action::Error(ErrorCode::NOT_LEADER_OR_FOLLOWER));
//! assert_eq!(faults.decide(&fetch, &mut random), None);
//! let rule = faults.statistics().next().unwrap();
//! assert_eq!((rule.matched, rule.fired), (3, 1));
//! # Ok::<(), milena_connection::fault::FaultError>(())
//! ```
//!
//! # Grammar
//!
//! ```text
//! rule    = target [ "@" which ] ":" action
//!
//! target  = ( "*" | api { "," api } ) { filter }
//! api     = a name as Kafka has it, in any case, or a number
//! filter  = "v" N | "v" N "-" M | "v" N "+"         versions of the API
//!         | "client=" PATTERN                       the client id; * stands for any text
//!         | "topic=" PATTERN                        requests that name such a topic
//!         | "partition=" N [ "-" M | "+" ]          requests that name such a partition
//!         | "group=" PATTERN                        requests that name such a group
//!         | "transaction=" PATTERN                  requests that name such a transactional id
//!
//! which   = N | N "-" M | N "+"                     the nth matching request, counted from 1
//!         | "/" N                                   every Nth matching request
//!         | P "%"                                   each matching request with this probability
//!
//! action  = "error" code                            a name as Kafka has it, in any case, or a number
//!         | "delay" TIME                            such as 200ms, 1.5s
//!         | "drop"
//!         | "cut" [ "after" N [ "bytes" ] ]
//!         | "throttle" TIME
//!         | "garble" [ N [ "bytes" ] ]
//!         | "short" [ "by" N [ "bytes" ] ]
//!         | "reorder"
//! ```
//!
//! An error of a rule with topics or partitions concerns only these; other partitions of the request are served.
//!
//! A pattern with spaces, colons, commas or `@` is written in double quotes; `*` is a plain character in them, and `\"` and
//! `\\` are a quote and a backslash.
//!
//! Without `which` a rule fires for every request that it matches. Each rule counts the requests that its target matches,
//! whatever other rules do to them. When several rules fire for one request, the first one counts.
//!
//! | rule | what happens |
//! |---|---|
//! | `fetch@3: error NOT_LEADER_OR_FOLLOWER` | the third Fetch fails with that error for each of its partitions |
//! | `produce v3-8 client=app*: delay 200ms` | responses come no sooner than 200 ms after those requests |
//! | `metadata@2+: drop` | only the first Metadata request gets a response |
//! | `*@/100: cut` | every hundredth request ends its connection |
//! | `fetch@5%: cut after 1000 bytes` | one Fetch in twenty ends its connection within the response |
//! | `heartbeat client="my app: 1": drop` | heartbeats of the client `my app: 1` get no response |
//! | `produce topic=orders partition=2: error NOT_LEADER_OR_FOLLOWER` | writes to that partition fail, others of the request do not |
//! | `* group=readers@10%: throttle 1s` | one response in ten to that group says that it was throttled |
//! | `fetch@7: garble 3 bytes` | three bytes of that response are wrong |

mod parse;
mod pattern;
mod rule;
mod scope;
#[cfg(test)]
mod tests;

pub use parse::FaultError;
pub use pattern::{Pattern, PatternError, split_unquoted};
pub use rule::{Action, Decision, Faults, Random, RequestInfo, Rule, Statistic};
pub use scope::{Scope, Subject};
