"""Records as lines of text, for programs in any language: `TIMESTAMP KEY VALUE [NAME=VALUE ...]`.

TIMESTAMP is in milliseconds. All else is bytes: `-` for null, or `x` and hexadecimal digits, so that `x` alone is empty.
"""


def to_bytes(word):
    return None if word == "-" else bytes.fromhex(word[1:])


def read(lines):
    """(timestamp, key, value, headers) for each line."""
    for line in lines:
        timestamp, key, value, *headers = line.split()
        pairs = (header.split("=") for header in headers)
        yield int(timestamp), to_bytes(key), to_bytes(value), [(to_bytes(n).decode(), to_bytes(v)) for n, v in pairs]
