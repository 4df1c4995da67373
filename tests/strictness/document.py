"""Writes docs/strictness.md of what the readers have read: python document.py FOLDER."""

import base64
import json
import sys
import textwrap
from pathlib import Path

# Readers of multipart in the order of the columns: file, how it is called in the text, and what stands for it.
MULTIPART = {
    "multer": "Rust, used by axum",
    "multipart": "Python, by Marcel Hellkamp, used by Bottle: `parse_form_data`",
    "starlette": "Python, used by FastAPI: `request.form()`",
    "werkzeug": "Python, used by Flask; where it refuses, Flask shows an empty form",
    "django": "Python: `request.POST`, `request.FILES`",
    "email": "Python's standard library: `BytesParser`; it never refuses",
    "busboy": "Node.js, used by Multer for Express; it drops without an error the parts that it cannot read",
    "undici": "Node.js itself: `Response.formData()`",
    "formidable": "Node.js",
    "multiparty": "Node.js",
    "go": "`mime/multipart`: `NextPart`, `FormName`",
    "php": "`$_POST`, `$_FILES`; where it refuses, they are empty and PHP logs a warning",
}
# Readers of JSON: file, and the column's head.
JSON = {
    "serde_json": "serde_json",
    "email": "Python `json`",
    "undici": "`JSON.parse`",
    "go": "Go `encoding/json`",
    "php": "PHP `json_decode`",
}
# Those that give fields and files apart, each by name.
UNORDERED = {"multipart", "werkzeug", "django", "formidable", "multiparty", "php"}
LONGEST = 48

INTRO = """\
# What we refuse and others accept

What {readers} multipart readers and {json_readers} JSON readers do with messages that this crate refuses. A gateway and the
agent behind it that read one message in two ways are how content gets past a check; the rules are in [acp.md](acp.md).

{summary}
- In {split} of these {messages}, readers that accept the message differ in what they read.
{json_summary}
- In {json_split} of these {documents}, readers that accept the document differ in what they read.

To accept is to give at least one part, or a document, and no error. Every cell is from a real run; a trick that all readers
refuse is not listed. `tests/strictness/run` makes this file again, with the versions that are then current. The tricks are in
`tests/strictness/tricks.json`. A message is found by its name: in `testdata/corpus/*/cases.json`, or, with `own/`, among the
tricks themselves. `cargo test --test strictness` checks that the column *we* is what the decoder says now.

How to read a cell: `ctl` is the control part, with its name and its document whole. `f="v"` is a part named f that holds v;
`f(a.txt)="v"` has a file name, too; `?` is a part without a name. *refuses* is an error, *nothing* is no part and no error.
Where a reader gives parts by name and not in their order, `ctl` is put first.
"""


def main():
    folder = Path(sys.argv[1])
    index = json.loads((folder / "index.json").read_text("utf-8"))
    readings = {
        reader: json.loads(path.read_text("utf-8")) if path.exists() and path.stat().st_size else None
        for reader in dict.fromkeys([*MULTIPART, *JSON])
        for path in [folder / "readings" / f"{reader}.json"]
    }
    messages = cells(index["messages"], MULTIPART, readings, "messages", shown_parts)
    documents = cells(index["documents"], JSON, readings, "documents", shown_document)
    check_valid(messages.pop(0), '`ctl, f(a.txt)="v"`')
    check_valid(documents.pop(0), '`{"f":{"$ref":"f"}}`')
    tricks, json_tricks = index["messages"][1:], index["documents"][1:]
    check_accepted(tricks, messages)
    check_accepted(json_tricks, documents)
    names = {reader: readings[reader]["name"] for reader in MULTIPART if readings[reader]}
    json_names = {reader: head.replace("`", "") for reader, head in JSON.items() if readings[reader]}
    text = INTRO.format(
        readers=len(names),
        json_readers=len(json_names),
        messages=len(messages),
        documents=len(documents),
        summary=accepted("tricks on multipart", messages, names),
        json_summary=accepted("tricks on the control document", documents, json_names),
        split=split(messages),
        json_split=split(documents),
    )
    heads = {reader: (readings[reader] or {}).get("name", reader) for reader in MULTIPART}
    text += "\n## Multipart\n\n" + table(tricks, heads, messages)
    text += "\n## JSON\n\n" + table(json_tricks, JSON, documents)
    text += "\n## Readers\n\n| reader | version | how |\n|---|---|---|\n"
    for reader, how in MULTIPART.items():
        version = readings[reader]["version"] if readings[reader] else "not installed where this was made"
        text += f"| {heads[reader]} | {version} | {how} |\n"
    if readings["serde_json"]:
        text += f"| serde_json | {readings['serde_json']['version']} | Rust: `from_slice` to a `Value` |\n"
    print(text, end="")


REFUSES = "refuses"
NOTHING = "nothing"


def cells(tricks, readers, readings, kind, shown):
    """One dictionary a trick: what each reader does."""
    rows = []
    for trick in tricks:
        row = {}
        for reader in readers:
            reading = readings[reader][kind][trick["case"]] if readings[reader] else None
            if reading is not None:
                reading = reading | {"unordered": reader in UNORDERED}
            row[reader] = "" if reading is None else REFUSES if "refused" in reading else shown(reading, trick)
        rows.append(row)
    return rows


def check_valid(row, expected):
    """A reader that does not read the message without a trick was asked wrongly."""
    wrong = {reader: cell for reader, cell in row.items() if cell not in ("", expected)}
    if wrong:
        sys.exit(f"the valid message is not read: {wrong}")


def check_accepted(tricks, rows):
    """A trick that no reader falls for any more tells nothing."""
    for trick, row in zip(tricks, rows):
        if set(row.values()) <= {REFUSES, NOTHING}:
            sys.exit(f"{trick['case']} is accepted by nobody: take it out of tricks.json")


def split(rows):
    """How many tricks are read in more than one way."""
    return sum(len(set(row.values()) - {"", REFUSES, NOTHING}) > 1 for row in rows)


def accepted(what, rows, names):
    """How many tricks each reader accepts, most first: an item of a list."""
    counts = {name: sum(row[reader] not in ("", REFUSES, NOTHING) for row in rows) for reader, name in names.items()}
    most_first = sorted(counts.items(), key=lambda count: -count[1])
    accepted = ", ".join(f"{name} {count}" for name, count in most_first)
    item = f"- {len(rows)} {what}. Accepted by {accepted}."
    return textwrap.fill(item, 124, subsequent_indent="  ", break_on_hyphens=False)


def shown_parts(reading, trick):
    parts = [
        (name, filename, None if content is None else base64.b64decode(content))
        for name, filename, content in reading["parts"]
    ]
    control = trick["control"] and base64.b64decode(trick["control"])
    shown = [
        "ctl" if control and part == ("_acp_control", None, control) else shown_part(*part) for part in parts
    ]
    if reading["unordered"]:
        shown.sort(key=lambda part: part != "ctl")
    return code(", ".join(shown)) if shown else NOTHING


def shown_part(name, filename, content):
    name = "?" if name is None else escaped(name) or '""'
    filename = "" if filename is None else f"({escaped(filename)})"
    content = "(parts)" if content is None else '="' + short(escaped(content.decode("latin-1"))) + '"'
    return name + filename + content


def shown_document(reading, _):
    return code(short(escaped(reading["document"])))


def short(text):
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def escaped(text):
    named = {"\r": "\\r", "\n": "\\n", "\t": "\\t", "\0": "\\0"}
    return "".join(
        named.get(c) or (f"\\x{ord(c):02x}" if not c.isprintable() or 0x7F <= ord(c) < 0x100 else c) for c in text
    )


def code(text):
    """A code span in a cell."""
    fence = "``" if "`" in text else "`"
    return fence + text.replace("|", "\\|") + fence


def table(tricks, heads, rows):
    lines = ["| trick | message | rule | we | " + " | ".join(heads.values()) + " |"]
    lines.append("|---" * (4 + len(heads)) + "|")
    for trick, row in zip(tricks, rows):
        lines.append("| " + " | ".join([*trick["row"], *row.values()]) + " |")
    return "\n".join(lines) + "\n"


main()
