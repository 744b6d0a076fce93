#!/usr/bin/env python3
"""Fills a Kafka broker with every kind of log that `milena decode` reads.

    produce.py --bootstrap HOST:PORT [--scale N] [--old]

Needs confluent-kafka. What it writes: topics of every codec, with log append time, with transactions that were committed
and aborted, compacted, with groups of both protocols, and changes to the metadata. `--old` is for brokers before 0.11: the
formats of magic 0 and 1, and nothing that they lack. `--no-zstd` is for those before 2.1.
"""
import argparse
import random
import sys
import time

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic,
                                   ResourceType)

random.seed(17)
TEXT = "--text" in sys.argv


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--scale", type=int, default=2500, help="records of each codec")
    parser.add_argument("--text", action="store_true", help="keys and values of text alone")
    parser.add_argument("--old", action="store_true", help="a broker before 0.11")
    parser.add_argument("--no-zstd", action="store_true", help="a broker before 2.1")
    parser.add_argument("--again", action="store_true", help="only a few records more, for another leader epoch")
    parser.add_argument("--new-groups", action="store_true", help="a broker from 4.0 on: the groups of KIP-848 too")
    return parser.parse_args()


def record(index):
    """Keys and values of all kinds: null, empty, text, bytes, small and large."""
    noise = lambda size: random.randbytes(size).hex().encode() if TEXT else random.randbytes(size)
    key = [None, b"", b"key-%d" % (index % 50), noise(index % 9)][index % 4]
    value = [b"value %d" % index * (index % 40), None, b"", noise(index % 300)][index % 7 % 4]
    headers = [("h%d" % n, [b"x" * n, None, b""][n % 3]) for n in range(index % 4)] + ([("h0", b"twice")] if index % 4 else [])
    return key, value, headers


def fill(bootstrap, topic, count, headers=True, keys=False, **config):
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "batch.num.messages": 97, **config})
    for index in range(count):
        key, value, found = record(index)
        if keys:
            key = b"key-%d" % (index % 30)
        more = {"headers": found} if headers and found else {}
        while True:
            try:
                producer.produce(topic, value, key, partition=0, timestamp=1_700_000_000_000 + 37 * index, **more)
                break
            except BufferError:
                producer.poll(0.1)
        if index % 500 == 499:
            producer.flush(30)
    left = producer.flush(30)
    if left:
        sys.exit(f"{topic}: {left} records were not delivered")


def transactions(bootstrap, topic, turns):
    """Committed, aborted, empty, and two at the same time whose records are mixed."""
    def producer(name):
        made = Producer({"bootstrap.servers": bootstrap, "transactional.id": name, "linger.ms": 0})
        made.init_transactions(30)
        return made
    one, two = producer("letters-one"), producer("letters-two")
    for turn in range(turns):
        one.begin_transaction()
        two.begin_transaction()
        for index in range(5):
            one.produce(topic, b"one %d %d" % (turn, index), b"k%d" % index, partition=0)
            one.flush(10)
            two.produce(topic, b"two %d %d" % (turn, index), b"k%d" % index, partition=0)
            two.flush(10)
        one.commit_transaction(30) if turn % 3 else one.abort_transaction(30)
        two.abort_transaction(30) if turn % 2 else two.commit_transaction(30)


def group(bootstrap, topic, name, count, commits=3, **config):
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": name, "auto.offset.reset": "earliest",
                         "enable.auto.commit": False, **config})
    consumer.subscribe([topic])
    seen, end = 0, time.monotonic() + 60
    while seen < count and time.monotonic() < end:
        message = consumer.poll(0.5)
        if message is None or message.error():
            continue
        seen += 1
        if seen % max(count // commits, 1) == 0:
            consumer.commit(asynchronous=False)
    consumer.commit(offsets=[TopicPartition(topic, 0, 1, metadata="by hand")], asynchronous=False)
    consumer.close()


def wait(futures):
    for name, future in futures.items():
        try:
            future.result(30)
        except Exception as error:  # noqa: BLE001
            print(f"{name}: {error}", file=sys.stderr)


def main():
    args = parse()
    boot = args.bootstrap
    admin = AdminClient({"bootstrap.servers": boot})

    def topic(name, **config):
        # The records are older than a broker would keep them.
        config = {"retention_ms": "-1", **config}
        return NewTopic(name, 1, 1, config={key.replace("_", "."): value for key, value in config.items()})

    if args.again:
        for name in ["old-0", "old-1"] if args.old else ["mixed", "txn", "compact"]:
            fill(boot, name, min(100, args.scale), headers=not args.old, keys=True)
        return
    if args.old:
        topics = [topic("old-0", message_format_version="0.9.0"), topic("old-1"),
                  topic("old-append", message_timestamp_type="LogAppendTime")]
        codecs = ["none", "gzip", "snappy", "lz4"]
        wait(admin.create_topics(topics))
        time.sleep(2)
        for name in ("old-0", "old-1", "old-append"):
            for codec in codecs:
                fill(boot, name, args.scale, headers=False, **{"compression.codec": codec})
        group(boot, "old-1", "old-readers", min(200, args.scale))
        return
    codecs = ["none", "gzip", "snappy", "lz4"] + ([] if args.no_zstd else ["zstd"])
    topics = [topic(f"letters-{codec}") for codec in codecs]
    topics += [topic("append", message_timestamp_type="LogAppendTime"), topic("mixed"), topic("txn"), topic("gone"),
               topic("compact", cleanup_policy="compact", segment_ms="1000", min_cleanable_dirty_ratio="0.01",
                     delete_retention_ms="600000", segment_bytes="1048576")]
    wait(admin.create_topics(topics))
    time.sleep(2)
    for codec in codecs:
        fill(boot, f"letters-{codec}", args.scale, **{"compression.codec": codec, "enable.idempotence": codec != "none"})
        fill(boot, "mixed", min(200, args.scale), **{"compression.codec": codec})
    fill(boot, "append", args.scale, **{"compression.codec": "lz4"})
    transactions(boot, "txn", 12 if args.scale > 100 else 4)
    for turn in range(5):
        fill(boot, "compact", min(400, 2 * args.scale), keys=True, **{"compression.codec": codecs[turn % len(codecs)], "enable.idempotence": True})
        time.sleep(1.5)
    fill(boot, "compact", 1, keys=True)
    group(boot, "mixed", "readers", 3 * min(200, args.scale))
    group(boot, "txn", "static-readers", 20, **{"group.instance.id": "reader-1"})
    if args.new_groups:
        group(boot, "mixed", "new-readers", 3 * min(200, args.scale), **{"group.protocol": "consumer"})
    wait(admin.create_partitions([NewPartitions("mixed", 2)]))
    change = ConfigResource(ResourceType.TOPIC, "append", incremental_configs=[
        ConfigEntry("retention.ms", "86400000", incremental_operation=AlterConfigOpType.SET)])
    if not args.no_zstd:
        wait(admin.incremental_alter_configs([change]))
    wait(admin.delete_topics(["gone"]))
    wait(admin.delete_consumer_groups(["static-readers"]))
    time.sleep(8)


if __name__ == "__main__":
    main()
