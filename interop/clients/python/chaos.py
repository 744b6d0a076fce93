#!/usr/bin/env python3
"""Writes while brokers fail, with confluent-kafka, which is librdkafka; prints what it knows of each write.

    chaos.py BOOTSTRAP SECONDS CLIENTS PARTITIONS

Half of the clients are idempotent producers to the topic `plain`, half of them transactional producers to the topic `tx`.
A line of the output is one of these:

    A TOPIC PARTITION OFFSET VALUE    the broker acknowledged a record
    C VALUE...                        a transaction was committed
    X VALUE...                        a transaction was aborted
    U VALUE...                        a transaction ended, and the client does not know how
"""

import os
import sys
import threading
import time

from confluent_kafka import KafkaException, Producer

BOOTSTRAP, SECONDS, CLIENTS, PARTITIONS = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
END = time.monotonic() + SECONDS
# For what is in progress at the end.
PATIENCE = 60
LOCK = threading.Lock()
# librdkafka wants it to be no less than message.timeout.ms.
TRANSACTIONAL = {"transaction.timeout.ms": 30_000}


def say(*words):
    with LOCK:
        print(*words, flush=True)


def config(name, **more):
    return {
        "bootstrap.servers": BOOTSTRAP,
        "client.id": name,
        "acks": "all",
        "enable.idempotence": True,
        "linger.ms": 2,
        "message.timeout.ms": 20_000,
        "socket.timeout.ms": 3_000,
        "reconnect.backoff.max.ms": 500,
        "retry.backoff.max.ms": 300,
        "log_level": 0,
        **more,
    }


def acknowledged(error, message):
    if error is None:
        say("A", message.topic(), message.partition(), message.offset(), message.value().decode())


def plain(number):
    """One producer after the other: a fatal error ends one, as the order of its records could not be kept."""
    sent = 0
    while time.monotonic() < END:
        fatal = threading.Event()
        name = f"rd-{number}"
        producer = Producer(config(name, error_cb=lambda error: fatal.set() if error.fatal() else None))
        while time.monotonic() < END and not fatal.is_set():
            try:
                producer.produce("plain", f"{name}-{sent}", partition=sent % PARTITIONS, on_delivery=acknowledged)
                producer.poll(0.02)
            except (BufferError, KafkaException):
                # The error of a record is reported to its callback; a fatal one ends the loop.
                pass
            sent += 1
        producer.flush(PATIENCE)


def transactional(number):
    name, transaction = f"rdtx-{number}", 0
    while time.monotonic() < END:
        producer = Producer(config(name, **TRANSACTIONAL, **{"transactional.id": name}))
        try:
            initialise(producer)
            while time.monotonic() < END:
                transaction += 1
                if not one_transaction(producer, name, transaction):
                    break
        except KafkaException:
            pass


def initialise(producer):
    while True:
        try:
            return producer.init_transactions(20)
        except KafkaException as error:
            if not error.args[0].retriable() or time.monotonic() > END + PATIENCE:
                raise


def one_transaction(producer, name, transaction):
    """Writes and ends a transaction; False when the producer cannot go on."""
    values = [f"{name}-{transaction}-{part}" for part in range(3)]
    producer.begin_transaction()
    try:
        for part, value in enumerate(values):
            producer.produce("tx", value, partition=(transaction + part) % PARTITIONS)
        if transaction % 4 == 0:
            return end(producer.abort_transaction, "X", values)
        return end(producer.commit_transaction, "C", values)
    except KafkaException as error:
        if not error.args[0].txn_requires_abort():
            say("U", *values)
            return False
    try:
        return end(producer.abort_transaction, "X", values)
    except KafkaException:
        say("U", *values)
        return False


def end(call, outcome, values):
    """Ends a transaction, again while that is of use."""
    while True:
        try:
            call(20)
            say(outcome, *values)
            time.sleep(0.05)
            return True
        except KafkaException as error:
            if not error.args[0].retriable() or time.monotonic() > END + PATIENCE:
                raise


def fail(args):
    """A client that ends early would be a test that cannot fail."""
    threading.__excepthook__(args)
    os._exit(1)


threading.excepthook = fail
threads = [threading.Thread(target=transactional if n % 2 else plain, args=(n,)) for n in range(CLIENTS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
