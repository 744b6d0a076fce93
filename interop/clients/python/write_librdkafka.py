#!/usr/bin/env python3
"""Writes the records of standard input with confluent-kafka, which is librdkafka, to partition 0 of each topic; prints topic
and offset of each.

    write_librdkafka.py BOOTSTRAP CODEC:TOPIC... [NAME=VALUE...]

CODEC is none, gzip, snappy, lz4 or zstd. NAME=VALUE is a setting of librdkafka.
"""

import sys

import confluent_kafka

import records

PATIENCE = 20


def main(bootstrap, *words):
    settings = dict(word.split("=", 1) for word in words if "=" in word)
    lines = list(records.read(sys.stdin))
    for codec, topic in (word.split(":", 1) for word in words if "=" not in word):
        producer = confluent_kafka.Producer({
            "bootstrap.servers": bootstrap,
            "compression.type": codec,
            # All in one request, so that a compressed batch holds several records.
            "linger.ms": 200,
            "acks": 1,
            **settings,
        })
        offsets = []

        def delivered(error, message):
            if error is not None:
                sys.exit(f"not delivered: {error}")
            offsets.append(message.offset())

        for timestamp, key, value, headers in lines:
            more = {"headers": headers} if headers else {}
            producer.produce(topic, value=value, key=key, timestamp=timestamp, partition=0, on_delivery=delivered, **more)
        if producer.flush(PATIENCE) != 0 or len(offsets) != len(lines):
            sys.exit(f"only {len(offsets)} of {len(lines)} records were delivered")
        for offset in offsets:
            print(topic, offset)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
