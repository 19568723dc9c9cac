"""A client of Posthaste that needs nothing but Python: what it sends is sent once, however often it is run.

    POSTHASTE_URL=https://… POSTHASTE_API_KEY=ph_live_… python examples/client.py invoice-2026-0042 ann@example.com

The Idempotency-Key is the name of what happened in your business, kept where that is kept: not a random text, which a
restart forgets. Who was interrupted at any point, or is run twice at once, asks again and gets the first answer.
"""

import http.client
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

PAUSES = (1, 2, 4, 8, 16)  # seconds before each repeat
TIMEOUT = 35  # seconds; the API itself gives up after 30


class Refused(Exception):
    """The API understood the request and will not do it: a problem of RFC 9457, whose `code` is stable."""


class Posthaste:
    """One API and one key. It never follows a redirect: the key is for one address."""

    def __init__(self, url: str, key: str, pause: Callable[[float], object] = time.sleep) -> None:
        self.url, self.key, self.pause = urlsplit(url.rstrip("/")), key, pause

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Call until there is an answer: a lost one, 429 and 5xx are asked again, by the very same request."""
        pauses = iter(PAUSES)
        while True:
            told: str | None = None
            error: Exception
            try:
                status, told, answer = self._once(method, path, body, headers)
                if status < http.HTTPStatus.BAD_REQUEST:
                    return answer
                error = Refused(status, answer)
                if status != http.HTTPStatus.TOO_MANY_REQUESTS and status < http.HTTPStatus.INTERNAL_SERVER_ERROR:
                    raise error
            except (OSError, http.client.HTTPException, ValueError) as lost:  # nobody knows whether it was done
                error = lost
            pause = next(pauses, None)
            if pause is None:
                raise error
            self.pause(float(told or pause))

    def _once(self, method: str, path: str, body: Any, headers: dict[str, str]) -> tuple[int, str | None, Any]:
        kind = http.client.HTTPSConnection if self.url.scheme == "https" else http.client.HTTPConnection
        connection = kind(self.url.netloc, timeout=TIMEOUT)
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json", **headers}
        try:
            connection.request(method, self.url.path + path, json.dumps(body) if body else None, headers)
            answer = connection.getresponse()
            return answer.status, answer.getheader("Retry-After"), json.loads(answer.read())
        finally:
            connection.close()

    def send(self, event: str, batch: dict[str, Any]) -> Any:
        """Send a batch for something that happened: once, whoever asks and how often. Returns its ids."""
        return self.call("POST", "/batches", batch, **{"Idempotency-Key": event})

    def finished(self, job: str) -> Any:
        """Wait until a job is LOGGED: each message has its end, or its provider has yet to tell. Returns the job."""
        while (found := self.call("GET", f"/jobs/{job}"))["state"] != "LOGGED":
            self.pause(2)
        return found


if __name__ == "__main__":
    happened, to = sys.argv[1:]
    posthaste = Posthaste(os.environ["POSTHASTE_URL"], os.environ["POSTHASTE_API_KEY"])
    mail = {"from": "billing@example.com", "to": [to], "subject": f"Your {happened}", "text": "Dear customer, …"}
    print(posthaste.finished(posthaste.send(happened, mail)["job_id"])["counts"])
