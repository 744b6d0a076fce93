use std::path::Path;

/// The cluster's id: 16 letters in Kafka's base64 form. Always the same, so that nothing depends on chance.
pub(super) const CLUSTER_ID: &str = "bWlsZW5hLWludGVyb3AtMQ";

/// The text of `server.properties`: the first node is broker and controller, others are brokers. Kafka's own defaults,
/// except where few nodes, short lives and few threads ask for less.
///
/// `others` are further listeners: name, security protocol and port.
pub(super) fn server_properties(
    id: usize,
    client_port: u16,
    controller_port: u16,
    others: &[(&str, &str, u16)],
    data: &Path,
) -> String {
    // In a properties file a backslash is an escape; Java takes slashes everywhere.
    let data = data.display().to_string().replace('\\', "/");
    let mut client = format!("CLIENT://127.0.0.1:{client_port}");
    let mut protocols = "CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT".to_owned();
    for (name, protocol, port) in others {
        client.push_str(&format!(",{name}://127.0.0.1:{port}"));
        protocols.push_str(&format!(",{name}:{protocol}"));
    }
    let (roles, listeners) = match id {
        1 => ("broker,controller", format!("{client},CONTROLLER://127.0.0.1:{controller_port}")),
        _ => ("broker", client.clone()),
    };
    // Scenarios write records of 2020. Retention would delete them when it first runs, 30 seconds after the start.
    format!(
        "process.roles={roles}
node.id={id}
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners={listeners}
advertised.listeners={client}
listener.security.protocol.map={protocols}
controller.listener.names=CONTROLLER
inter.broker.listener.name=CLIENT
log.dirs={data}
num.network.threads=2
num.io.threads=4
log.cleaner.dedupe.buffer.size=16777216
log.initial.task.delay.ms=3600000
controlled.shutdown.enable=false
group.initial.rebalance.delay.ms=0
offsets.topic.replication.factor=1
offsets.topic.num.partitions=5
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=5
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=5
"
    )
}

/// Lines for a listener `LOGIN` of [`server_properties`], where users log in by SASL/PLAIN.
pub(super) fn login_listener(users: &[(String, String)]) -> String {
    let users: String = users.iter().map(|(name, password)| format!(" user_{name}=\"{password}\"")).collect();
    let module = "org.apache.kafka.common.security.plain.PlainLoginModule required";
    format!("sasl.enabled.mechanisms=PLAIN\nlistener.name.login.plain.sasl.jaas.config={module}{users};\n")
}

/// The text of `server.properties` of a release that keeps its state in ZooKeeper.
pub(super) fn old_server_properties(id: usize, client_port: u16, zookeeper_port: u16, data: &Path) -> String {
    let data = data.display().to_string().replace('\\', "/");
    format!(
        "broker.id={id}
listeners=PLAINTEXT://127.0.0.1:{client_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{client_port}
zookeeper.connect=127.0.0.1:{zookeeper_port}
zookeeper.connection.timeout.ms=60000
log.dirs={data}
num.network.threads=2
num.io.threads=4
log.cleaner.dedupe.buffer.size=16777216
controlled.shutdown.enable=false
delete.topic.enable=true
group.initial.rebalance.delay.ms=0
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=5
offsets.topic.replication.factor=1
offsets.topic.num.partitions=5
"
    )
}

/// The text of ZooKeeper's own settings.
pub(super) fn zookeeper_properties(port: u16, folder: &Path) -> String {
    let folder = folder.display().to_string().replace('\\', "/");
    format!(
        "dataDir={folder}/zookeeper\nclientPort={port}\nclientPortAddress=127.0.0.1\ntickTime=2000\nmaxClientCnxns=0\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_setting_and_none_comes_twice() {
        let data = Path::new("somewhere");
        for text in [
            server_properties(1, 1234, 1235, &[], data),
            server_properties(2, 1234, 1235, &[("LOGIN", "SASL_PLAINTEXT", 1236)], data),
            old_server_properties(1, 1234, 1235, data),
            zookeeper_properties(1235, data),
        ] {
            let mut keys: Vec<&str> = text.lines().map(|line| line.split_once('=').unwrap().0).collect();
            let count = keys.len();
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len(), count);
            assert!(text.contains("1235"), "{text}");
            assert!(text.contains("somewhere"), "{text}");
        }
    }

    #[test]
    fn the_cluster_id_is_a_uuid_in_kafkas_form() {
        let uuid: milena_wire::Uuid = CLUSTER_ID.parse().unwrap();
        assert_eq!(uuid.to_string(), CLUSTER_ID);
    }
}
