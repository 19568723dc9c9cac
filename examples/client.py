"""A client in standard Python: what it sends is sent once, however often it is run, at once or after a crash."""

import json
import os
import sys
import time
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

PAUSES = (1, 2, 4, 8, 16)  # seconds before each repeat, unless the API says how many


class Refused(Exception):
    """The status and text of an answer: a problem of RFC 9457, whose `code` is stable."""


class Posthaste:
    """One API and one key. It never follows a redirect: the key is for one address."""

    def __init__(self, url: str, key: str, pause: Any = time.sleep) -> None:
        self.url, self.pause = urlsplit(url.rstrip("/")), pause
        self.headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def call(self, method: str, path: str, body: Any = None, more: Any = (), repeats: int = 0) -> Any:
        """Ask; and again, by the very same request and five times at most, where the answer is lost, 429 or 5xx."""
        kind = HTTPSConnection if self.url.scheme == "https" else HTTPConnection
        try:
            with closing(kind(self.url.netloc, timeout=35)) as connection:
                connection.request(method, self.url.path + path, body and json.dumps(body), self.headers | dict(more))
                answer = connection.getresponse()
                said, status, wait, lost = answer.read(), answer.status, answer.getheader("Retry-After", ""), None
        except (OSError, HTTPException) as error:  # it may have been done or not
            said, status, wait, lost = b"", 0, "", error
        if status in range(200, 300):
            return json.loads(said)
        if repeats == len(PAUSES) or status not in (0, 429, 500, 502, 503, 504):
            raise lost or Refused(status, said.decode(errors="replace"))
        self.pause(int(wait) if wait.isdecimal() else PAUSES[repeats])
        return self.call(method, path, body, more, repeats + 1)

    def send(self, event: str, batch: dict[str, Any]) -> Any:
        """Send a batch for what happened, once: by its name in your business, as a restart forgets a random text."""
        return self.call("POST", "/batches", batch, {"Idempotency-Key": event})

    def finished(self, job: str) -> Any:
        """Wait until a job is LOGGED: each message has its end, or its provider has yet to tell. Returns the job."""
        while (found := self.call("GET", f"/jobs/{job}"))["state"] != "LOGGED":
            self.pause(2)
        return found


if __name__ == "__main__":
    if len(sys.argv) < 3:  # noqa: PLR2004 - the program's name, an event, an address
        sys.exit("usage: POSTHASTE_URL=https://… POSTHASTE_API_KEY=ph_live_… client.py invoice-17 ada@example.com")
    posthaste = Posthaste(os.environ["POSTHASTE_URL"], os.environ["POSTHASTE_API_KEY"])
    mail = {"from": "billing@example.com", "to": sys.argv[2:], "subject": f"Your {sys.argv[1]}", "text": "Hello, …"}
    print(posthaste.finished(posthaste.send(sys.argv[1], mail)["job_id"])["counts"])
