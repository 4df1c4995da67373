#!/usr/bin/env python3
"""Makes the seeds anew from the corpus and the captures: each input that reaches something no other one reaches, named
for where it is from. The seeds of `search` and `roundtrip` are written by hand or found by fuzzing, and are left alone.

Run it in `fuzz/`, after `cargo +nightly fuzz build`."""

import base64
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

FUZZ = Path(__file__).parent
TESTDATA = FUZZ.parent / "testdata"
BINARIES = Path(os.environ.get("CARGO_TARGET_DIR", FUZZ / "target")) / "x86_64-unknown-linux-gnu/release"
LONGEST = 2048  # as in `run`
# Which targets tell what is worth keeping. The others read the same messages.
TARGETS = {
    "message": ["parser", "envelope", "chunking"],
    "control": ["control"],
    "disposition": ["disposition"],
    "http_head": ["http_head"],
}


def body(spec):
    if "text" in spec:
        return spec["text"].encode()
    if "base64" in spec:
        return base64.b64decode(spec["base64"])
    return b"".join(body(piece) * piece["times"] for piece in spec["repeat"])


def setting(policy):
    bits = policy.get("allow_duplicate_members", False) + 2 * policy.get("allow_json_content", False)
    bits += 4 * any(name.startswith("refuse") for name in policy)
    return bytes([ord("0") + bits])


def corpus():
    for file in sorted(TESTDATA.glob("corpus/*/cases.json")):
        for case in json.loads(file.read_text()):
            yield case["id"], setting(case.get("policy", {})), case["content_type"].encode(), body(case["body"])


def captures():
    for entry in json.loads((TESTDATA / "captures/manifest.json").read_text()):
        head, _, rest = (TESTDATA / "captures" / entry["file"]).read_bytes().partition(b"\r\n\r\n")
        name = re.sub(r"\W+", "-", entry["file"].removesuffix(".http"))
        yield name, head + b"\r\n\r\n", rest


def content_types(head):
    return re.findall(rb"(?im)^content-type:[ \t]*(.*?)[ \t]*\r$", head)


def field_values(block):
    return re.findall(rb"(?im)^(?:content-disposition|content-type):[ \t]*(.*?)[ \t]*\r$", block)


def control_document(content_type, content):
    if not content_type.lower().startswith(b"multipart"):
        return content
    document = re.search(rb"\r\n\r\n(.*?)\r\n--", content, re.DOTALL)
    return document.group(1) if document else b""


def candidates():
    """Group, name, input."""
    for name, how, content_type, content in corpus():
        for suffix, how in ("", how), ("-strict", b"4"), ("-small-limits", b"8"):
            yield "message", name + suffix, how + b"7" + content_type + b"\n" + content
        yield "control", name, control_document(content_type, content)
        for i, value in enumerate([content_type, *field_values(content)]):
            yield "disposition", f"{name}-{i}", value
    for name, head, content in captures():
        yield "http_head", name, bytes([len(head) // 2 % 256]) + head
        for content_type in content_types(head)[:1]:
            yield "message", name, b"0A" + content_type + b"\n" + content
        for i, value in enumerate(field_values(head + content)):
            yield "disposition", f"{name}-{i}", value


def main():
    by_group = {group: {} for group in TARGETS}
    for group, name, data in candidates():
        if 0 < len(data) <= LONGEST:
            by_group[group].setdefault(data, name)
    for group, inputs in by_group.items():
        kept = set()
        for target in TARGETS[group]:
            with tempfile.TemporaryDirectory() as given, tempfile.TemporaryDirectory() as found:
                for data, name in inputs.items():
                    (Path(given) / name).write_bytes(data)
                command = [BINARIES / target, "-set_cover_merge=1", "-use_counters=0", f"-max_len={LONGEST}", found, given]
                subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
                kept |= {path.read_bytes() for path in Path(found).iterdir()}
        folder = FUZZ / "seeds" / group
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        for data in kept:
            (folder / inputs[data]).write_bytes(data)
        print(f"{group}: {len(kept)} of {len(inputs)}")


main()
