"""The package `multipart` (by Marcel Hellkamp, used by Bottle) reads our messages in its strict mode,
and what else we accept in its default mode."""

from functools import partial
from types import SimpleNamespace

import multipart
from compare import compare, double_backslashes, essence


def read(content_type, pieces, strict):
    kind, options = multipart.parse_options_header(content_type)
    if kind != "multipart/form-data":
        raise ValueError(kind)
    # After the close delimiter, strict mode takes the CRLF that ends its line only in the same piece: it
    # refuses any piece after that one. So the last piece here holds both.
    pieces = [*pieces[:-2], b"".join(pieces[-2:])]
    rest = iter(pieces)
    stream = SimpleNamespace(read=lambda _size: next(rest, b""))
    for part in multipart.MultipartParser(stream, options["boundary"], strict=strict):
        yield {
            "name": part.name,
            "filename": part.filename,
            "content_type": part.headers.get("Content-Type"),
            "essence": part.content_type,
            "content": part.raw,
        }


def expected_filename(filename):
    """Percent escapes are undone as browsers write them, backslashes are never escapes, and of a path on a
    drive or a share only the last name is given."""
    if filename is None:
        return None
    filename = double_backslashes(filename)
    is_path = filename[1:3] == ":\\" or filename[:2] == "\\\\"
    return filename.rpartition("\\")[2] if is_path else filename


def expected(part):
    filename, kind = expected_filename(part["filename"]), essence(part["content_type"])
    return part | {"filename": filename, "essence": kind}


compare(
    f"multipart {multipart.__version__} (Python)",
    partial(read, strict=True),
    expected,
    read_accepted=partial(read, strict=False),
)
