"""Has a reader of Python, or PHP, read the messages that tests/strictness.rs has written.

python readers.py FOLDER READER prints what it reads, as tests/strictness/document.py takes it.
"""

import asyncio
import base64
import io
import json
import logging
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
PYTHON = f"Python {platform.python_version()}"


def read_email(content_type, body):
    from email.parser import BytesParser
    from email.policy import HTTP

    message = BytesParser(policy=HTTP).parsebytes(f"Content-Type: {content_type}\r\n\r\n".encode() + body)
    for part in message.iter_parts() if message.is_multipart() else ():
        disposition = part["content-disposition"]
        name = disposition.params.get("name") if disposition else None
        # A part with parts of its own has no content.
        yield name, part.get_filename(), part.get_payload(decode=True)


def read_multipart(content_type, body):
    import multipart

    forms, files = multipart.parse_form_data(environ(content_type, body))
    for name, value in forms.iterallitems():
        yield name, None, value.encode()
    for name, part in files.iterallitems():
        yield name, part.filename, part.raw


def read_starlette(content_type, body):
    from starlette.requests import Request

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def read():
        scope = {"type": "http", "method": "POST", "headers": [(b"content-type", content_type.encode())]}
        async with Request(scope, receive).form() as form:
            for name, value in form.multi_items():
                if isinstance(value, str):
                    yield name, None, value.encode()
                else:
                    yield name, value.filename, await value.read()

    async def everything():
        return [part async for part in read()]

    return asyncio.run(everything())


def read_werkzeug(content_type, body):
    from werkzeug.wrappers import Request

    class Loud(Request):
        """Flask shows an empty form where this raises."""

        def make_form_data_parser(self):
            parser = super().make_form_data_parser()
            parser.silent = False
            return parser

    request = Loud(environ(content_type, body))
    for name, value in request.form.items(multi=True):
        yield name, None, value.encode()
    for name, file in request.files.items(multi=True):
        yield name, file.filename, file.read()


def read_django(content_type, body):
    from django.conf import settings
    from django.core.handlers.wsgi import WSGIRequest

    if not settings.configured:
        settings.configure()
    request = WSGIRequest(environ(content_type, body))
    for name, values in request.POST.lists():
        for value in values:
            yield name, None, value.encode()
    for name, files in request.FILES.lists():
        for file in files:
            yield name, file.name, file.read()


def environ(content_type, body):
    return {
        "REQUEST_METHOD": "POST",
        "SERVER_NAME": "h",
        "SERVER_PORT": "80",
        "wsgi.url_scheme": "http",
        "CONTENT_TYPE": content_type,
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
    }


def php(content_type, body):
    """What read.php prints: PHP itself reads the body before the script starts."""
    request = {
        "PATH": os.environ["PATH"],
        "GATEWAY_INTERFACE": "CGI/1.1",
        "REDIRECT_STATUS": "200",
        "REQUEST_METHOD": "POST",
        "SCRIPT_FILENAME": str(HERE / "read.php"),
        "CONTENT_TYPE": content_type,
        "CONTENT_LENGTH": str(len(body)),
    }
    settings = ["-d", "display_errors=0", "-d", "display_startup_errors=0", "-d", "html_errors=0"]
    ran = subprocess.run(["php-cgi", *settings], env=request, input=body, capture_output=True, check=True)
    _headers, _, printed = ran.stdout.partition(b"\r\n\r\n")
    read = json.loads(printed)
    if "refused" in read:
        raise ValueError(read["refused"])
    return read


def read_php(content_type, body):
    for name, filename, content in php(content_type, body)["parts"]:
        yield name, filename, base64.b64decode(content)


def document_php(text):
    return php("application/json", text)["document"]


def document_python(text):
    return json.dumps(json.loads(text), separators=(",", ":"))


def php_version():
    shown = subprocess.run(["php-cgi", "-v"], capture_output=True, check=True, text=True).stdout
    return shown.split()[1]


READERS = {
    "email": ("email", lambda: PYTHON, read_email, document_python),
    "multipart": ("multipart", lambda: version("multipart"), read_multipart, None),
    "starlette": (
        "Starlette",
        lambda: f"{version('starlette')} with python-multipart {version('python-multipart')}",
        read_starlette,
        None,
    ),
    "werkzeug": ("Werkzeug", lambda: version("werkzeug"), read_werkzeug, None),
    "django": ("Django", lambda: version("django"), read_django, None),
    "php": ("PHP", php_version, read_php, document_php),
}


def outcome(read):
    try:
        return read()
    except Exception as error:
        return {"refused": f"{type(error).__name__}: {error}"}


def main():
    logging.disable()
    folder, reader = Path(sys.argv[1]), sys.argv[2]
    name, version, read, document = READERS[reader]
    index = json.loads((folder / "index.json").read_text("utf-8"))

    def parts(case):
        body = (folder / f"{case['case']}.body").read_bytes()
        found = list(read(case["content_type"], body))
        encoded = [
            (name, filename, None if content is None else base64.b64encode(content).decode())
            for name, filename, content in found
        ]
        return {"parts": encoded}

    readings = {"name": name, "version": version()}
    readings["messages"] = {case["case"]: outcome(lambda: parts(case)) for case in index["messages"]}
    if document:
        # What Python's `json` reads is in the file of `email`.
        readings["documents"] = {
            case["case"]: outcome(lambda: {"document": document((folder / f"{case['case']}.json").read_bytes())})
            for case in index["documents"]
        }
    json.dump(readings, sys.stdout)


main()
