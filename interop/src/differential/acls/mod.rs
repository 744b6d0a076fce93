//! The same requests as users with different ACLs to Apache Kafka and to the embedded broker, responses compared field by
//! field: every API at every version, as a user with nothing, with each single permission, and with random ACLs.

mod normal;
mod peer;
mod requests;
mod user;

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

use milena_broker::{AclConfig, Broker, BrokerConfig, Principal, SecurityConfig, SecurityProtocol, User as Login};
use milena_messages::ApiKey;
use serde_json::{Value, json};

use self::peer::Peer;
use self::requests::{CASES, Case, EXEMPT};
use self::user::{ADMIN, User, users};
use super::compare::compare;
use super::random::Random;
use super::{DifferentialConfig, Step};
use crate::error::{Error, Result};
use crate::kafka::KafkaServer;
use crate::suite::{Report, line};

/// How many differences of an API are shown.
const SHOWN: usize = 5;

/// A time of the embedded broker's clock.
const NOW_MS: i64 = 1_700_000_000_000;

/// Settings of Kafka that keep what the matrix reads as it is.
const SETTINGS: [&str; 8] = [
    "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users=User:admin;User:ANONYMOUS",
    "group.consumer.session.timeout.ms=600000",
    "group.consumer.max.session.timeout.ms=600000",
    "group.share.session.timeout.ms=60000",
    "group.streams.session.timeout.ms=60000",
    "log.initial.task.delay.ms=86400000",
    "transaction.remove.expired.transaction.cleanup.interval.ms=86400000",
];

/// Starts both brokers, creates the same users with the same ACLs, and compares what each of them gets. As many users have
/// random ACLs as `config` has sequences. Only APIs whose name contains `filter` are compared.
///
/// # Errors
/// A broker does not start, or a connection to it fails.
pub async fn acls(config: DifferentialConfig, filter: &str, out: &mut (dyn Write + Send)) -> Result<Report> {
    if !CASES.iter().any(|case| case.api.contains(filter)) {
        return Ok(Report::default());
    }
    let users = users(config);
    let logins: Vec<(String, String)> = users.iter().map(|user| (user.name.clone(), user.password())).collect();
    let kafka = KafkaServer::start_with_logins(&logins, &SETTINGS)?;
    let security = SecurityConfig {
        protocol: SecurityProtocol::SaslPlaintext,
        users: logins.iter().map(|(name, password)| Login::new(name, password)).collect(),
        ..SecurityConfig::default()
    };
    let acls = AclConfig { super_users: vec![Principal::user(ADMIN)], ..AclConfig::default() };
    let broker = BrokerConfig {
        security,
        acls: Some(acls),
        // As in Kafka, so that a JoinGroup which is allowed is refused for its timeout.
        group_min_session_timeout_ms: 6000,
        // It stands still, so that no session ends however long the comparison takes.
        virtual_clock: Some(NOW_MS),
        ..BrokerConfig::default()
    };
    let broker = Broker::start(broker).await.map_err(|error| Error::Other(error.to_string()))?;
    let mut peers =
        [Peer::start("kafka", &kafka.login_bootstrap()?).await?, Peer::start("milena", &broker.bootstrap()).await?];
    let mut report = Report::default();
    let begun = Instant::now();
    let prepared = prepare(&mut peers, &users).await;
    report.count(prepared.is_ok());
    line(out, "acls::preparation", prepared.as_ref().map_err(ToString::to_string).copied(), begun.elapsed());
    prepared?;
    let served = served(&mut peers).await?;
    let untested = untested(&served);
    if filter.is_empty() {
        report.count(untested.is_ok());
        line(out, "acls::every_api_that_both_serve_has_a_request", untested, Duration::ZERO);
    }
    let mut random = Random::new(config.seed);
    let mut apis: Vec<&str> = CASES.iter().map(|case| case.api).collect();
    // What changes topics comes last: Kafka takes a moment to know of it everywhere.
    apis.sort_by_key(|api| (*api == "DeleteTopics", *api));
    apis.dedup();
    for api in apis {
        let Some(versions) = served.get(api).filter(|_| api.contains(filter)) else { continue };
        let begun = Instant::now();
        let mut matrix = Matrix { users: &users, peers: &mut peers, compared: 0, differences: Vec::new() };
        for case in CASES.iter().filter(|case| case.api == api) {
            if let Err(error) = matrix.run(case, *versions, &mut random).await {
                matrix.differences.push(error.to_string());
            }
        }
        let outcome = matrix.outcome();
        report.count(outcome.is_ok());
        line(out, &format!("acls::{api} ({} requests)", matrix.compared), outcome, begun.elapsed());
    }
    broker.shutdown().await;
    Ok(report)
}

/// The versions of each API that both serve.
async fn served(peers: &mut [Peer; 2]) -> Result<BTreeMap<&'static str, (i16, i16)>> {
    let mut all: Vec<BTreeMap<i64, (i64, i64)>> = Vec::new();
    for peer in peers.iter_mut() {
        let body = json!({"clientSoftwareName": "milena", "clientSoftwareVersion": "1"});
        let response = peer.ask(ADMIN, "ApiVersions", 3, &body).await?;
        let keys = response["apiKeys"].as_array().into_iter().flatten();
        let number = |value: &Value| value.as_i64().unwrap_or(-1);
        all.push(
            keys.map(|one| (number(&one["apiKey"]), (number(&one["minVersion"]), number(&one["maxVersion"]))))
                .collect(),
        );
    }
    let mut both = BTreeMap::new();
    for (key, (min, max)) in &all[0] {
        let Some((other_min, other_max)) = all[1].get(key) else { continue };
        let Some(name) = ApiKey(*key as i16).name() else { continue };
        both.insert(name, ((*min.max(other_min)) as i16, (*max.min(other_max)) as i16));
    }
    Ok(both)
}

fn untested(served: &BTreeMap<&'static str, (i16, i16)>) -> std::result::Result<(), String> {
    let is_tested = |api: &str| EXEMPT.contains(&api) || CASES.iter().any(|case| case.api == api);
    let missing: Vec<&str> = served.keys().copied().filter(|api| !is_tested(api)).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("no request for {}", missing.join(", "))) }
}

/// Topics, groups, transactions and ACLs: what starts with `a` is what single permissions are about.
async fn prepare(peers: &mut [Peer; 2], users: &[User]) -> Result<()> {
    let mut acls: Vec<Value> = Vec::new();
    for acl in users.iter().flat_map(|user| user.acls.iter().map(|acl| acl.creation(&user.name))) {
        // Random ones can come twice, and a broker has them once.
        if !acls.contains(&acl) {
            acls.push(acl);
        }
    }
    for peer in peers.iter_mut() {
        peer.prepare().await?;
        let body = json!({"creations": acls});
        let created = peer.ask(ADMIN, "CreateAcls", 3, &body).await?;
        let failed = created["results"].as_array().into_iter().flatten().find(|one| one["errorCode"] != 0);
        if let Some(failed) = failed {
            return Err(Error::Other(format!("{}: an ACL was refused: {failed}", peer.name)));
        }
        peer.wait_for_acls(acls.len()).await?;
    }
    Ok(())
}

struct Matrix<'a> {
    users: &'a [User],
    peers: &'a mut [Peer; 2],
    compared: usize,
    differences: Vec<String>,
}

impl Matrix<'_> {
    /// One request, as every user. Users with random ACLs send the highest version and one other.
    async fn run(&mut self, case: &Case, (min, max): (i16, i16), random: &mut Random) -> Result<()> {
        let versions: Vec<i16> = (min.max(case.versions.0)..=max.min(case.versions.1)).collect();
        let Some(last) = versions.last() else { return Ok(()) };
        for user in self.users {
            for version in &versions {
                if user.is_random && version != last && random.below(versions.len()) != 0 {
                    continue;
                }
                self.compare(case, user, *version).await?;
            }
        }
        Ok(())
    }

    async fn compare(&mut self, case: &Case, user: &User, version: i16) -> Result<()> {
        let mut responses = Vec::new();
        for peer in self.peers.iter_mut() {
            if let Some(before) = case.before {
                peer.before(before).await?;
            }
            let mut response = peer.ask(&user.name, case.api, version, &case.body()).await?;
            normal::normalise(case.api, &mut response);
            responses.push(response);
        }
        self.compared += 1;
        let differences = compare(&responses[0], &responses[1]);
        if !differences.is_empty() {
            let list: Vec<String> = differences.iter().map(ToString::to_string).collect();
            let step = Step { connection: 0, api: case.api, version, body: case.body() };
            self.differences.push(format!(
                "{user}: {}\n  {step}\n  kafka:  {}\n  milena: {}",
                list.join("; "),
                responses[0],
                responses[1]
            ));
        }
        Ok(())
    }

    fn outcome(&self) -> std::result::Result<(), String> {
        if self.differences.is_empty() {
            return Ok(());
        }
        let shown: Vec<&str> = self.differences.iter().take(SHOWN).map(String::as_str).collect();
        Err(format!("{} of {} responses differ\n{}", self.differences.len(), self.compared, shown.join("\n")))
    }
}
