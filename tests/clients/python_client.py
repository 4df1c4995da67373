"""The package `requests` or `httpx`, which are called alike, sends a valid message and its easiest wrong one."""

import importlib
import sys

package, url, control_file = sys.argv[1:]
client = importlib.import_module(package)
with open(control_file, encoding="utf-8") as file:
    control = file.read()


def send(case, *first, **others):
    with open("testdata/files/page.png", "rb") as image, open("testdata/files/page.pdf", "rb") as report:
        files = [
            *first,
            ("image", ("page.png", image, "image/png")),
            ("report", ("page.pdf", report, "application/pdf")),
        ]
        answer = client.post(f"{url}/messages", files=files, timeout=60, **others)
    body = " ".join(answer.content.decode("utf-8").split())
    print(case, answer.status_code, answer.headers["Content-Type"], body, sep="\t")


send("valid", ("_acp_control", (None, control.encode(), "application/json")))
send("wrong", data={"_acp_control": control})
