#!/usr/bin/env python3
"""Holds `milena decode` against Kafka's own DumpLogSegments, over every file of a log folder.

    compare.py --milena BIN --jars DIR [--old] [--least N] LOG_FOLDER...

DIR holds the jars of org.apache.kafka:kafka-tools, or with `--old` those of a Kafka from 2.1 to 3.x, whose tool prints the
records of internal topics in another form; those are not compared then. The folder may be of any older Kafka. Compared are: of batches all
that the tool prints, of records offset, timestamp, sizes, sequence, header keys, key and value as text; entries of indexes,
of transaction indexes and of snapshots of producers; keys and values of internal topics. Ends with 1 when something differs,
or when there were fewer than N records.
"""
import argparse
import base64
import json
import re
import subprocess
import sys
from pathlib import Path

CLASSES = {False: "org.apache.kafka.tools.DumpLogSegments", True: "kafka.tools.DumpLogSegments"}
KINDS = (".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".checkpoint")
DECODERS = {"__consumer_offsets": "--offsets-decoder", "__transaction_state": "--transaction-log-decoder",
            "__cluster_metadata": "--cluster-metadata-decoder", "__share_group_state": "--share-group-state-decoder"}
# The tool names these, the record has their numbers.
STATES = ["Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence"]
NUMBER = r"(-?\d+)"


def dump(args, file, *options):
    """The lines that Kafka's tool prints, with every byte of a text as one character."""
    command = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dfile.encoding=UTF-8",
               "-Dstdout.encoding=UTF-8", "-cp", f"{args.jars}/*", CLASSES[args.old], "--files", str(file), *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    # Values may hold any line break; the tool's own lines begin in one of a few ways.
    text = done.stdout.decode("utf-8", "replace").replace("\r", "\n")
    lines = re.split(r"\n(?=baseOffset: \d|offset: \d|\| offset: \d|timestamp: -?\d|version: \d|producerId: \d|Dumping |Log starting "
                     r"|Snapshot end |Found |Index )", text.removesuffix("\n"))
    return [line for line in lines if line and not line.startswith(("Dumping ", "Log starting", "Snapshot end"))]


def milena(args, *options):
    done = subprocess.run([args.milena, "decode", "--as", "segment", "--json", *options], stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def fields(line):
    """`name: value` pairs in front of the texts, which may hold anything."""
    return dict(re.findall(r"(\w+): (\[[^]]*\]|OptionalLong\S*|\S*)", line.split(" key: ")[0].split(" payload: ")[0]))


def text(value):
    """As Java makes text of bytes, and the line breaks of `dump`."""
    return None if value is None else base64.b64decode(value).decode("utf-8", "replace").replace("\r", "\n")


def as_recorded(ours, theirs):
    """Undoes what the tool makes of fields that are numbers or bytes in the record: the JSON of ours that it means."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        return {name: as_recorded(ours.get(name), value) for name, value in theirs.items()}
    if isinstance(theirs, list) and isinstance(ours, list) and len(ours) == len(theirs):
        return [as_recorded(mine, other) for mine, other in zip(ours, theirs)]
    if isinstance(theirs, str) and theirs in STATES and isinstance(ours, int):
        return STATES.index(theirs)
    if isinstance(theirs, dict) and isinstance(ours, str):
        # A subscription or an assignment: all topics that the tool read out of the bytes have to stand in them.
        topics = theirs.get("topics", []) + [entry["topic"] for entry in theirs.get("assignedPartitions", [])]
        content = base64.b64decode(ours)
        return ours if all(topic.encode() in content for topic in topics) else theirs
    return theirs


def same_text(ours, theirs):
    # Java and Python put in a different number of replacement characters.
    squeeze = lambda value: re.sub("\ufffd+", "\ufffd", value)
    return squeeze(ours) == squeeze(theirs)


class Comparison:
    def __init__(self, args):
        self.args = args
        self.counts = {}
        self.wrong = 0
        self.shown = {}

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def equal(self, file, what, ours, theirs):
        if ours == theirs:
            return
        self.wrong += 1
        kind = re.sub(r"\d+", "", what)
        self.shown[kind] = self.shown.get(kind, 0) + 1
        if self.shown[kind] <= 3:
            print(f"{file}: {what}\n  milena  {ours!r}\n  kafka   {theirs!r}")

    def file(self, path, ours):
        self.count("files")
        if path.suffix in (".log", ".checkpoint"):
            self.log(path, ours)
        elif path.suffix == ".snapshot":
            self.producers(path, ours)
        else:
            self.index(path, ours)

    def index(self, path, ours):
        theirs = [line for line in dump(self.args, path) if line.startswith(("offset: ", "timestamp: ", "version: "))]
        numbers = [tuple(int(number) for number in re.findall(rf": {NUMBER}", line)) for line in theirs]
        # An empty or unused index has one entry of nothing, says the tool.
        base = int(path.name.split(".")[0])
        numbers = [entry for entry in numbers if entry not in ((base, 0), (0, base), (-1, base), (0, 0))]
        names = {".index": ("offset", "position"), ".timeindex": ("timestamp", "offset"),
                 ".txnindex": ("producerId", "firstOffset", "lastOffset", "lastStableOffset")}[path.suffix]
        mine = [tuple(entry[name] for name in names) for entry in ours if entry["type"] in ("index", "timeIndex", "abortedTxn")]
        if path.suffix == ".txnindex":
            numbers = [entry[1:] for entry in numbers]
        self.equal(path, "entries", mine, numbers)
        for _ in numbers:
            self.count(f"{path.suffix[1:]} entries")

    def producers(self, path, ours):
        theirs = []
        for line in dump(self.args, path):
            if not line.startswith("producerId"):
                continue
            numbers = re.findall(rf"(producerId|producerEpoch|coordinatorEpoch|currentTxnFirstOffset|lastTimestamp|firstSequence|"
                                 rf"lastSequence|lastOffset|offsetDelta|timestamp): (?:Optional\w*\[)?{NUMBER}", line)
            theirs.append({name: int(number) for name, number in numbers})
        mine = [entry for entry in ours if entry["type"] == "producer"]
        self.equal(path, "producers", [entry["producerId"] for entry in mine], [entry["producerId"] for entry in theirs])
        for entry, other in zip(mine, theirs):
            self.count("producers")
            for name in ("producerEpoch", "coordinatorEpoch", "lastSequence", "lastOffset", "offsetDelta", "timestamp"):
                if name in other:
                    self.equal(path, f"{name} of producer {entry['producerId']}", entry[name], other[name])
            if "currentTxnFirstOffset" in other:
                self.equal(path, "currentTxnFirstOffset", entry["currentTxnFirstOffset"], other["currentTxnFirstOffset"])

    def log(self, path, ours):
        lines = dump(self.args, path, "--print-data-log", "--deep-iteration")
        theirs = [line for line in lines if line.startswith(("baseOffset: ", "offset: ", "| "))]
        mine = [item for item in ours if item["type"] in ("batch", "record")]
        if not any(item["type"] == "batch" for item in mine) and not theirs:
            return
        self.equal(path, "lines", len(mine), len(theirs))
        batch = None
        for item, line in zip(mine, theirs):
            found = fields(line)
            if item["type"] == "batch":
                self.count("batches")
                batch = item
                self.batch(path, item, found)
            else:
                self.count("records")
                self.record(path, item, found, line, batch)
        topic = path.parent.name.rsplit("-", 1)[0]
        if topic in DECODERS and not self.args.old:
            self.internal(path, mine, dump(self.args, path, DECODERS[topic]))

    def batch(self, path, item, found):
        at = f"batch at {item['position']}: "
        horizon = item["deleteHorizon"]
        expected = {
            "lastOffset": item["lastOffset"], "count": item["count"], "baseSequence": item["baseSequence"],
            "lastSequence": item["lastSequence"], "producerId": item["producerId"], "producerEpoch": item["producerEpoch"],
            "partitionLeaderEpoch": item["partitionLeaderEpoch"], "isTransactional": str(item["isTransactional"]).lower(),
            "isControl": str(item["isControl"]).lower(), "position": item["position"], "size": item["sizeInBytes"],
            "magic": item["magic"], "compresscodec": item["codec"], "crc": item["crc"],
            "isvalid": str(item["crcValid"]).lower(),
            "deleteHorizonMs": "OptionalLong.empty" if horizon is None else f"OptionalLong[{horizon}]",
            ("LogAppendTime" if item["timestampType"] == "logAppend" else "CreateTime"): item["maxTimestamp"],
        }
        if item["magic"] < 2:
            # The tool has to open a wrapper to know these; the header does not say them.
            expected.pop("count")
        else:
            expected["baseOffset"] = item["baseOffset"]
        for name, value in expected.items():
            if name in found:
                theirs = found[name].lower() if name == "compresscodec" else found[name]
                self.equal(path, at + name, str(value), theirs)
        self.equal(path, at + "fields of the tool", set(), {"position", "crc", "isvalid", "size"} - set(found))

    def record(self, path, item, found, line, batch):
        at = f"offset {item['offset']}: "
        self.equal(path, "offset", str(item["offset"]), found.get("offset"))
        stamp = found.get("CreateTime", found.get("LogAppendTime", "-1"))
        self.equal(path, at + "timestamp", str(item["timestamp"]), stamp)
        for member, name in (("key", "keySize"), ("value", "valueSize")):
            size = -1 if item[member] is None else len(base64.b64decode(item[member]))
            if name in found:
                self.equal(path, at + name, str(size), found[name])
        if "sequence" in found:
            # The tool counts on from a sequence of -1.
            self.equal(path, at + "sequence", str(item["sequence"]), found["sequence"])
        if "headerKeys" in found:
            keys = "[" + ",".join(text(header[0]) for header in item["headers"]) + "]"
            self.equal(path, at + "headerKeys", keys, found["headerKeys"])
        if "control" in item:
            self.count("control records")
            return
        rest = ("" if item["key"] is None else f" key: {text(item['key'])}") + \
               ("" if item["value"] is None else f" payload: {text(item['value'])}")
        # What stands behind the fields is key and payload.
        theirs = re.search(r"( key: .*| payload: .*|)\Z", line, re.S)
        start = min((line.find(word) for word in (" key: ", " payload: ") if word in line), default=len(line))
        theirs = line[start:]
        if not same_text(rest, theirs):
            self.equal(path, at + "key and value", rest, theirs)

    def internal(self, path, mine, lines):
        theirs = [line for line in lines if line.startswith("| ")]
        records = [item for item in mine if item["type"] == "record"]
        for item, line in zip(records, theirs):
            decoded = item.get("decoded")
            found = re.search(r" key: (\{.*\}) payload: (.*)\Z", line, re.S)
            payload = re.search(r" payload: (\{.*\})\s*\Z", line, re.S)
            if "control" in item or not payload and not found:
                continue
            self.count("internal records")
            if decoded is None:
                self.equal(path, f"offset {item['offset']}: not decoded", None, line[-200:])
                continue
            self.decoded(path, item, decoded, found, payload)

    def decoded(self, path, item, decoded, found, payload):
        at = f"offset {item['offset']}: "
        if found:
            key = json.loads(found.group(1))
            self.equal(path, at + "type of key", str(decoded["key"]["type"]), str(key["type"]))
            self.equal(path, at + "key", decoded["key"]["data"], key["data"])
            value = None if found.group(2).strip() in ("<DELETE>", "null") else json.loads(found.group(2))
            if value is None:
                self.equal(path, at + "value", decoded["value"], None)
            else:
                self.equal(path, at + "version", str(decoded["value"]["version"]), str(value["version"]))
                data = decoded["value"]["data"]
                self.equal(path, at + "value", data, as_recorded(data, value["data"]))
        else:
            value = json.loads(payload.group(1))
            self.equal(path, at + "version", decoded["value"]["version"], value["version"])
            self.equal(path, at + "value", decoded["value"]["data"], value["data"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--milena", required=True, help="the binary")
    parser.add_argument("--jars", required=True, help="a folder of Kafka's jars")
    parser.add_argument("--old", action="store_true", help="the jars are of a Kafka before 4.0")
    parser.add_argument("--least", type=int, default=1, help="fewer records are a failure")
    parser.add_argument("folders", nargs="+", type=Path)
    args = parser.parse_args()
    comparison = Comparison(args)
    for folder in args.folders:
        files, items = {}, None
        for item in milena(args, str(folder)):
            if item["type"] == "file":
                items = files.setdefault(Path(item["path"]), [])
            else:
                items.append(item)
        for path, items in files.items():
            if path.suffix in KINDS:
                comparison.file(path, items)
    print(", ".join(f"{count} {what}" for what, count in sorted(comparison.counts.items())) or "nothing was compared")
    if comparison.wrong:
        sys.exit(f"{comparison.wrong} differences")
    if comparison.counts.get("records", 0) < args.least:
        sys.exit(f"fewer than {args.least} records")
    print("no difference")


if __name__ == "__main__":
    main()
