"""What the tours share: steps that are told, and that may be skipped where a broker is too old for them."""

import socket
import struct
import traceback


class TooOld(Exception):
    """The broker lacks what a step needs."""


def served(bootstrap):
    """The keys of the APIs that a broker serves, as ApiVersions of version 0 tells: not every client says so."""
    host, port = bootstrap.split(",")[0].rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=10) as connection, connection.makefile("rb") as answer:
        request = struct.pack(">hhih", 18, 0, 1, 4) + b"tour"
        connection.sendall(struct.pack(">i", len(request)) + request)
        body = answer.read(struct.unpack(">i", answer.read(4))[0])
    (count,) = struct.unpack_from(">i", body, 6)
    return {struct.unpack_from(">h", body, 10 + 6 * n)[0] for n in range(count)}


class Tour:
    """Steps, each a line on standard output."""

    def __init__(self, too_old):
        """`too_old` says of an exception whether it only means that the broker lacks the step."""
        self.too_old = too_old
        self.failed = 0

    def step(self, what, function, *arguments, **named):
        """Runs a step, which returns what it wants to have told."""
        try:
            told = function(*arguments, **named)
        except Exception as error:  # any at all: the tour goes on
            if isinstance(error, TooOld) or self.too_old(error):
                print(f"skip  {what}: {error}", flush=True)
            else:
                self.failed += 1
                print(f"WRONG {what}: {''.join(traceback.format_exception(error))}", flush=True)
            return
        print(f"ok    {what}" + (f": {told}" if told is not None else ""), flush=True)

    def end(self):
        print(f"{self.failed} steps went wrong" if self.failed else "all went right", flush=True)
        return 1 if self.failed else 0


def same(found, wanted):
    """What was read is what was written."""
    if found != wanted:
        raise AssertionError(f"found {found!r:.500}, wanted {wanted!r:.500}")
    return found if len(repr(found)) < 60 else f"{len(found)} records"
