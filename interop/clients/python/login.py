#!/usr/bin/env python3
"""Logs in to brokers, writes a record to a new topic, and reads it back.

    login.py CLIENT FOLDER 'EXPECTED ADDRESS PROTOCOL MECHANISM PASSWORD SECONDS'...

CLIENT is librdkafka or kafka-python. The user is alice. FOLDER has ca.pem, client.pem and client.key. EXPECTED is ok or
refused; the client goes on to write for SECONDS. Exits with 0 if everything was as expected.
"""

import base64
import json
import logging
import sys
import time
import uuid


def token():
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    now = time.time()
    return f'{part({"alg": "none"})}.{part({"sub": "alice", "iat": now - 1, "exp": now + 3600})}.', now + 3600


class Librdkafka:
    @staticmethod
    def round_trip(folder, address, protocol, mechanism, password, seconds):
        import confluent_kafka

        errors = []
        settings = {
            "bootstrap.servers": address,
            "security.protocol": protocol,
            "error_cb": errors.append,
            "logger": Quiet(),
        }
        if mechanism != "-":
            settings["sasl.mechanism"] = mechanism
        if mechanism == "OAUTHBEARER":
            settings["oauth_cb"] = lambda _: token()
        elif mechanism != "-":
            settings.update({"sasl.username": "alice", "sasl.password": password})
        if "SSL" in protocol:
            settings["ssl.ca.location"] = f"{folder}/ca.pem"
        if protocol == "SSL":
            settings["ssl.certificate.location"] = f"{folder}/client.pem"
            settings["ssl.key.location"] = f"{folder}/client.key"
        topic = f"login-{uuid.uuid4()}"
        producer = confluent_kafka.Producer(settings)
        count = 0
        end = time.monotonic() + seconds
        while count == 0 or time.monotonic() < end:
            delivered = []
            producer.produce(topic, b"hello", on_delivery=lambda error, _: delivered.append(error))
            patience = time.monotonic() + 15
            while not delivered and time.monotonic() < patience:
                producer.poll(0.1)
                if any(error.code() == confluent_kafka.KafkaError._AUTHENTICATION for error in errors):
                    return "refused"
            if delivered != [None]:
                return f"not delivered: {delivered} {errors}"
            count += 1
            time.sleep(0.2 if seconds else 0)
        consumer = confluent_kafka.Consumer({**settings, "group.id": topic, "auto.offset.reset": "earliest"})
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        message = consumer.poll(15)
        consumer.close()
        if message is None or message.error() is not None or message.value() != b"hello":
            return f"read {message and (message.error() or message.value())}"
        if seconds and errors:
            return f"errors on the way: {errors}"
        return "ok"


class KafkaPython:
    @staticmethod
    def round_trip(folder, address, protocol, mechanism, password, seconds):
        import kafka
        from kafka.errors import KafkaError
        from kafka.net.sasl.oauth import AbstractTokenProvider

        class Provider(AbstractTokenProvider):
            def token(self):
                return token()[0]

        settings = {"bootstrap_servers": address, "security_protocol": protocol, "bootstrap_timeout_ms": 5000}
        if mechanism != "-":
            settings["sasl_mechanism"] = mechanism
        if mechanism == "OAUTHBEARER":
            settings["sasl_oauth_token_provider"] = Provider()
        elif mechanism != "-":
            settings.update(sasl_plain_username="alice", sasl_plain_password=password)
        if "SSL" in protocol:
            settings["ssl_cafile"] = f"{folder}/ca.pem"
        if protocol == "SSL":
            settings.update(ssl_certfile=f"{folder}/client.pem", ssl_keyfile=f"{folder}/client.key")
        topic = f"login-{uuid.uuid4()}"
        heard = Lines()
        logging.getLogger("kafka").addHandler(heard)
        try:
            producer = kafka.KafkaProducer(**settings)
            producer.send(topic, b"hello").get(timeout=15)
            producer.close()
        except KafkaError as error:
            # It tries until the timeout, and says only in its log why.
            refused = any("Authentication failed" in line for line in heard.lines)
            return "refused" if refused else repr(error)
        finally:
            logging.getLogger("kafka").removeHandler(heard)
        consumer = kafka.KafkaConsumer(topic, auto_offset_reset="earliest", consumer_timeout_ms=15000, **settings)
        value = next((record.value for record in consumer), None)
        consumer.close()
        return "ok" if value == b"hello" else f"read {value}"


class Lines(logging.Handler):
    """What was logged."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


class Quiet:
    """A logger that says nothing: refused logins are expected."""

    def log(self, *_, **__):
        pass


def main(client, folder, *lines):
    logging.getLogger("kafka").propagate = False
    program = {"librdkafka": Librdkafka, "kafka-python": KafkaPython}[client]
    failed = 0
    for line in lines:
        expected, address, protocol, mechanism, password, seconds = line.split()
        found = program.round_trip(folder, address, protocol, mechanism, password, int(seconds))
        print(f"{line}: {found}", flush=True)
        failed += found != expected
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
