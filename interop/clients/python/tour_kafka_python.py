#!/usr/bin/env python3
"""As many APIs as kafka-python has: topics, records, groups, transactions, administration.

    tour_kafka_python.py BOOTSTRAP

Exits with 0 if all round trips were right. Steps for which the broker is too old are skipped, and told as such.
"""

import sys
import time
import uuid

import kafka
from kafka.admin import (
    ACL, ACLFilter, ACLOperation, ACLPermissionType, ACLResourcePatternType, ConfigResource, ConfigResourceType,
    KafkaAdminClient, NewPartitions, NewTopic, OffsetSpec, ResourcePattern, ResourcePatternFilter, ResourceType,
)

from tour import TooOld, Tour, same, served

PATIENCE = 30
RUN = uuid.uuid4().hex[:8]
TOPIC, OTHER = f"tour-kp-{RUN}", f"tour-kp-{RUN}-other"
GROUP = f"tour-kp-group-{RUN}"


def too_old(error):
    text = f"{type(error).__name__} {error}"
    return any(word in text for word in (
        "UnsupportedVersion", "IncompatibleBrokerVersion", "UnsupportedFeature", "SecurityDisabled", "not supported by broker",
        "does not support", "Unsupported",
    ))


def main(bootstrap):
    tour = Tour(too_old)
    apis = served(bootstrap)
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    sent = []

    def need(api, what):
        if api not in apis:
            raise TooOld(f"the broker does not serve {what}")

    def create():
        admin.create_topics([NewTopic(TOPIC, 2, 1), NewTopic(OTHER, 1, 1, topic_configs={"retention.ms": "-1"})])

    def produce(codec, acks="all", idempotent=False):
        if codec == "zstd":
            # zstd came with the release that came before this API.
            need(43, "ElectLeaders")
        producer = kafka.KafkaProducer(
            bootstrap_servers=bootstrap, compression_type=codec, acks=acks, enable_idempotence=idempotent, linger_ms=50)
        headers = {"headers": [("n", b"1"), ("empty", b"")]} if 22 in apis else {}
        values = [f"{codec} {acks} {idempotent} {n} ".encode() * 10 for n in range(8)]
        futures = [
            producer.send(OTHER, value=value, key=None if n % 2 else b"k%d" % n, partition=0,
                          timestamp_ms=int(time.time() * 1000), **headers)
            for n, value in enumerate(values)
        ]
        producer.flush(timeout=PATIENCE)
        for future in futures:
            future.get(timeout=PATIENCE)
        producer.close()
        sent.extend(values)

    def poll(consumer, isWhole):
        found, end = [], time.monotonic() + PATIENCE
        while not isWhole(found) and time.monotonic() < end:
            for batch in consumer.poll(timeout_ms=500).values():
                found += [record.value for record in batch]
        return found

    def read_all(**more):
        consumer = kafka.KafkaConsumer(bootstrap_servers=bootstrap, group_id=None, enable_auto_commit=False, **more)
        partition = kafka.TopicPartition(OTHER, 0)
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        found = poll(consumer, lambda found: len(found) >= len(sent))
        consumer.close()
        return same(sorted(found), sorted(sent))

    def times():
        consumer = kafka.KafkaConsumer(bootstrap_servers=bootstrap)
        partition = kafka.TopicPartition(OTHER, 0)
        found = consumer.offsets_for_times({partition: 1})[partition].offset
        ends = consumer.beginning_offsets([partition])[partition], consumer.end_offsets([partition])[partition]
        consumer.close()
        return same((found, *ends), (0, 0, len(sent)))

    def group(name, **more):
        values = [f"{name} {n}".encode() for n in range(20)]
        producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, linger_ms=20)
        for n, value in enumerate(values):
            producer.send(TOPIC, value=value, partition=n % 2)
        producer.flush(timeout=PATIENCE)
        producer.close()
        consumer = kafka.KafkaConsumer(
            TOPIC, bootstrap_servers=bootstrap, group_id=name, enable_auto_commit=False, auto_offset_reset="earliest",
            heartbeat_interval_ms=500, session_timeout_ms=10_000, **more)
        found = poll(consumer, lambda found: set(values) <= set(found))
        consumer.commit()
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            consumer.poll(timeout_ms=200)
        committed = sum(consumer.committed(partition) or 0 for partition in consumer.assignment())
        consumer.close()
        same(set(values) <= set(found), True)
        return f"{len(found)} records, committed up to {committed} in all"

    def transaction():
        need(22, "InitProducerId")
        producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, transactional_id=f"tour-kp-{RUN}", linger_ms=20)
        producer.init_transactions()
        kept = [f"kept {n}".encode() for n in range(3)]
        producer.begin_transaction()
        for value in kept:
            producer.send(OTHER, value=value, partition=0)
        producer.send_offsets_to_transaction(
            {kafka.TopicPartition(TOPIC, 0): kafka.OffsetAndMetadata(1, "", -1)}, GROUP)
        producer.commit_transaction()
        producer.begin_transaction()
        producer.send(OTHER, value=b"thrown away", partition=0)
        producer.flush(timeout=PATIENCE)
        producer.abort_transaction()
        producer.close()
        sent.extend(kept)
        return read_all(isolation_level="read_committed")

    def call(name, *arguments, **named):
        answer = getattr(admin, name)(*arguments, **named)
        return None if answer is None else type(answer).__name__

    def describe_cluster():
        try:
            call("describe_cluster")
        except KeyError as error:
            raise TooOld(f"kafka-python expects {error}, which came later") from error

    def configs():
        answer = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, OTHER)])
        return same("retention.ms" in repr(answer), True)

    def acls():
        acl = ACL("User:nobody", "*", ACLOperation.READ, ACLPermissionType.ALLOW, ResourcePattern(ResourceType.TOPIC, TOPIC))
        admin.create_acls([acl])
        wanted = ACLFilter(None, "*", ACLOperation.ANY, ACLPermissionType.ANY,
                           ResourcePatternFilter(ResourceType.TOPIC, TOPIC, ACLResourcePatternType.ANY))
        found, _ = admin.describe_acls(wanted)
        admin.delete_acls([wanted])
        return len(found)

    def idempotent():
        need(22, "InitProducerId")
        produce("gzip", "all", True)

    def static_group():
        # Static members came with the release that came before this API.
        need(44, "IncrementalAlterConfigs")
        return group(GROUP + "-static", group_instance_id="one")

    partition = kafka.TopicPartition(OTHER, 0)
    topic = ConfigResource(ConfigResourceType.TOPIC, OTHER, {"retention.ms": "-1"})
    tour.step("create topics", create)
    tour.step("list topics", lambda: same({TOPIC, OTHER} <= set(admin.list_topics()), True))
    tour.step("describe topics", lambda: same(len(admin.describe_topics([TOPIC, OTHER])), 2))
    tour.step("describe topics in pieces", call, "describe_topic_partitions", [TOPIC, OTHER])
    tour.step("describe cluster", describe_cluster)
    for codec in (None, "gzip", "snappy", "lz4", "zstd"):
        tour.step(f"produce with {codec or 'none'}", produce, codec)
    for acks in (0, 1):
        tour.step(f"produce with acks {acks}", produce, "gzip", acks)
    tour.step("produce idempotently", idempotent)
    tour.step("read all", read_all)
    tour.step("offsets by time", times)
    tour.step("group", group, GROUP)
    tour.step("group with a static member", static_group)
    tour.step("list groups", call, "list_groups")
    tour.step("describe groups", call, "describe_groups", [GROUP])
    tour.step("offsets of a group", call, "list_group_offsets", [GROUP])
    tour.step("transactions", transaction)
    tour.step("alter offsets of a group", call, "alter_group_offsets", GROUP,
              {kafka.TopicPartition(TOPIC, 1): kafka.OffsetAndMetadata(2, "", -1)})
    for spec in OffsetSpec:
        tour.step(f"list offsets: {spec.name}", call, "list_partition_offsets", {partition: spec})
    tour.step("list transactions", call, "list_transactions")
    tour.step("describe transactions", call, "describe_transactions", [f"tour-kp-{RUN}"])
    tour.step("describe producers", call, "describe_producers", [partition])
    tour.step("describe features", call, "describe_features")
    tour.step("quorum", call, "describe_metadata_quorum")
    tour.step("SCRAM users", call, "describe_user_scram_credentials")
    tour.step("describe configs", configs)
    tour.step("list config resources", call, "list_config_resources")
    tour.step("alter configs step by step", call, "alter_configs", [topic], incremental=True)
    tour.step("alter configs", call, "alter_configs", [topic], incremental=False)
    tour.step("create partitions", call, "create_partitions", {TOPIC: NewPartitions(3)})
    tour.step("list reassignments", call, "list_partition_reassignments")
    tour.step("log directories", call, "describe_log_dirs")
    tour.step("access rules", acls)
    tour.step("delete records", call, "delete_records", {partition: 5})
    tour.step("elect leaders", call, "elect_leaders", 0, {TOPIC: [0]}, raise_errors=False)
    tour.step("delete offsets of a group", call, "delete_group_offsets", GROUP, [kafka.TopicPartition(TOPIC, 0)])
    tour.step("delete groups", call, "delete_groups", [GROUP])
    tour.step("delete topics", call, "delete_topics", [TOPIC, OTHER])
    admin.close()
    return tour.end()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
