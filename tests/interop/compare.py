"""What the Python readers share: they read the messages that tests/interop.rs has written, and compare."""

import hashlib
import json
import re
import sys
from pathlib import Path

PIECE = 7


def compare(reader, read, expected):
    """Has `read(content_type, pieces)` read every message, whole and in pieces.

    It gives a dictionary for each part, the content as bytes. `expected(part)` is what it should give for
    a part of index.json. Prints every difference, and exits with 1 if there is one.
    """
    folder = Path(sys.argv[1])
    index = json.loads((folder / "index.json").read_text("utf-8"))
    differences, parts = [], 0
    for message in index:
        body = (folder / f"{message['case']}.body").read_bytes()
        parts += len(message["parts"])
        for size in (len(body), PIECE):
            pieces = [body[at : at + size] for at in range(0, len(body), size)]
            where = f"{message['case']}, in pieces of {size} bytes"
            try:
                got = list(read(message["content_type"], pieces))
            except Exception as error:
                differences.append(f"{where}: not read: {error!r}")
                continue
            differences.extend(_differences(where, [expected(part) for part in message["parts"]], got))
    for difference in differences:
        print(f"{reader}: {difference}")
    print(
        f"{reader}: {len(index)} messages with {parts} parts, each whole and in pieces of {PIECE} bytes: "
        f"{len(differences)} differences"
    )
    sys.exit(1 if differences else 0)


def _differences(where, expected, got):
    if len(got) != len(expected):
        yield f"{where}: expected {len(expected)} parts, got {len(got)}"
    for number, (part, read) in enumerate(zip(expected, got)):
        content = read.pop("content")
        read.update(len=len(content), sha256=hashlib.sha256(content).hexdigest())
        for field in part:
            if read[field] != part[field]:
                place = f"{where}: part {number} ({part['name']!r}), {field}"
                yield f"{place}: expected {part[field]!r}, got {read[field]!r}"


def double_backslashes(filename):
    """As the encoder does: where a backslash stands at the end or before another one (ACP-ENC-5)."""
    return re.sub(r"\\(?=\\|\Z)", r"\\\\", filename)


def as_written(filename):
    """What stands between the quotes of `filename="…"` (ACP-ENC-5)."""
    filename = double_backslashes(filename)
    return filename.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def essence(content_type):
    """The media type without parameters."""
    return content_type.partition(";")[0].lower()
