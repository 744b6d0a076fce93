#!/usr/bin/env python3
"""Produces and consumes with kafka-python and confluent-kafka, each reading what the other wrote.

    each_other.py BOOTSTRAP

Needs kafka-python and confluent-kafka. kafka-python leaves snappy, lz4 and zstd to other packages (python-snappy, lz4,
zstandard); where one is missing, its codec is left to confluent-kafka alone. Partitions are assigned by hand: no groups
are used. Topics have new names in each run and are deleted at the end. Prints a line per check; exits with 1 when
anything is not as it was written, with 2 when called in another way.
"""

import argparse
import sys
import time
import uuid

import confluent_kafka
import confluent_kafka.admin
import kafka
import kafka.admin
import kafka.codec

CODECS = [None, "gzip", "snappy", "lz4", "zstd"]
# Long ago, and not in order.
BASE = 1_600_000_000_000
# Seconds that any single step may take.
PATIENCE = 20


def samples(codec, client):
    """Records as (key, value, headers, timestamp): all that null and empty can be told apart in."""
    null_header = [("null", None)] if client.null_headers else []
    text = str(codec).encode()
    return [
        (b"key", b"value " + text, [], BASE + 5),
        (None, b"no key", [("trace", b"7f")], BASE + 1),
        (b"tombstone", None, null_header + [("empty", b"")], BASE + 2),
        (b"", b"", [("twice", b"a"), ("twice", b"b")], BASE + 9),
        (b"large", text * 20_000, [("\u00fc", "\u00e4".encode())], BASE + 3),
    ]


def check(what, found, expected):
    if found == expected:
        print(f"ok    {what}")
        return True
    print(f"WRONG {what}\n  found    {found!r:.2000}\n  expected {expected!r:.2000}")
    return False


class Python:
    """kafka-python."""

    name = f"kafka-python {kafka.__version__}"
    # It takes none to write.
    null_headers = False

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap

    def has(self, codec):
        return codec is None or getattr(kafka.codec, f"has_{codec}")()

    def produce(self, topic, records, codec=None, acks="all", idempotent=False):
        producer = kafka.KafkaProducer(
            bootstrap_servers=self.bootstrap,
            compression_type=codec,
            acks=acks,
            enable_idempotence=idempotent,
            linger_ms=50,
        )
        futures = [
            producer.send(topic, value=value, key=key, headers=headers, timestamp_ms=timestamp, partition=0)
            for key, value, headers, timestamp in records
        ]
        producer.flush(timeout=PATIENCE)
        offsets = [future.get(timeout=PATIENCE).offset for future in futures]
        producer.close()
        return offsets

    def consumer(self):
        return kafka.KafkaConsumer(bootstrap_servers=self.bootstrap, group_id=None, enable_auto_commit=False)

    def consume(self, topic, offset, count):
        consumer = self.consumer()
        partition = kafka.TopicPartition(topic, 0)
        consumer.assign([partition])
        consumer.seek(partition, offset)
        records, deadline = [], time.monotonic() + PATIENCE
        while len(records) < count and time.monotonic() < deadline:
            for record in consumer.poll(timeout_ms=500).get(partition, []):
                records.append((record.key, record.value, [tuple(h) for h in record.headers], record.timestamp))
        consumer.close()
        return records

    def ends(self, topic):
        consumer = self.consumer()
        partition = kafka.TopicPartition(topic, 0)
        ends = consumer.beginning_offsets([partition])[partition], consumer.end_offsets([partition])[partition]
        consumer.close()
        return ends

    def offset_at(self, topic, timestamp):
        consumer = self.consumer()
        partition = kafka.TopicPartition(topic, 0)
        found = consumer.offsets_for_times({partition: timestamp})[partition]
        consumer.close()
        return None if found is None else found.offset


class Confluent:
    """confluent-kafka, which is librdkafka."""

    name = f"confluent-kafka {confluent_kafka.version()} on librdkafka {confluent_kafka.libversion()[0]}"
    null_headers = True

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap

    def has(self, codec):
        return True

    def produce(self, topic, records, codec=None, acks="all", idempotent=False):
        producer = confluent_kafka.Producer({
            "bootstrap.servers": self.bootstrap,
            "compression.type": codec or "none",
            "acks": acks,
            "enable.idempotence": idempotent,
            "linger.ms": 50,
        })
        offsets = {}

        def delivered(index):
            def callback(error, message):
                offsets[index] = error if error is not None else message.offset()
            return callback

        for index, (key, value, headers, timestamp) in enumerate(records):
            producer.produce(
                topic, value=value, key=key, headers=headers, timestamp=timestamp, partition=0,
                on_delivery=delivered(index),
            )
        producer.flush(PATIENCE)
        return [offsets.get(index) for index in range(len(records))]

    def consumer(self):
        # The group is never used: the library insists on a name.
        return confluent_kafka.Consumer({
            "bootstrap.servers": self.bootstrap,
            "group.id": "not-used",
            "enable.auto.commit": False,
            "check.crcs": True,
            "auto.offset.reset": "error",
        })

    def consume(self, topic, offset, count):
        consumer = self.consumer()
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, offset)])
        records, deadline = [], time.monotonic() + PATIENCE
        while len(records) < count and time.monotonic() < deadline:
            message = consumer.poll(0.5)
            if message is None:
                continue
            if message.error():
                print(f"  {message.error()}")
                continue
            records.append((message.key(), message.value(), message.headers() or [], message.timestamp()[1]))
        consumer.close()
        return records

    def ends(self, topic):
        consumer = self.consumer()
        ends = consumer.get_watermark_offsets(confluent_kafka.TopicPartition(topic, 0), timeout=PATIENCE)
        consumer.close()
        return ends

    def offset_at(self, topic, timestamp):
        consumer = self.consumer()
        wanted = confluent_kafka.TopicPartition(topic, 0, timestamp)
        found = consumer.offsets_for_times([wanted], timeout=PATIENCE)[0]
        consumer.close()
        # librdkafka answers "none" with the end.
        return None if found.offset == confluent_kafka.OFFSET_END else found.offset


class Admin:
    """Topics by both admin clients."""

    def __init__(self, bootstrap):
        self.python = kafka.admin.KafkaAdminClient(bootstrap_servers=bootstrap)
        self.confluent = confluent_kafka.admin.AdminClient({"bootstrap.servers": bootstrap})
        self.topics = []

    def create(self, partitions=1, config=None):
        topic = f"python-clients-{uuid.uuid4()}"
        config = config or {}
        if len(self.topics) % 2 == 0:
            self.python.create_topics([kafka.admin.NewTopic(topic, partitions, 1, topic_configs=config)])
        else:
            new = confluent_kafka.admin.NewTopic(topic, partitions, 1, config=config)
            self.confluent.create_topics([new])[topic].result(PATIENCE)
        self.topics.append(topic)
        return topic

    def partitions(self, topic):
        return len(self.confluent.list_topics(topic, timeout=PATIENCE).topics[topic].partitions)

    def setting(self, topic, name):
        resource = confluent_kafka.admin.ConfigResource(confluent_kafka.admin.ResourceType.TOPIC, topic)
        return self.confluent.describe_configs([resource])[resource].result(PATIENCE)[name].value

    def delete_all(self):
        half = len(self.topics) // 2
        self.python.delete_topics(self.topics[:half])
        for future in self.confluent.delete_topics(self.topics[half:]).values():
            future.result(PATIENCE)
        left, deadline = set(self.topics), time.monotonic() + PATIENCE
        while left and time.monotonic() < deadline:
            left = set(self.topics) & set(self.confluent.list_topics(timeout=PATIENCE).topics)
        self.python.close()
        return left


def run(bootstrap):
    clients = [Python(bootstrap), Confluent(bootstrap)]
    admin = Admin(bootstrap)
    good = True

    for writer in clients:
        for codec in CODECS:
            if not writer.has(codec):
                print(f"skip  {writer.name}, {codec}: not installed")
                continue
            topic, expected = admin.create(), samples(codec, writer)
            offsets = writer.produce(topic, expected, codec)
            what = f"{writer.name}, {codec or 'none'}"
            good &= check(f"{what}: offsets", offsets, list(range(len(expected))))
            for reader in (reader for reader in clients if reader.has(codec)):
                good &= check(f"{what}: as {reader.name} reads it", reader.consume(topic, 0, len(expected)), expected)
                good &= check(f"{what}: from the middle", reader.consume(topic, 3, len(expected) - 3), expected[3:])
                good &= check(f"{what}: ends", tuple(reader.ends(topic)), (0, len(expected)))
                # The first record at or after the time, in the order of offsets.
                times = [reader.offset_at(topic, BASE + ahead) for ahead in (0, 6, 10)]
                good &= check(f"{what}: by time", times, [0, 3, None])

    for writer in clients:
        for acks in (0, 1):
            topic, expected = admin.create(), samples(None, writer)
            writer.produce(topic, expected, acks=acks)
            found = clients[0].consume(topic, 0, len(expected))
            good &= check(f"{writer.name}: acks {acks}", found, expected)
        topic, expected = admin.create(), [(b"k", b"%d" % n, [], BASE + n) for n in range(500)]
        good &= check(f"{writer.name}: idempotent", writer.produce(topic, expected, "gzip", idempotent=True), list(range(500)))
        for reader in clients:
            found = reader.consume(topic, 0, 500)
            good &= check(f"{writer.name}: idempotent, as {reader.name} reads it", found, expected)
        topic = admin.create(3, {"message.timestamp.type": "LogAppendTime", "retention.ms": "12345678"})
        before = int(time.time() * 1000) - 1000
        writer.produce(topic, samples(None, writer), "gzip")
        for reader in clients:
            stamps = [record[3] for record in reader.consume(topic, 0, 5)]
            late = len(stamps) == 5 and all(before <= stamp <= time.time() * 1000 + 1000 for stamp in stamps)
            good &= check(f"{writer.name}: LogAppendTime, as {reader.name} reads it", late, True)
        good &= check("partitions of a topic", admin.partitions(topic), 3)
        good &= check("setting of a topic", admin.setting(topic, "retention.ms"), "12345678")
        topic = f"python-clients-{uuid.uuid4()}"
        good &= check(f"{writer.name}: a topic made by writing to it", writer.produce(topic, samples(None, writer)), [0, 1, 2, 3, 4])
        admin.topics.append(topic)

    good &= check("topics left after deleting them", admin.delete_all(), set())
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bootstrap", nargs="?", help="host:port of a broker")
    parser.add_argument("--bootstrap", dest="option", help="the same as an option")
    arguments = parser.parse_args()
    bootstrap = arguments.option or arguments.bootstrap
    if bootstrap is None:
        parser.error("host:port of a broker is expected")
    return 0 if run(bootstrap) else 1


if __name__ == "__main__":
    sys.exit(main())
