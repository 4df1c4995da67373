"""The package `email` of Python's standard library reads our messages."""

import platform
import re
from email.parser import BytesFeedParser
from email.policy import HTTP

from compare import as_written, compare, essence


def read(content_type, pieces):
    parser = BytesFeedParser(policy=HTTP)
    parser.feed(f"Content-Type: {content_type}\r\n\r\n".encode("ascii"))
    for piece in pieces:
        parser.feed(piece)
    message = parser.close()
    if message.defects:
        raise ValueError(message.defects)
    for part in message.iter_parts():
        if part.defects:
            raise ValueError(part.defects)
        disposition = part["content-disposition"]
        parameters = disposition.params if disposition else {}
        yield {
            "disposition": part.get_content_disposition(),
            "name": parameters.get("name"),
            "filename": parameters.get("filename"),
            # As it stands in the message; str(part["content-type"]) is written anew.
            "content_type": dict(part.raw_items()).get("Content-Type"),
            "essence": part.get_content_type(),
            "content": part.get_payload(decode=True),
        }


def expected_filename(filename):
    """A quoted-string of RFC 5322: what follows a backslash is itself, also in `C:\\dir`, which the encoder
    writes as browsers do. Percent signs have no meaning."""
    return filename and re.sub(r"\\(.)", r"\1", as_written(filename), flags=re.DOTALL)


def expected(part):
    return part | {
        "disposition": "form-data",
        "filename": expected_filename(part["filename"]),
        "essence": essence(part["content_type"]),
    }


compare(f"email (Python {platform.python_version()})", read, expected)
