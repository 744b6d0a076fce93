#!/usr/bin/env python3
"""Packs a small log folder with what Kafka's DumpLogSegments says of it, for the tests of crates/storage and crates/inspect.

    pack.py --jars DIR --out FILE.tar.gz LOG_FOLDER PARTITION...

DIR holds the jars of org.apache.kafka:kafka-tools. Preallocated space is cut to 4 KiB. `dump.txt` in the
archive is what the tool printed, file by file.
"""
import argparse
import gzip
import io
import subprocess
import tarfile
from pathlib import Path

from compare import CLASSES, DECODERS, KINDS

ROOM = 4096


def dump(jars, folder, files, *options):
    command = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dfile.encoding=UTF-8",
               "-Dstdout.encoding=UTF-8", "-cp", f"{jars}/*", CLASSES[False], "--files", ",".join(map(str, files)), *options]
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jars", required=True, type=Path)
    parser.add_argument("--out", required=True)
    parser.add_argument("folder", type=Path)
    parser.add_argument("partitions", nargs="+")
    args = parser.parse_args()
    jars = args.jars.resolve()
    groups = [sorted(path for path in args.folder.iterdir() if path.is_file() and path.name != ".lock")]
    groups += [sorted((args.folder / partition).iterdir()) for partition in args.partitions]
    said = b""
    with io.BytesIO() as tape:
        with tarfile.open(fileobj=tape, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            def add(name, content):
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))

            for group in groups:
                wanted = []
                for path in group:
                    content = path.read_bytes()
                    if len(content) > ROOM and not content.rstrip(b"\0"):
                        content = content[:ROOM // 12 * 12]
                    add(str(path.relative_to(args.folder)), content)
                    if path.suffix in KINDS and content:
                        wanted.append(path.relative_to(args.folder))
                topic = group[0].parent.name.rsplit("-", 1)[0]
                if wanted:
                    said += dump(jars, args.folder, wanted, DECODERS.get(topic, "--print-data-log"))
            add("dump.txt", said)
        Path(args.out).write_bytes(gzip.compress(tape.getvalue(), 9, mtime=0))


if __name__ == "__main__":
    main()
