//! What the control port has: one table, for requests and for the page that describes them.

use hyper::{Method, StatusCode};

use super::error::Refused;
use super::query::decode;

/// One operation.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) method: &'static str,
    /// Parts in braces stand for any text.
    pub(super) path: &'static str,
    pub(super) what: &'static str,
    /// A body, for operations that have one.
    pub(super) body: &'static str,
    pub(super) operation: Operation,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Page,
    State,
    Topics,
    CreateTopic,
    Topic,
    DeleteTopic,
    Append,
    MoveLeader,
    Truncate,
    Group,
    GroupCoordinator,
    MoveGroup,
    Transaction,
    TransactionCoordinator,
    MoveTransaction,
    Nodes,
    AddNode,
    Stop,
    Kill,
    Start,
    Isolate,
    Reconnect,
    Faults,
    AddFault,
    ClearFaults,
    Fault,
    RemoveFault,
    Requests,
    Clock,
    Advance,
}

macro_rules! routes {
    ($($method:ident $path:literal $operation:ident $what:literal $(body $body:literal)?;)*) => {
        /// All operations, in the order of the page.
        pub(super) const ROUTES: &[Route] = &[$(Route {
            method: stringify!($method),
            path: $path,
            what: $what,
            body: concat!($($body)?),
            operation: Operation::$operation,
        }),*];
    };
}

routes! {
    GET "/" Page "this page";
    GET "/state" State "nodes, topics, groups and transactions";
    GET "/topics" Topics "all topics with leaders, replicas and offsets";
    POST "/topics" CreateTopic "create a topic; only the name is required"
        body r#"{"name":"orders","partitions":6,"replicas":3,"settings":{"cleanup.policy":"compact"}}"#;
    GET "/topics/{topic}" Topic "one topic";
    DELETE "/topics/{topic}" DeleteTopic "delete a topic";
    POST "/topics/{topic}/records" Append "append records, in the form of `milena consume --json`; gives their offsets"
        body r#"{"records":[{"key":"k","value":"v"},{"partition":1,"valueBase64":"/w==","headers":{"a":"b"}}]}"#;
    POST "/topics/{topic}/partitions/{partition}/leader" MoveLeader "move the leader of a partition" body r#"{"node":2}"#;
    POST "/topics/{topic}/partitions/{partition}/truncate" Truncate
        "cut records off from an offset on, and begin a leader epoch (KIP-320)" body r#"{"offset":10}"#;
    GET "/groups/{group}" Group "members, assignments and offsets of a group";
    GET "/groups/{group}/coordinator" GroupCoordinator "the node that coordinates a group";
    POST "/groups/{group}/coordinator" MoveGroup "move the coordinator of a group" body r#"{"node":2}"#;
    GET "/transactions/{id}" Transaction "what is known of a transactional id";
    GET "/transactions/{id}/coordinator" TransactionCoordinator "the node that coordinates a transactional id";
    POST "/transactions/{id}/coordinator" MoveTransaction "move the coordinator of a transactional id"
        body r#"{"node":2}"#;
    GET "/nodes" Nodes "all nodes, up or not";
    POST "/nodes" AddNode "add a node; gives its id";
    POST "/nodes/{node}/stop" Stop "stop a node; connections may finish their request";
    POST "/nodes/{node}/kill" Kill "kill a node; its connections are cut";
    POST "/nodes/{node}/start" Start "start a node again, at the same address";
    POST "/nodes/{node}/isolate" Isolate "isolate a node; its connections stay open and carry nothing";
    POST "/nodes/{node}/reconnect" Reconnect "connect an isolated node again";
    GET "/faults" Faults "fault rules with their counts";
    POST "/faults" AddFault "add a fault rule; gives its id" body r#"{"rule":"fetch@3: error NOT_LEADER_OR_FOLLOWER"}"#;
    DELETE "/faults" ClearFaults "remove all fault rules";
    GET "/faults/{fault}" Fault "one fault rule with its counts";
    DELETE "/faults/{fault}" RemoveFault "remove a fault rule; gives its last counts";
    GET "/requests" Requests
        "requests received; filters api, client, node, version, from, limit; body=false leaves bodies out; \
         wait=10s waits until there are count=1 of them";
    GET "/clock" Clock "the time of the cluster";
    POST "/clock" Advance "move the clock on, when it is virtual (--virtual-clock)" body r#"{"advanceMs":45000}"#;
}

/// The operation of a request, and what stands in place of the braces.
///
/// # Errors
/// There is no such path, or it has other methods.
pub(super) fn find(method: &Method, path: &str) -> Result<(Operation, Vec<String>), Refused> {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let here: Vec<&Route> = ROUTES.iter().filter(|route| fits(route.path, &parts)).collect();
    let Some(route) = here.iter().find(|route| route.method == method.as_str()) else {
        if here.is_empty() {
            return Err(Refused::not_found(format!("there is no {path}; GET / lists what there is")));
        }
        let methods: Vec<&str> = here.iter().map(|route| route.method).collect();
        let message = format!("{path} has no {method}, only {}", methods.join(" and "));
        let refused = Refused::new(StatusCode::METHOD_NOT_ALLOWED, message);
        return Err(Refused { allow: Some(methods.join(", ")), ..refused });
    };
    let names = route.path.split('/').skip(1).zip(parts).filter(|(pattern, _)| pattern.starts_with('{'));
    let names: Result<Vec<String>, Refused> = names.map(|(_, part)| decode(part)).collect();
    Ok((route.operation, names?))
}

fn fits(pattern: &str, parts: &[&str]) -> bool {
    let mut patterns = pattern.split('/').skip(1);
    let all = parts.iter().all(|part| patterns.next().is_some_and(|one| one == *part || one.starts_with('{')));
    all && patterns.next().is_none()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_path_has_its_names_and_its_methods() {
        let found = |method, path| find(&method, path);
        let (operation, names) = found(Method::POST, "/topics/a%2Fb/partitions/3/leader").unwrap();
        assert_eq!((operation, names), (Operation::MoveLeader, vec!["a/b".to_owned(), "3".to_owned()]));
        assert_eq!(found(Method::GET, "/").unwrap().0, Operation::Page);
        assert_eq!(found(Method::GET, "/topics/a/b").unwrap_err().status, StatusCode::NOT_FOUND);
        let refused = found(Method::PUT, "/faults").unwrap_err();
        assert_eq!(refused.status, StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(refused.allow.as_deref(), Some("GET, POST, DELETE"));
    }

    #[test]
    fn the_manual_has_every_operation() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/broker.md");
        let manual = std::fs::read_to_string(file).unwrap();
        for Route { method, path, .. } in ROUTES {
            let whole = format!("`{method} {path}`");
            // Operations on nodes share a line.
            let last = format!("`{}`", path.rsplit('/').next().unwrap());
            assert!(manual.contains(&whole) || (path.starts_with("/nodes/") && manual.contains(&last)), "{whole}");
        }
    }

    #[test]
    fn the_bodies_of_the_page_are_json() {
        for route in ROUTES.iter().filter(|route| !route.body.is_empty()) {
            serde_json::from_str::<Value>(route.body).expect(route.path);
            assert_eq!(route.method, "POST");
        }
    }
}
