"""Tests with pytest and confluent-kafka against `milena broker`.

    pip install pytest confluent-kafka
    pytest test_letters.py

MILENA is the path of the binary, when it is not on the PATH.
"""

import json
import os
import subprocess
import urllib.request

import pytest
from confluent_kafka import Consumer, KafkaException, Producer


class Broker:
    def __init__(self, *options):
        command = [os.environ.get("MILENA", "milena"), "broker", "--port", "0", "--control", "127.0.0.1:0", "--json"]
        self.process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
        # The line comes when everything is in place.
        ready = json.loads(self.process.stdout.readline())
        self.bootstrap, self.control = ready["bootstrap"], ready["control"]

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.control + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)

    def stop(self):
        self.process.terminate()
        self.process.wait()


@pytest.fixture
def broker():
    broker = Broker("--nodes", "3", "--topic", "letters:1")
    yield broker
    broker.stop()


def send(broker, value, **config):
    outcome = []
    producer = Producer({"bootstrap.servers": broker.bootstrap, "client.id": "app", "acks": "all", **config})
    producer.produce("letters", value, on_delivery=lambda error, message: outcome.append(error or message.offset()))
    producer.flush(30)
    return outcome[0]


def test_a_producer_survives_the_death_of_the_leader(broker):
    assert send(broker, "Dear Franz") == 0
    leader = broker.call("GET", "/topics/letters")["partitions"][0]["leader"]
    broker.call("POST", f"/nodes/{leader}/kill")
    assert send(broker, "Dear Milena") == 1


def test_a_refused_write_is_reported(broker):
    fault = broker.call("POST", "/faults", {"rule": "produce client=app: error TOPIC_AUTHORIZATION_FAILED"})
    assert send(broker, "Dear Max").name() == "TOPIC_AUTHORIZATION_FAILED"
    assert broker.call("GET", f"/faults/{fault['id']}")["fired"] == 1
    produce = broker.call("GET", "/requests?api=Produce&client=app")["requests"][0]
    assert produce["body"]["acks"] == -1


def test_a_reader_commits_what_it_read(broker):
    broker.call("POST", "/topics/letters/records", {"records": [{"value": "Dear Ottla"}]})
    config = {"bootstrap.servers": broker.bootstrap, "group.id": "readers", "auto.offset.reset": "earliest"}
    reader = Consumer({**config, "enable.auto.commit": False})
    reader.subscribe(["letters"])
    message = reader.poll(30)
    assert message.value() == b"Dear Ottla"
    reader.commit(message, asynchronous=False)
    offsets = broker.call("GET", "/groups/readers")["offsets"]
    assert [(offset["topic"], offset["offset"]) for offset in offsets] == [("letters", 1)]
    reader.close()


def test_a_commit_that_fails_raises(broker):
    broker.call("POST", "/topics/letters/records", {"records": [{"value": "Dear Ottla"}]})
    broker.call("POST", "/faults", {"rule": "offsetcommit: error GROUP_AUTHORIZATION_FAILED"})
    config = {"bootstrap.servers": broker.bootstrap, "group.id": "readers", "auto.offset.reset": "earliest"}
    reader = Consumer({**config, "enable.auto.commit": False})
    reader.subscribe(["letters"])
    message = reader.poll(30)
    with pytest.raises(KafkaException):
        reader.commit(message, asynchronous=False)
    reader.close()
