"""Prints, as JSON, what kafka-python 1.4.7 makes of the helpers that `milena-legacy` has too.

    python3 -m venv venv
    venv/bin/pip install kafka-python==1.4.7 python-snappy==0.7.3 lz4==4.4.5 xxhash==4.1.0
    venv/bin/python generate.py > vectors.json

Made on Python 3.11. The output is the same on every run; another zlib may give other bytes where something was
compressed by gzip, and what is inside stays the same.

Bytes are hex; `xx*n` is one byte n times, `count:n` the decimal numbers below n one after the other, null is None.
"""

import binascii
import gzip
import json
import platform
import struct

import kafka.codec
import kafka.structs as s
from kafka.protocol import create_gzip_message, create_message, create_message_set, create_snappy_message
from kafka.protocol import commit, fetch, metadata, offset, produce
from kafka.protocol.legacy import KafkaProtocol as Legacy
from kafka.protocol.message import Message, MessageSet, PartialMessage
from kafka.protocol.offset import OffsetResetStrategy
from kafka.protocol.parser import KafkaProtocol as Parser
from kafka.version import __version__

assert __version__ == "1.4.7"

# Over two blocks of xerial's snappy.
LONG = b"".join(b"%d" % n for n in range(9000))


def hexed(data):
    if data is None:
        return None
    if data == LONG:
        return "count:9000"
    if len(data) > 64 and data == data[:1] * len(data):
        return "%s*%d" % (data[:1].hex(), len(data))
    return bytes(data).hex()


def encoded(message):
    """The method that encodes holds its message by a weak reference, so a name has to keep it."""
    return message.encode()


def shown(message):
    """All that a message says about itself."""
    return {
        "crc": message.crc,
        "magic": message.magic,
        "attributes": message.attributes,
        "timestamp": message.timestamp,
        "key": hexed(message.key),
        "value": hexed(message.value),
        "timestamp_type": message.timestamp_type,
        "valid": message.validate_crc(),
        "compressed": message.is_compressed(),
    }


def items(decoded):
    return [
        "partial" if isinstance(message, PartialMessage) else [off, size, shown(message)] for off, size, message in decoded
    ]


def brief(decoded):
    """Enough to tell two cuts of one set apart."""
    return [
        "partial" if isinstance(message, PartialMessage) else [off, size, message.crc] for off, size, message in decoded
    ]


def attempt(call):
    try:
        return call()
    except Exception as error:  # whatever it is, it is written down
        return {"raises": type(error).__name__}


KEYS = [None, b"", b"key"]
VALUES = [None, b"", b"v", b"\x00\xff" * 150, b"x" * 5000]
TIMES = [0, -1, 1_500_000_000_123, 2**63 - 1, -(2**63)]


def grid():
    for value in VALUES:
        for key in KEYS:
            for attributes in (0, 1, 8, 127, -128):
                yield Message(value, key=key, attributes=attributes)
            for timestamp in TIMES:
                for attributes in (0, 8):
                    yield Message(value, key=key, magic=1, attributes=attributes, timestamp=timestamp)


def messages():
    out = []
    for message in grid():
        with_zero_crc = message.encode(recalc_crc=False)
        fresh = message.encode()
        out.append({"hex": fresh.hex() if len(fresh) < 1000 else None, "crc_kept": with_zero_crc.hex()[:8], **shown(message)})
        decoded = Message.decode(fresh)
        assert shown(decoded) == shown(message)
    return out


def decodings():
    """Messages as they come from elsewhere: damaged, with more behind, with attributes nobody defined."""
    v0 = encoded(Message(b"value", key=b"key"))
    v1 = encoded(Message(b"value", key=None, magic=1, timestamp=1234))
    cases = []
    for good in (v0, v1):
        for at in [*range(4), *range(5, len(good))]:
            for mask in (0x01, 0x80):
                bad = bytearray(good)
                bad[at] ^= mask
                cases.append(bytes(bad))
        cases.append(good + b"more")
        cases.extend(good[:size] for size in range(len(good)))
    cases.append(v0[:6] + b"\xff\xff\xff\xfe" + b"\x80\x00\x00\x00")
    out = []
    for data in cases:
        found = attempt(lambda: shown(Message.decode(data)))
        entry = {"hex": data.hex(), "decoded": found}
        if "raises" not in found:
            message = Message.decode(data)
            entry["encoded"] = message.encode().hex()
        out.append(entry)
    return out


def sets():
    a = encoded(Message(b"one", key=b"k"))
    b = encoded(Message(None, key=None))
    c = encoded(Message(b"", key=b"", magic=1, timestamp=1_500_000_000_123))
    d = encoded(Message(b"three" * 5, magic=1, timestamp=7, attributes=8))
    for name, entries in [
        ("empty", []),
        ("single", [(0, a)]),
        ("magic0", [(0, a), (1, b), (2, a)]),
        ("magic1", [(40, c), (41, d)]),
        ("mixed", [(-1, a), (7, d), (2**63 - 1, b), (-(2**63), c)]),
    ]:
        bare = MessageSet.encode(entries, prepend_size=False)
        prefixed = MessageSet.encode(entries)
        yield {
            "name": name,
            "entries": [[off, data.hex()] for off, data in entries],
            "bare": bare.hex(),
            "prefixed": prefixed.hex(),
            "items": items(MessageSet.decode(bare, bytes_to_read=len(bare))),
            "cuts": [brief(MessageSet.decode(bare[:n], bytes_to_read=n)) for n in range(len(bare) + 1)],
            # The size in front stays that of the whole set.
            "prefixed_cuts": [attempt(lambda: brief(MessageSet.decode(prefixed[:n]))) for n in range(len(prefixed) + 1)],
            # Fewer or more bytes asked for than are there, and bytes behind the set.
            "reads": [
                [n, brief(MessageSet.decode(bare + b"\x00" * 9, bytes_to_read=n))] for n in range(0, len(bare) + 12)
            ],
        }


def inner_sets():
    old = [(0, encoded(Message(b"inner %d" % n, key=b"k" if n else None))) for n in range(3)]
    new = [(n, encoded(Message(b"inner %d" % n, magic=1, timestamp=n * 10))) for n in range(3)]
    nested = [(5, encoded(Message(gzip.compress(b"", mtime=0), attributes=1)))]
    for magic, entries in ((0, old), (1, new), (0, nested), (1, [(0, encoded(Message(LONG, magic=1, timestamp=1)))])):
        yield magic, MessageSet.encode(entries, prepend_size=False)
    whole = MessageSet.encode(old, prepend_size=False)
    for size in (0, 5, 12, 20, len(whole) - 1):
        yield 0, whole[:size]


def wrappers():
    for magic, inner in inner_sets():
        for name, bits, compress in [
            ("gzip", 1, lambda data: gzip.compress(data, mtime=0)),
            ("snappy", 2, kafka.codec.snappy_encode),
            ("raw snappy", 2, lambda data: kafka.codec.snappy_encode(data, xerial_compatible=False)),
            ("lz4", 3, kafka.codec.lz4_encode_old_kafka if magic == 0 else kafka.codec.lz4_encode),
        ]:
            timestamp = None if magic == 0 else 99
            data = encoded(Message(compress(inner), magic=magic, attributes=bits, timestamp=timestamp))
            message = Message.decode(data)
            whole = MessageSet.encode([(17, data)], prepend_size=False)
            yield {
                "name": name,
                "hex": data.hex(),
                "items": attempt(lambda: items(message.decompress())),
                "flat": attempt(lambda: flat(Legacy.decode_message_set(whole))),
            }


def flat(decoded):
    return [
        "partial" if isinstance(message, PartialMessage) else [off, shown(message)] for off, message in decoded
    ]


def odd():
    """Sets that kafka-python falls over, or loses silently what stands behind."""
    good = MessageSet.encode([(3, encoded(Message(b"good")))], prepend_size=False)

    def entry(data, size=None):
        return struct.pack(">qi", 1, len(data) if size is None else size) + data

    body = encoded(Message(b"value", key=b"key"))
    for name, bad in [
        ("null entry", entry(b"", -1)),
        ("negative size", entry(b"", -2)),
        ("size 0", entry(b"")),
        ("no room for the magic", entry(body[:4])),
        ("no room for the key", entry(body[:8])),
        ("key longer than the message", entry(body[:6] + struct.pack(">i", 100) + body[10:])),
        ("value longer than the message", entry(body[:-1])),
        ("timestamp cut off", entry(body[:4] + b"\x01\x00" + b"\x00" * 6)),
        ("magic 2", entry(body[:4] + b"\x02" + body[5:])),
        ("magic 127", entry(body[:4] + b"\x7f" + body[5:])),
        ("magic -1", entry(body[:4] + b"\xff" + body[5:])),
        ("magic -2", entry(body[:4] + b"\xfe" + body[5:])),
    ]:
        data = good + bad + good
        yield {
            "name": name,
            "hex": data.hex(),
            "decoded": attempt(lambda: brief(MessageSet.decode(data, bytes_to_read=len(data)))),
        }


def undecompressable():
    for name, message in [
        ("not compressed", Message(b"x")),
        ("null value", Message(None, attributes=1)),
        ("codec 4", Message(b"x", attributes=4)),
        ("codec 7", Message(b"x", attributes=7)),
        ("not gzip", Message(b"nonsense", attributes=1)),
        ("gzip cut off", Message(gzip.compress(b"x" * 100, mtime=0)[:20], attributes=1)),
        ("not snappy", Message(b"\xff\xff\xff", attributes=2)),
        ("not lz4", Message(b"nonsense" * 4, magic=1, timestamp=0, attributes=3)),
        ("empty xerial", Message(kafka.codec.snappy_encode(b""), attributes=2)),
    ]:
        yield {"name": name, "hex": message.encode().hex(), "decompressed": attempt(lambda: items(message.decompress()))}


def created(message):
    magic, attributes, key, value = message
    return {"magic": magic, "attributes": attributes, "key": hexed(key), "value": hexed(value)}


def brief_bytes(data):
    return data.hex() if len(data) < 1000 else {"size": len(data), "crc32": binascii.crc32(data)}


def creations():
    pairs = [
        [],
        [(b"one", None)],
        [(b"one", b"k1"), (None, b"k2"), (b"", b""), (b"two" * 50, None)],
        [(LONG, b"long"), (b"z" * 70000, None)],
    ]
    singles = [(b"payload", None), (b"payload", b"key"), (None, None), (None, b"key"), (b"", b"")]
    out = {
        "create_message": [[hexed(p), hexed(k), created(create_message(p, k))] for p, k in singles],
        "sets": [],
    }
    for payloads in pairs:
        for key in (None,) if len(payloads) == 2 else (None, b"wrapper"):
            gzipped = [create_gzip_message(payloads, key, level) for level in (None, 0, 1, 9)]
            for one in gzipped:
                assert gzip.decompress(one.value) == gzip.decompress(gzipped[0].value)
            entry = {
                "payloads": [[hexed(p), hexed(k)] for p, k in payloads],
                "key": hexed(key),
                "plain": [created(m) for m in create_message_set(payloads)],
                "snappy": created(create_snappy_message(payloads, key)),
                # Only what is inside can be compared: nobody else's deflate gives these very bytes.
                "gzip": {**created(gzipped[0]), "value": None},
                "inside": brief_bytes(gzip.decompress(gzipped[0].value)),
            }
            assert create_message_set(payloads, 2, key)[0] == create_snappy_message(payloads, key)
            out["sets"].append(entry)
    out["unsupported"] = {str(codec): attempt(lambda: create_message_set([], codec)) for codec in (3, 4)}
    return out


def framed(request, client_id, correlation_id):
    """What a connection of kafka-python sends for a request object."""
    if isinstance(request, bytes):
        return request
    parser = Parser(client_id=client_id)
    parser.send_request(request, correlation_id=correlation_id)
    return parser.send_bytes()


def requests():
    out = []

    def add(function, args, build):
        ids = [("kafka-python", 1), ("", 0), ("kl\u00edent", 2**31 - 1)]
        first = all(other["function"] != function for other in out)
        for client_id, correlation_id in ids if first else [ids[len(out) % 3]]:
            result = attempt(lambda: framed(build(client_id, correlation_id), client_id, correlation_id))
            out.append({
                "function": function,
                "client_id": client_id,
                "correlation_id": correlation_id,
                "args": args,
                "frame": brief_bytes(result) if isinstance(result, bytes) else result,
            })

    simple = create_message(b"payload", b"key")
    produce_sets = [
        [],
        [("topic", 0, [simple])],
        [("topic", 0, []), ("topic", 1, [create_message(None), simple])],
        [("b", 3, [simple]), ("a", 1, [simple]), ("b", 1, [create_snappy_message([(b"x", None)], b"k")])],
        [("t\u00f6pic", -1, [create_message(b"")])],
        [("dup", 1, [simple]), ("dup", 1, [simple])],
    ]
    for payloads in produce_sets:
        for acks, timeout in ((1, 1000), (0, 0), (-1, 2**31 - 1), (2, 1000), (-2, 1000)):
            add(
                "encode_produce_request",
                {
                    "payloads": [[t, p, [created(m) for m in ms]] for t, p, ms in payloads],
                    "acks": acks,
                    "timeout": timeout,
                },
                lambda c, i: Legacy.encode_produce_request([s.ProduceRequestPayload(*p) for p in payloads], acks, timeout),
            )
    for payloads in (
        [],
        [("topic", 0, 5, 1024)],
        [("b", 1, 0, 1), ("a", 9, 2**63 - 1, 2**31 - 1), ("b", 0, -1, 0)],
        [("dup", 1, 0, 1), ("dup", 1, 2, 1)],
    ):
        for wait, least in ((100, 4096), (0, 1)):
            add(
                "encode_fetch_request",
                {"payloads": payloads, "max_wait_time": wait, "min_bytes": least},
                lambda c, i: Legacy.encode_fetch_request([s.FetchRequestPayload(*p) for p in payloads], wait, least),
            )
    for payloads in (
        [],
        [("topic", 0, OffsetResetStrategy.LATEST, 1)],
        [("b", 1, OffsetResetStrategy.EARLIEST, 100), ("a", 0, 1_500_000_000_000, 2), ("b", 0, OffsetResetStrategy.NONE, 0)],
        [("dup", 1, 0, 1), ("dup", 1, 2, 1)],
    ):
        add(
            "encode_offset_request",
            {"payloads": payloads},
            lambda c, i: Legacy.encode_offset_request([s.OffsetRequestPayload(*p) for p in payloads]),
        )
        add(
            "encode_list_offset_request",
            {"payloads": [p[:3] for p in payloads]},
            lambda c, i: Legacy.encode_list_offset_request([s.ListOffsetRequestPayload(*p[:3]) for p in payloads]),
        )
    for topics in ([], ["one"], ["b", "a", "b", ""], ["x" * 32767], ["x" * 32768]):
        shown_topics = ["x*%d" % len(topic) if len(topic) > 99 else topic for topic in topics]
        add("encode_metadata_request", {"topics": shown_topics}, lambda c, i: Legacy.encode_metadata_request(topics))
    for group in ("group", "", "gr\u00fcppe"):
        add(
            "encode_consumer_metadata_request",
            {"group": group},
            lambda c, i: Legacy.encode_consumer_metadata_request(c.encode(), i, group.encode()),
        )
        for payloads in (
            [],
            [("topic", 0, 5, "metadata")],
            [("b", 1, 0, ""), ("a", 2, 2**63 - 1, None), ("b", 0, -1, "m\u00e9ta")],
            [("dup", 1, 0, ""), ("dup", 1, 0, "")],
        ):
            add(
                "encode_offset_commit_request",
                {"group": group, "payloads": payloads},
                lambda c, i: Legacy.encode_offset_commit_request(group, [s.OffsetCommitRequestPayload(*p) for p in payloads]),
            )
            for from_kafka in (False, True):
                add(
                    "encode_offset_fetch_request",
                    {"group": group, "payloads": [p[:2] for p in payloads], "from_kafka": from_kafka},
                    lambda c, i: Legacy.encode_offset_fetch_request(
                        group, [s.OffsetFetchRequestPayload(*p[:2]) for p in payloads], from_kafka
                    ),
                )
    return out


def responses():
    out = []

    def add(function, response, show):
        data = struct.pack(">i", 77) + response.encode()
        # Through the parser, as from a connection.
        decoded = type(response).decode(response.encode())
        result = show(getattr(Legacy, function)(decoded))
        cut = [n for n in range(4, len(data)) if "raises" not in (attempt(lambda: type(response).decode(data[4:n])) or "")]
        assert cut == [], cut
        out.append({"function": function, "hex": data.hex(), "decoded": result})

    plain = lambda payloads: [list(p) for p in payloads]
    for topics in (
        [],
        [("topic", [(0, 0, 42)])],
        [("b", [(1, 6, -1), (0, 0, 2**63 - 1)]), ("t\u00f6pic", [(5, -1, 0)]), ("none", [])],
    ):
        add("decode_produce_response", produce.ProduceResponse[0](topics=topics), plain)

    a = encoded(Message(b"one", key=b"k"))
    v1 = encoded(Message(b"two", magic=1, timestamp=5, attributes=8))
    bare = MessageSet.encode([(4, a), (5, v1)], prepend_size=False)
    inner = MessageSet.encode([(8, a), (9, a)], prepend_size=False)
    wrapped = [
        (9, encoded(Message(gzip.compress(inner, mtime=0), attributes=1))),
        (9, encoded(Message(kafka.codec.snappy_encode(inner), attributes=2))),
        (9, encoded(Message(kafka.codec.lz4_encode_old_kafka(inner), attributes=3))),
        (9, encoded(Message(kafka.codec.lz4_encode(inner), attributes=3, magic=1, timestamp=1))),
    ]
    compressed = MessageSet.encode(wrapped, prepend_size=False)
    show = lambda payloads: [[*p[:4], flat(p.messages)] for p in payloads]
    for topics in (
        [],
        [("topic", [(0, 0, 10, bare)])],
        [("topic", [(0, 0, 10, b""), (1, 0, 10, bare[:-1]), (2, 0, 10, bare[:7])]), ("b", [(7, 1, -1, compressed)])],
        [("cut", [(0, 0, 10, compressed[:-3])])],
    ):
        add("decode_fetch_response", fetch.FetchResponse[0](topics=topics), show)

    add("decode_offset_response", offset.OffsetResponse[0](topics=[]), plain)
    for offsets in ([], [5], [9, 4, 0]):
        topics = [("topic", [(0, 0, offsets), (1, 3, [])]), ("b", [(2, 0, offsets)])]
        add("decode_offset_response", offset.OffsetResponse[0](topics=topics), plain)
    for topics in ([], [("topic", [(0, 0, 1_500_000_000_000, 7), (1, 3, -1, -1)]), ("b", [])]):
        add("decode_list_offset_response", offset.OffsetResponse[1](topics=topics), plain)
    for topics in ([], [("topic", [(0, 0), (1, 27)]), ("b", [(9, -1)])]):
        add("decode_offset_commit_response", commit.OffsetCommitResponse[0](topics=topics), plain)
    for version in (0, 1):
        for topics in ([], [("topic", [(0, 5, "meta", 0), (1, -1, "", 3)]), ("b", [(9, 2**63 - 1, None, -1)])]):
            add("decode_offset_fetch_response", commit.OffsetFetchResponse[version](topics=topics), plain)
    for brokers, topics in (
        ([], []),
        (
            [(1, "host", 9092), (2**31 - 1, "", -1)],
            [(0, "topic", [(0, 0, 1, [1, 2], [1]), (5, 1, -1, [], [])]), (3, "none", [])],
        ),
    ):
        add(
            "decode_metadata_response",
            metadata.MetadataResponse[0](brokers=brokers, topics=topics),
            lambda r: {"brokers": r.brokers, "topics": r.topics},
        )
    for error, node, host, port in ((0, 3, b"host", 9092), (15, -1, b"", -1)):
        data = struct.pack(">ihih%dsi" % len(host), 77, error, node, len(host), host, port)
        e, n, h, p = Legacy.decode_consumer_metadata_response(data)
        out.append({
            "function": "decode_consumer_metadata_response",
            "hex": data.hex(),
            "decoded": {"error": e, "node_id": n, "host": h.decode(), "port": p},
        })
    return out


VECTORS = {
    "made_by": "generate.py beside this file: kafka-python %s on Python %s" % (__version__, platform.python_version()),
    "offset_reset_strategy": {
        name: getattr(OffsetResetStrategy, name) for name in ("LATEST", "EARLIEST", "NONE")
    },
    "messages": messages(),
    "decodings": decodings(),
    "sets": list(sets()),
    "wrappers": list(wrappers()),
    "odd": list(odd()),
    "undecompressable": list(undecompressable()),
    "creations": creations(),
    "requests": requests(),
    "responses": responses(),
}


def lines(value):
    """A line for each case."""
    dense = lambda value: json.dumps(value, separators=(",", ":"))
    return "[\n%s\n]" % ",\n".join(map(dense, value)) if isinstance(value, list) else dense(value)


print("{%s}" % ",\n".join("%s:%s" % (json.dumps(name), lines(value)) for name, value in VECTORS.items()))
