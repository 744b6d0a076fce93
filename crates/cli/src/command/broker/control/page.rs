//! The page that shows what there is, and how to change it.

use maud::{DOCTYPE, html};
use milena_broker::{BrokerCluster, NodeState};

use super::route::ROUTES;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}\
    table{border-collapse:collapse;margin:.5rem 0 1.5rem}td,th{text-align:left;padding:.2rem .8rem .2rem 0;\
    border-bottom:1px solid #ddd;vertical-align:top}code{font-size:13px}";

/// The page as HTML.
pub(super) fn page(cluster: &BrokerCluster) -> String {
    let state = cluster.state();
    let status = |node: &NodeState| match (node.is_up, node.is_isolated) {
        (_, true) => "isolated",
        (true, _) => "up",
        _ => "down",
    };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head { meta charset="utf-8"; title { "milena broker" } style { (STYLE) } }
            body {
                h1 { "milena broker" }
                p { code { "bootstrap.servers=" (cluster.bootstrap()) } }
                table {
                    tr { th { "node" } th { "address" } th { "status" } }
                    @for node in &state.nodes { tr { td { (node.id) } td { (node.endpoint) } td { (status(node)) } } }
                }
                @if !state.topics.is_empty() {
                    table {
                        tr { th { "topic" } th { "partitions" } th { "records" } }
                        @for topic in state.topics.iter().filter(|topic| !topic.name.starts_with("__")) {
                            @let records: i64 =
                                topic.partitions.iter().map(|one| one.end_offset - one.start_offset).sum();
                            tr { td { (topic.name) } td { (topic.partitions.len()) } td { (records) } }
                        }
                    }
                }
                @if !state.groups.is_empty() {
                    table {
                        tr { th { "group" } th { "type" } th { "state" } th { "members" } }
                        @for group in &state.groups {
                            tr { td { (group.id) } td { (group.group_type) } td { (group.state) }
                                 td { (group.members.len()) } }
                        }
                    }
                }
                h2 { "Operations" }
                p {
                    "Bodies and responses are JSON. What fails has a status of 400 or more and "
                    code { r#"{"error":"why"}"# } ", with " code { "code" } " where Kafka has an error code for it."
                }
                table {
                    @for route in ROUTES {
                        tr {
                            td { code { (route.method) } }
                            td {
                                @if route.method == "GET" && !route.path.contains('{') {
                                    a href=(route.path) { code { (route.path) } }
                                } @else { code { (route.path) } }
                            }
                            td {
                                (route.what)
                                @if !route.body.is_empty() { br; code { (route.body) } }
                            }
                        }
                    }
                }
            }
        }
    };
    page.into_string()
}
