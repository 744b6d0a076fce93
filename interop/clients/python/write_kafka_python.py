#!/usr/bin/env python3
"""Writes the records of standard input with kafka-python to partition 0 of each topic; prints topic and offset of each.

    write_kafka_python.py BOOTSTRAP CODEC:TOPIC... [api_version=RELEASE]

CODEC is none, gzip, snappy, lz4 or zstd. With api_version, such as 0.9, it speaks as to a broker of that release.
"""

import sys

import kafka

import records

PATIENCE = 20


def main(bootstrap, *words):
    options = dict(word.split("=", 1) for word in words if "=" in word)
    if "api_version" in options:
        options["api_version"] = tuple(int(part) for part in options["api_version"].split("."))
    lines = list(records.read(sys.stdin))
    for codec, topic in (word.split(":", 1) for word in words if "=" not in word):
        producer = kafka.KafkaProducer(
            bootstrap_servers=bootstrap,
            compression_type=None if codec == "none" else codec,
            # All in one request, so that a compressed batch holds several records.
            linger_ms=200,
            batch_size=500_000,
            acks=1,
            **options,
        )
        futures = [
            producer.send(
                topic, value=value, key=key, timestamp_ms=timestamp, partition=0, **({"headers": headers} if headers else {})
            )
            for timestamp, key, value, headers in lines
        ]
        producer.flush(timeout=PATIENCE)
        for future in futures:
            print(topic, future.get(timeout=PATIENCE).offset)
        producer.close()


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
