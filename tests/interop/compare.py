"""What the Python readers share: they read the messages that tests/interop.rs and tests/differential.rs
have written, and compare."""

import hashlib
import json
import re
import sys
from pathlib import Path

PIECE = 7
SAME = "reads the same"


def compare(reader, read, expected, read_accepted=None):
    """Has `read(content_type, pieces)` read every message, whole and in pieces.

    It gives a dictionary for each part, the content as bytes. `expected(part)` is what it should give for
    a part of index.json. Of the messages of accepted.json, names and content only are compared; they are read
    with `read_accepted` where that is given. Prints every difference that is not among the exceptions, and
    exits with 1 if there is one.
    """
    folder = Path(sys.argv[1])
    sent, accepted = (json.loads((folder / name).read_text("utf-8")) for name in ("index.json", "accepted.json"))
    exceptions = _exceptions(reader.partition(" ")[0])
    differences, parts = [], 0
    for message in sent:
        parts += len(message["parts"])
        differences.extend(_compared(folder, message, read, [expected(part) for part in message["parts"]])[1])
    for message in accepted:
        outcome, found = _compared(folder, message, read_accepted or read, message["parts"])
        listed = exceptions.get(message["case"], SAME)
        if listed != outcome:
            differences.extend(found)
        if listed not in (SAME, outcome):
            differences.append(f"{message['case']}: {outcome}, but exceptions.json says that it {listed}: change it")
    for case in exceptions.keys() - {message["case"] for message in accepted}:
        differences.append(f"{case}: in exceptions.json, but no message")
    for difference in differences:
        print(f"{reader}: {difference}")
    print(
        f"{reader}: {len(sent)} messages with {parts} parts and {len(accepted)} accepted ones, each whole and in "
        f"pieces of {PIECE} bytes: {len(exceptions)} exceptions, {len(differences)} differences"
    )
    sys.exit(1 if differences else 0)


def _exceptions(reader):
    """What the reader does with which message, where it does not read the same."""
    listed = json.loads(Path(sys.argv[2]).read_text("utf-8"))
    return {case: entry["it"] for entry in listed if entry["reader"] == reader for case in entry["cases"]}


def _compared(folder, message, read, expected):
    """What the reader does with the message, and every difference."""
    body = (folder / f"{message['case']}.body").read_bytes()
    outcome, differences = SAME, []
    for size in (len(body), PIECE):
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        where = f"{message['case']}, in pieces of {size} bytes"
        try:
            got = list(read(message["content_type"], pieces))
        except Exception as error:
            outcome = "refuses"
            differences.append(f"{where}: not read: {error!r}")
            continue
        differences.extend(_differences(where, expected, got))
    if differences and outcome != "refuses":
        outcome = "reads otherwise"
    return outcome, differences


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
