//! Faults on demand: rules that say which requests of clients go wrong, and how.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use milena_connection::IncomingRequest;
use milena_connection::fault::{Action, Decision, Faults as Rules, Random, RequestInfo, Rule, Statistic, Subject};
use milena_fault::without_place;

use crate::error::BrokerError;

/// The fault rules of a running [`Broker`](crate::Broker) or [`BrokerCluster`](crate::BrokerCluster): added and removed
/// while clients work.
///
/// The grammar is that of [`milena_connection::fault`], the same that `milena tap --fault` and `milena broker --fault` take.
/// Rules count the requests of all nodes and connections together. When several rules fire for one request, the one that
/// was added first counts.
///
/// | action | in the broker |
/// |---|---|
/// | `error CODE` | the request gets an error response of its version and has no other effect |
/// | `delay TIME` | the request has its effect; the response comes no sooner than this time after the request arrived |
/// | `drop` | the request has no effect and gets no response |
/// | `cut` | the request has no effect, and its connection ends |
/// | `cut after N bytes` | the request has its effect, N bytes of the response are sent, and the connection ends |
/// | `throttle TIME` | the request has its effect; the response says that the client was throttled for this time |
/// | `garble N bytes` | the request has its effect; N bytes in the body of the response are wrong |
/// | `short by N bytes` | the request has its effect; the last N bytes of the response are missing, and its size fits |
/// | `reorder` | the request has its effect; the response leaves after the next one on its connection |
///
/// An error of a rule with `topic=` or `partition=` concerns only these partitions; the others of the request are served.
///
/// Delays follow the clock of the system, also when the cluster has a virtual one.
///
/// ```
/// use milena_broker::{Broker, BrokerConfig};
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let broker = Broker::start(BrokerConfig::default()).await?;
/// let fault = broker.faults().add("produce@1: error NOT_LEADER_OR_FOLLOWER")?;
/// // ... a producer runs, and has to send its first request again ...
/// assert_eq!(fault.fired(), 0);
/// broker.faults().clear();
/// # Ok::<(), milena_broker::BrokerError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BrokerFaults(Arc<Shared>);

/// A rule that was added. It stays in force when this is dropped.
#[derive(Clone, Debug)]
pub struct BrokerFault {
    faults: BrokerFaults,
    id: u64,
    rule: Arc<Rule>,
    /// The counts, once the rule is gone.
    last: Last,
}

#[derive(Clone, Debug)]
struct Added {
    id: u64,
    rule: Arc<Rule>,
    last: Last,
}

type Last = Arc<Mutex<Option<(u64, u64)>>>;

#[derive(Debug)]
struct Shared {
    /// Whether there are rules; looked at for every request.
    any: AtomicBool,
    injector: Mutex<Injector>,
}

#[derive(Debug)]
struct Injector {
    rules: Rules,
    /// For each rule, in their order.
    added: Vec<Added>,
    next_id: u64,
    random: Random,
}

impl BrokerFaults {
    /// With the rules of a configuration.
    ///
    /// # Errors
    /// As [`add_rule`](Self::add_rule).
    pub(crate) fn new(rules: &[Rule], seed: Option<u64>) -> Result<Self, BrokerError> {
        let random = Random::seeded(seed.unwrap_or_else(|| RandomState::new().build_hasher().finish()));
        let injector = Injector { rules: Rules::default(), added: Vec::new(), next_id: 0, random };
        let faults = Self(Arc::new(Shared { any: AtomicBool::new(false), injector: Mutex::new(injector) }));
        for rule in rules {
            faults.add_rule(rule.clone())?;
        }
        Ok(faults)
    }

    /// Adds a rule, such as `fetch@3: error NOT_LEADER_OR_FOLLOWER`. It counts the requests that arrive from now on.
    ///
    /// # Errors
    /// The text is no rule; as [`add_rule`](Self::add_rule).
    pub fn add(&self, rule: &str) -> Result<BrokerFault, BrokerError> {
        self.add_rule(rule.parse::<Rule>().map_err(|error| BrokerError::Fault(error.to_string()))?)
    }

    /// Adds a rule that was read before.
    ///
    /// # Errors
    /// The rule injects a code for which no response that the rule is about has a field.
    pub fn add_rule(&self, rule: Rule) -> Result<BrokerFault, BrokerError> {
        if let Action::Error(code) = rule.action() {
            if let Some(api) = without_place(rule.apis(), rule.versions(), code) {
                let why = format!("fault `{rule}`: responses to {api} have no field for {code} in these versions");
                return Err(BrokerError::Fault(why));
            }
        }
        let mut injector = self.lock();
        let added = Added { id: injector.next_id, rule: Arc::new(rule.clone()), last: Last::default() };
        injector.next_id += 1;
        injector.added.push(added.clone());
        injector.rules.push(rule);
        self.0.any.store(true, Ordering::Release);
        drop(injector);
        Ok(self.handle(added))
    }

    /// Removes all rules. Requests that are delayed already stay so.
    pub fn clear(&self) {
        let mut injector = self.lock();
        while !injector.added.is_empty() {
            injector.remove(0);
        }
        self.0.any.store(false, Ordering::Release);
    }

    /// The rules in force, in their order.
    pub fn all(&self) -> Vec<BrokerFault> {
        let added = self.lock().added.clone();
        added.into_iter().map(|added| self.handle(added)).collect()
    }

    fn handle(&self, Added { id, rule, last }: Added) -> BrokerFault {
        BrokerFault { faults: self.clone(), id, rule, last }
    }

    /// The rules in force, in their order, with the number of requests that each matched and fired for so far.
    pub fn statistics(&self) -> Vec<Statistic> {
        self.lock().rules.statistics().cloned().collect()
    }

    /// What is done to a request. Every request is passed once; `subject` finds what it is about, when a rule looks at that.
    pub(crate) fn decide(&self, request: &IncomingRequest, subject: &dyn Fn() -> Subject) -> Option<Decision> {
        if !self.0.any.load(Ordering::Acquire) {
            return None;
        }
        let header = RequestInfo::new(request.api_key, request.api_version, request.client_id.as_deref());
        let info = RequestInfo { subject, ..header };
        let Injector { rules, random, .. } = &mut *self.lock();
        rules.decide(&info, &mut || random.next_u64())
    }

    fn lock(&self) -> MutexGuard<'_, Injector> {
        self.0.injector.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Injector {
    fn position(&self, id: u64) -> Option<usize> {
        self.added.iter().position(|added| added.id == id)
    }

    fn remove(&mut self, position: usize) {
        let Added { last, .. } = self.added.remove(position);
        let counts = self.rules.remove(position).map(|rule| (rule.matched, rule.fired));
        *last.lock().unwrap_or_else(PoisonError::into_inner) = counts;
    }
}

impl BrokerFault {
    /// The number of the rule in its cluster: 0 for the first one that was added, and never used again.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The rule.
    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    /// Requests that the target of the rule matched, up to now or until the rule was removed.
    pub fn matched(&self) -> u64 {
        self.counts().0
    }

    /// Requests for which the rule fired, up to now or until the rule was removed.
    pub fn fired(&self) -> u64 {
        self.counts().1
    }

    /// Removes the rule; nothing happens when it is gone already.
    pub fn remove(&self) {
        let mut injector = self.faults.lock();
        if let Some(position) = injector.position(self.id) {
            injector.remove(position);
        }
        self.faults.0.any.store(!injector.rules.is_empty(), Ordering::Release);
    }

    fn counts(&self) -> (u64, u64) {
        let injector = self.faults.lock();
        let live = injector.position(self.id).and_then(|position| injector.rules.statistics().nth(position));
        match live {
            Some(rule) => (rule.matched, rule.fired),
            None => self.last.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or_default(),
        }
    }
}
