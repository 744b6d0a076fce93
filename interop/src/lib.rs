//! The same behaviour suite against several brokers: Apache Kafka itself and the embedded one.
//!
//! `cargo xtask interop` runs it. A scenario that Kafka passes and the embedded broker does not is a bug of the embedded
//! broker; one that both fail is a bug of the client, or of the scenario.
//!
//! ```no_run
//! # async fn example() -> Result<(), milena_interop::Error> {
//! let kafka = milena_interop::KafkaServer::start()?;
//! let report = milena_interop::suite("kafka", &kafka.bootstrap(), "", &mut std::io::stdout()).await;
//! assert!(report.is_good(), "{report}");
//! # Ok(())
//! # }
//! ```
//!
//! | item | what |
//! |---|---|
//! | [`KafkaServer`], [`KafkaRelease`] | a real Apache Kafka, fetched by Maven and run on loopback for as long as the value lives |
//! | [`suite`], [`SCENARIOS`], [`Scenario`], [`Report`] | what every broker has to do alike |
//! | [`acls()`] | the same requests as users with different ACLs to both, responses compared |
//! | [`cleaner()`] | seeded random logs, compacted and cut by both |
//! | [`differential()`], [`DifferentialConfig`], [`replay`] | seeded random requests to both, responses compared |
//! | [`failures`] | the binary `milena` with brokers that throttle, refuse, stop and come back |
//! | [`releases()`] | the suite against older releases, and against the embedded broker that acts as each |
//! | [`chaos()`], [`ChaosConfig`] | many clients write while an embedded cluster fails at random |
//! | [`control()`] | the example programs in other languages against `milena broker` |
//! | [`logins`] | the same logins to both, compared, and foreign clients that log in to both |
//! | [`python_clients`] | foreign clients against a broker |
//! | [`suites()`], [`SuitesConfig`] | test suites of other clients, and Kafka's tools, against `milena broker` |
//! | [`foreign_writers`] | what foreign clients wrote to Apache Kafka, read by the binary `milena` |

mod chaos;
mod cleaner;
mod command;
mod control;
mod differential;
mod error;
mod failures;
mod foreign;
mod java;
mod kafka;
mod login;
mod maven;
mod milena;
mod place;
mod probe;
mod python;
mod releases;
mod suite;
mod suites;

pub use chaos::{ChaosConfig, chaos};
pub use cleaner::cleaner;
pub use control::control;
pub use differential::{DifferentialConfig, acls, differential, replay};
pub use error::{Error, Result};
pub use failures::failures;
pub use foreign::foreign_writers;
pub use kafka::{KafkaRelease, KafkaServer};
pub use login::logins;
pub use python::python_clients;
pub use releases::releases;
pub use suite::{Failure, Outcome, Report, SCENARIOS, Scenario, Target, line, suite};
pub use suites::{SuitesConfig, suites};
