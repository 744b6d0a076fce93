//! Faults on demand: rules that say which requests go wrong, and how.
//!
//! Whoever stands where requests come in asks [`Faults::decide`] about each, in the order in which they come, and does
//! what the [`Action`] says. The same requests in the same order give the same faults: there is no clock and no chance.
//!
//! ```
//! use milena_connection::fault::{Action, Asked, Faults};
//! use milena_messages::{ApiKey, ErrorCode};
//!
//! let mut faults: Faults = ["fetch@2: error NOT_LEADER_OR_FOLLOWER".parse()?].into_iter().collect();
//! let fetch = Asked { api: ApiKey::FETCH, version: 13, client_id: Some("letters") };
//! assert_eq!(faults.decide(&fetch), None);
//! assert_eq!(faults.decide(&fetch), Some(Action::Error(ErrorCode::NOT_LEADER_OR_FOLLOWER)));
//! assert_eq!(faults.decide(&fetch), None);
//! # Ok::<(), milena_connection::fault::FaultError>(())
//! ```
//!
//! # Grammar
//!
//! ```text
//! rule    = whom [ "@" which ] ":" action
//!
//! whom    = ( "*" | api { "," api } ) { filter }
//! api     = a name as Kafka has it, in any case, or a number
//! filter  = "v" N | "v" N "-" M | "v" N "+"         versions of the API
//!         | "client=" TEXT                          the client id, as it is
//!
//! which   = N | N "-" M | N "+"                     the how-manieth request, counted from 1
//!         | "/" N                                   every N-th
//!
//! action  = "error" code                            a name as Kafka has it, in any case, or a number
//!         | "delay" TIME                            such as 200ms, 1.5s
//!         | "drop"
//!         | "cut" [ "after" N [ "bytes" ] ]
//! ```
//!
//! Without `which` a rule is about every request that it is about at all. Each rule counts for itself the requests that
//! `whom` names, whatever other rules say to them. When several rules fire at one request, the first one counts.
//!
//! | rule | what happens |
//! |---|---|
//! | `fetch@3: error NOT_LEADER_OR_FOLLOWER` | the third Fetch is answered with that error for each of its partitions |
//! | `produce v3-8 client=app: delay 200ms` | answers to those requests come 200 ms later |
//! | `metadata@2+: drop` | no Metadata but the first is ever answered |
//! | `*@/100: cut` | the connection ends at every hundredth request |
//! | `fetch: cut after 1000 bytes` | the connection ends within the answer |

mod parse;
mod rule;
#[cfg(test)]
mod tests;

pub use parse::FaultError;
pub use rule::{Action, Asked, Faults, Rule};
