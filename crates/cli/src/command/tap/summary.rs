use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use milena_inspect::conversation::{Exchange, Facts};
use milena_messages::ApiKey;
use serde_json::{Value, json};

use crate::output::fit;
use crate::table::Table;

/// Clients that are counted apart.
const MOST_CLIENTS: usize = 1000;

/// What passed, in numbers.
#[derive(Default)]
pub(crate) struct Summary {
    /// By API and version; tokens of SASL have none.
    apis: BTreeMap<(Option<ApiKey>, i16), Count>,
    clients: BTreeMap<String, Client>,
    /// What connections said of their software.
    software: BTreeMap<u64, String>,
}

#[derive(Default)]
struct Count {
    exchanges: u64,
    sent: u64,
    received: u64,
    errors: u64,
    faults: u64,
    throttled: u64,
    throttle_time: Duration,
    latency: Histogram,
}

#[derive(Default)]
struct Client {
    software: String,
    connections: std::collections::BTreeSet<u64>,
    exchanges: u64,
}

impl Summary {
    pub(crate) fn count(&mut self, exchange: &Exchange, facts: &Facts) {
        let head = exchange.head();
        let api = head.map_or((None, 0), |head| (Some(head.api_key), head.api_version));
        let count = self.apis.entry(api).or_default();
        count.exchanges += 1;
        count.sent += exchange.request.as_ref().map_or(0, |request| request.size() as u64 + 4);
        count.received += exchange.response.as_ref().map_or(0, |response| response.size() as u64 + 4);
        count.throttled += u64::from(facts.throttle.is_some());
        count.throttle_time += facts.throttle.unwrap_or_default();
        count.errors += u64::from(!facts.errors.is_empty());
        count.faults += u64::from(exchange.fault.is_some());
        if let Some(latency) = exchange.latency() {
            count.latency.add(latency);
        }
        let connection = exchange.connection();
        if let Some((name, version)) = &facts.software {
            if self.software.len() < 100 * MOST_CLIENTS && !name.is_empty() {
                self.software.insert(connection, format!("{name} {version}"));
            }
        }
        let id = head.and_then(|head| head.client_id.as_deref()).unwrap_or_default();
        if self.clients.contains_key(id) || self.clients.len() < MOST_CLIENTS {
            let client = self.clients.entry(id.to_owned()).or_default();
            client.exchanges += 1;
            client.connections.insert(connection);
            if let Some(software) = self.software.get(&connection) {
                client.software.clone_from(software);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.apis.is_empty()
    }

    pub(crate) fn render(&self) -> String {
        // Columns that would be all zeros are left out, so that the table fits a terminal.
        let has = |value: fn(&Count) -> u64| self.apis.values().any(|count| value(count) > 0);
        let (errors, faults) = (has(|count| count.errors), has(|count| count.faults));
        let throttled = has(|count| count.throttled);
        let mut titles = vec!["REQUEST", ">COUNT", ">SENT", ">RECEIVED"];
        for (shown, title) in [(errors, ">ERRORS"), (faults, ">FAULTS"), (throttled, ">THROTTLED")] {
            titles.extend(shown.then_some(title));
        }
        titles.extend([">P50 MS", ">P99 MS"]);
        let mut apis = Table::new(&titles);
        for ((api, version), count) in &self.apis {
            let latency =
                |share| count.latency.quantile(share).map_or("-".to_owned(), |time| format!("{:.2}", millis(time)));
            let mut row = vec![
                api.map_or("SASL token".to_owned(), |api| format!("{api} v{version}")),
                count.exchanges.to_string(),
                count.sent.to_string(),
                count.received.to_string(),
            ];
            row.extend(errors.then(|| count.errors.to_string()));
            row.extend(faults.then(|| count.faults.to_string()));
            row.extend(throttled.then(|| count.throttled.to_string()));
            row.extend([latency(0.5), latency(0.99)]);
            apis.row(row);
        }
        let mut clients = Table::new(&["CLIENT", "SOFTWARE", ">CONNECTIONS", ">COUNT"]);
        for (id, client) in &self.clients {
            clients.row(vec![
                if id.is_empty() { "-".to_owned() } else { fit(id, 30) },
                if client.software.is_empty() { "-".to_owned() } else { fit(&client.software, 25) },
                client.connections.len().to_string(),
                client.exchanges.to_string(),
            ]);
        }
        let mut text = format!("{}\n{}", apis.render(), clients.render());
        if throttled {
            let total: Duration = self.apis.values().map(|count| count.throttle_time).sum();
            let count: u64 = self.apis.values().map(|count| count.throttled).sum();
            let _ = writeln!(
                text,
                "\n{count} responses asked clients to wait for a quota, {:.1} s in all.",
                total.as_secs_f64()
            );
        }
        text
    }

    pub(crate) fn to_json(&self, skipped: u64) -> Value {
        let apis = self.apis.iter().map(|((api, version), count)| {
            json!({
                "api": api.map(|api| api.to_string()),
                "version": version,
                "count": count.exchanges,
                "sentBytes": count.sent,
                "receivedBytes": count.received,
                "errors": count.errors,
                "faults": count.faults,
                "throttled": count.throttled,
                "throttleTimeMs": count.throttle_time.as_millis() as u64,
                "p50Ms": count.latency.quantile(0.5).map(millis),
                "p99Ms": count.latency.quantile(0.99).map(millis),
            })
        });
        let clients = self.clients.iter().map(|(id, client)| {
            json!({
                "clientId": id,
                "software": client.software,
                "connections": client.connections.len(),
                "count": client.exchanges,
            })
        });
        json!({
            "type": "summary",
            "apis": apis.collect::<Vec<_>>(),
            "clients": clients.collect::<Vec<_>>(),
            "notShown": skipped,
        })
    }
}

/// Milliseconds with microseconds after the point.
fn millis(time: Duration) -> f64 {
    time.as_micros() as f64 / 1000.0
}

/// Times in classes, each 1/16 wider than the one before: quantiles are right to some 6 %.
#[derive(Default)]
struct Histogram {
    classes: BTreeMap<u32, u64>,
    count: u64,
}

impl Histogram {
    fn add(&mut self, time: Duration) {
        let micros = time.as_micros().clamp(1, u128::from(u64::MAX)) as u64;
        let exponent = micros.ilog2();
        // Four bits after the first one.
        let rest = if exponent >= 4 { micros >> (exponent - 4) } else { micros << (4 - exponent) } & 15;
        *self.classes.entry(exponent * 16 + rest as u32).or_default() += 1;
        self.count += 1;
    }

    /// The time that such a share of all stays below or at.
    fn quantile(&self, share: f64) -> Option<Duration> {
        let wanted = (self.count as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (class, count) in &self.classes {
            seen += count;
            if seen >= wanted {
                let (exponent, rest) = (class / 16, u64::from(class % 16));
                let start = (16 + rest) as f64 / 16.0 * f64::from(exponent).exp2();
                return Some(Duration::from_micros(start as u64));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_to_a_class() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        (1..=1000).for_each(|micros| histogram.add(Duration::from_micros(micros)));
        for (share, micros) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1000.0), (0.001, 1.0)] {
            let found = histogram.quantile(share).unwrap().as_micros() as f64;
            assert!((found / micros - 1.0).abs() < 0.07, "{share}: {found}");
        }
        histogram.add(Duration::MAX);
    }
}
