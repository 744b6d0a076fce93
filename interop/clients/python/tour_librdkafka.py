#!/usr/bin/env python3
"""As many APIs as confluent-kafka, which is librdkafka, has: topics, records, groups, transactions, administration.

    tour_librdkafka.py BOOTSTRAP

Exits with 0 if all round trips were right. Steps for which the broker is too old are skipped, and told as such.
"""

import sys
import time
import uuid

from confluent_kafka import (
    OFFSET_BEGINNING, OFFSET_END, Consumer, ConsumerGroupTopicPartitions, ElectionType, IsolationLevel, KafkaError,
    KafkaException, Producer, TopicCollection, TopicPartition,
)
from confluent_kafka.admin import (
    AclBinding, AclBindingFilter, AclOperation, AclPermissionType, AdminClient, AlterConfigOpType, ConfigEntry,
    ConfigResource, ConfigSource, NewPartitions, NewTopic, OffsetSpec, ResourcePatternType, ResourceType,
)

from tour import TooOld, Tour, same, served

PATIENCE = 30
RUN = uuid.uuid4().hex[:8]
TOPIC, OTHER = f"tour-rd-{RUN}", f"tour-rd-{RUN}-other"
GROUP = f"tour-rd-group-{RUN}"
LACKING = {KafkaError._UNSUPPORTED_FEATURE, KafkaError.UNSUPPORTED_VERSION, KafkaError.SECURITY_DISABLED}


def too_old(error):
    return isinstance(error, KafkaException) and error.args[0].code() in LACKING


def main(bootstrap):
    base = {"bootstrap.servers": bootstrap}
    admin = AdminClient(base)
    tour = Tour(too_old)
    apis = served(bootstrap)
    sent = []

    def result(futures):
        return {key: future.result(PATIENCE) for key, future in futures.items()}

    def create():
        result(admin.create_topics([NewTopic(TOPIC, 2, 1), NewTopic(OTHER, 1, 1, config={"retention.ms": "-1"})]))
        # What comes back too soon may not know the leaders yet.
        for topic in (TOPIC, OTHER):
            end = time.monotonic() + PATIENCE
            while time.monotonic() < end:
                known = admin.list_topics(topic, timeout=PATIENCE).topics[topic]
                if known.error is None and all(p.leader >= 0 for p in known.partitions.values()):
                    break
                time.sleep(0.1)

    def need(api, what):
        if api not in apis:
            raise TooOld(f"the broker does not serve {what}")

    def produce(codec, acks="all", idempotent=False):
        if idempotent:
            need(22, "InitProducerId")
        producer = Producer({
            **base, "compression.type": codec, "acks": acks, "enable.idempotence": idempotent, "linger.ms": 100,
        })
        values, delivered = [], []

        def callback(error, message):
            if error is not None:
                raise KafkaException(error)
            delivered.append(message.offset())

        for n in range(10):
            value = f"{codec} {acks} {n} ".encode() * 10
            producer.produce(OTHER, key=None if n % 2 else b"k%d" % n, value=value, partition=0, on_delivery=callback,
                             timestamp=int(time.time() * 1000), headers=[("n", str(n).encode()), ("empty", b"")])
            values.append(value)
        left = producer.flush(PATIENCE)
        sent.extend(values)
        same((left, len(delivered)), (0, 10))

    def read_all(**more):
        consumer = Consumer({**base, "group.id": GROUP + "-none", "enable.auto.commit": False, "check.crcs": True, **more})
        consumer.assign([TopicPartition(OTHER, 0, OFFSET_BEGINNING)])
        found, end = [], time.monotonic() + PATIENCE
        while len(found) < len(sent) and time.monotonic() < end:
            message = consumer.poll(0.5)
            if message is not None:
                if message.error():
                    raise KafkaException(message.error())
                found.append(message.value())
        consumer.close()
        return same(sorted(found), sorted(sent))

    def group(name, **more):
        values = [f"{name} {n}".encode() for n in range(20)]
        producer = Producer({**base, "linger.ms": 20})
        for n, value in enumerate(values):
            producer.produce(TOPIC, value=value, partition=n % 2)
        producer.flush(PATIENCE)
        consumer = Consumer({
            **base, "group.id": name, "enable.auto.commit": False, "auto.offset.reset": "earliest", **more,
        })
        consumer.subscribe([TOPIC])
        found, end = [], time.monotonic() + PATIENCE
        while not set(values) <= set(found) and time.monotonic() < end:
            message = consumer.poll(0.5)
            if message is not None:
                if message.error():
                    raise KafkaException(message.error())
                found.append(message.value())
        consumer.commit(asynchronous=False)
        committed = consumer.committed(consumer.assignment(), timeout=PATIENCE)
        position = sum(partition.offset for partition in committed)
        # A second later its heartbeat has been seen.
        end = time.monotonic() + 4
        while time.monotonic() < end:
            consumer.poll(0.2)
        consumer.close()
        same(set(values) <= set(found), True)
        return f"{len(found)} records, committed up to {position} in all"

    def new_group():
        need(68, "ConsumerGroupHeartbeat")
        return group(GROUP + "-new", **{"group.protocol": "consumer"})

    def times():
        consumer = Consumer({**base, "group.id": GROUP + "-none"})
        found = consumer.offsets_for_times([TopicPartition(OTHER, 0, 1)], timeout=PATIENCE)[0].offset
        ends = consumer.get_watermark_offsets(TopicPartition(OTHER, 0), timeout=PATIENCE)
        consumer.close()
        same(found in (0, OFFSET_END), True)
        return f"{found}, from {ends[0]} to {ends[1]}"

    def transaction():
        producer = Producer({**base, "transactional.id": f"tour-rd-{RUN}", "linger.ms": 20})
        producer.init_transactions(PATIENCE)
        consumer = Consumer({**base, "group.id": GROUP, "auto.offset.reset": "earliest", "enable.auto.commit": False})
        consumer.subscribe([TOPIC])
        end = time.monotonic() + PATIENCE
        while not consumer.assignment() and time.monotonic() < end:
            consumer.poll(0.2)
        kept = [f"kept {n}".encode() for n in range(3)]
        producer.begin_transaction()
        for value in kept:
            producer.produce(OTHER, value=value, partition=0)
        producer.send_offsets_to_transaction(
            [TopicPartition(TOPIC, 0, 1)], consumer.consumer_group_metadata(), PATIENCE)
        producer.commit_transaction(PATIENCE)
        producer.begin_transaction()
        producer.produce(OTHER, value=b"thrown away", partition=0)
        producer.flush(PATIENCE)
        producer.abort_transaction(PATIENCE)
        consumer.close()
        sent.extend(kept)
        return read_all(**{"isolation.level": "read_committed"})

    def configs():
        resource = ConfigResource(ResourceType.TOPIC, OTHER)
        broker = ConfigResource(ResourceType.BROKER, str(next(iter(admin.list_topics(timeout=PATIENCE).brokers))))
        found = result(admin.describe_configs([resource, broker]))
        return same(found[resource]["retention.ms"].value, "-1")

    def incremental():
        resource = ConfigResource(ResourceType.TOPIC, OTHER, incremental_configs=[
            ConfigEntry("max.message.bytes", "123456", source=ConfigSource.DYNAMIC_TOPIC_CONFIG,
                        incremental_operation=AlterConfigOpType.SET)])
        result(admin.incremental_alter_configs([resource]))

    def alter():
        result(admin.alter_configs([ConfigResource(ResourceType.TOPIC, OTHER, set_config={"retention.ms": "-1"})]))

    def groups():
        listed = [one.group_id for one in admin.list_consumer_groups(request_timeout=PATIENCE).result(PATIENCE).valid]
        return same(GROUP in listed, True)

    def old_groups():
        return len(admin.list_groups(GROUP, timeout=PATIENCE))

    def describe_groups():
        return result(admin.describe_consumer_groups([GROUP]))[GROUP].state.name

    def group_offsets():
        wanted = ConsumerGroupTopicPartitions(GROUP, [TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)])
        return [p.offset for p in result(admin.list_consumer_group_offsets([wanted]))[GROUP].topic_partitions]

    def alter_group_offsets():
        wanted = ConsumerGroupTopicPartitions(GROUP, [TopicPartition(TOPIC, 1, 2)])
        result(admin.alter_consumer_group_offsets([wanted]))

    def list_offsets():
        partition = TopicPartition(OTHER, 0)
        ends = [
            result(admin.list_offsets({partition: spec}, isolation_level=level))[partition].offset
            for spec in (OffsetSpec.earliest(), OffsetSpec.latest(), OffsetSpec.for_timestamp(1), OffsetSpec.max_timestamp())
            for level in (IsolationLevel.READ_UNCOMMITTED, IsolationLevel.READ_COMMITTED)
        ]
        return same(ends[0], 0) or ends

    def acls():
        acl = AclBinding(ResourceType.TOPIC, TOPIC, ResourcePatternType.LITERAL, "User:nobody", "*",
                         AclOperation.READ, AclPermissionType.ALLOW)
        result(admin.create_acls([acl]))
        wanted = AclBindingFilter(ResourceType.ANY, None, ResourcePatternType.ANY, None, None,
                                  AclOperation.ANY, AclPermissionType.ANY)
        found = len(admin.describe_acls(wanted).result(PATIENCE))
        result(admin.delete_acls([wanted]))
        return found

    def describe_acls():
        wanted = AclBindingFilter(ResourceType.ANY, None, ResourcePatternType.ANY, None, None,
                                  AclOperation.ANY, AclPermissionType.ANY)
        return len(admin.describe_acls(wanted).result(PATIENCE))

    def delete_records():
        return result(admin.delete_records([TopicPartition(OTHER, 0, 5)]))[TopicPartition(OTHER, 0)].low_watermark

    def elect():
        admin.elect_leaders(ElectionType.PREFERRED, [TopicPartition(TOPIC, 0)]).result(PATIENCE)

    def describe_cluster():
        return len(admin.describe_cluster(request_timeout=PATIENCE).result(PATIENCE).nodes)

    def describe_topics():
        return len(result(admin.describe_topics(TopicCollection([TOPIC, OTHER]))))

    known = admin.list_topics(timeout=PATIENCE)
    print(f"ok    metadata: {len(known.brokers)} brokers", flush=True)
    tour.step("create topics", create)
    tour.step("describe topics", describe_topics)
    tour.step("describe cluster", describe_cluster)
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        tour.step(f"produce with {codec}", produce, codec)
    for acks in (0, 1):
        tour.step(f"produce with acks {acks}", produce, "gzip", acks)
    tour.step("produce idempotently", produce, "lz4", "all", True)
    tour.step("read all", read_all)
    tour.step("offsets by time", times)
    tour.step("group", group, GROUP)
    tour.step("group with cooperative assignment", lambda: group(
        GROUP + "-coop", **{"partition.assignment.strategy": "cooperative-sticky", "group.instance.id": "one"}))
    tour.step("group of the new protocol", new_group)
    tour.step("list groups", groups)
    tour.step("list groups the old way", old_groups)
    tour.step("describe groups", describe_groups)
    tour.step("offsets of a group", group_offsets)
    tour.step("transactions", transaction)
    tour.step("alter offsets of a group", alter_group_offsets)
    tour.step("list offsets", list_offsets)
    tour.step("describe configs", configs)
    tour.step("alter configs step by step", incremental)
    tour.step("alter configs", alter)
    tour.step("create partitions", lambda: result(admin.create_partitions([NewPartitions(TOPIC, 3)])) and None)
    tour.step("elect leaders", elect)
    tour.step("describe SCRAM users", lambda: admin.describe_user_scram_credentials().result(PATIENCE) and None)
    tour.step("access rules", acls)
    tour.step("describe access rules", describe_acls)
    tour.step("delete records", delete_records)
    tour.step("delete group", lambda: result(admin.delete_consumer_groups([GROUP])) and None)
    tour.step("delete topics", lambda: result(admin.delete_topics([TOPIC, OTHER])) and None)
    return tour.end()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
