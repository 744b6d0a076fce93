use std::collections::BTreeMap;
use std::time::Duration;

use milena_connection::read_request_header;
use milena_messages::{ApiKey, ApiVersionsRequest, Message as _};
use milena_tap::{Exchange, Facts};
use serde_json::{Value, json};

use super::json::millis;
use crate::output::short;
use crate::table::Table;

/// Clients that are told apart.
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
        let count = self.apis.entry((exchange.api, exchange.version)).or_default();
        count.exchanges += 1;
        count.sent += exchange.request.len() as u64 + 4;
        count.received += exchange.response.as_ref().map_or(0, |response| response.len() as u64 + 4);
        count.errors += u64::from(!facts.errors.is_empty());
        count.faults += u64::from(exchange.fault.is_some());
        if let Some(latency) = exchange.latency {
            count.latency.add(latency);
        }
        if exchange.api == Some(ApiKey::API_VERSIONS) && self.software.len() < 100 * MOST_CLIENTS {
            if let Some(software) = software(exchange) {
                self.software.insert(exchange.connection, software);
            }
        }
        let id = exchange.client_id.as_deref().unwrap_or_default();
        if self.clients.contains_key(id) || self.clients.len() < MOST_CLIENTS {
            let client = self.clients.entry(id.to_owned()).or_default();
            client.exchanges += 1;
            client.connections.insert(exchange.connection);
            if let Some(software) = self.software.get(&exchange.connection) {
                client.software.clone_from(software);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.apis.is_empty()
    }

    pub(crate) fn render(&self) -> String {
        let titles = ["API", ">VERSION", ">COUNT", ">SENT", ">RECEIVED", ">ERRORS", ">FAULTS", ">P50 MS", ">P99 MS"];
        let mut apis = Table::new(&titles);
        for ((api, version), count) in &self.apis {
            let latency =
                |share| count.latency.quantile(share).map_or("-".to_owned(), |time| format!("{:.2}", millis(time)));
            apis.row(vec![
                name(*api),
                api.map_or("-".to_owned(), |_| version.to_string()),
                count.exchanges.to_string(),
                count.sent.to_string(),
                count.received.to_string(),
                count.errors.to_string(),
                count.faults.to_string(),
                latency(0.5),
                latency(0.99),
            ]);
        }
        let mut clients = Table::new(&["CLIENT", "SOFTWARE", ">CONNECTIONS", ">COUNT"]);
        for (id, client) in &self.clients {
            clients.row(vec![
                if id.is_empty() { "-".to_owned() } else { short(id, 40) },
                if client.software.is_empty() { "-".to_owned() } else { short(&client.software, 40) },
                client.connections.len().to_string(),
                client.exchanges.to_string(),
            ]);
        }
        format!("{}\n{}", apis.render(), clients.render())
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
        json!({ "summary": {
            "apis": apis.collect::<Vec<_>>(), "clients": clients.collect::<Vec<_>>(), "notShown": skipped,
        }})
    }
}

fn name(api: Option<ApiKey>) -> String {
    match api {
        None => "SASL token".to_owned(),
        Some(api) => match api.name() {
            Some(name) => name.to_owned(),
            None => format!("key {}", api.0),
        },
    }
}

fn software(exchange: &Exchange) -> Option<String> {
    let (_, body) = read_request_header(exchange.request.clone()).ok()?;
    let request = ApiVersionsRequest::from_bytes(body, exchange.version).ok()?;
    let text = format!("{} {}", request.client_software_name, request.client_software_version);
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
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
        // Four bits behind the first one.
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
