"""A plain client of the deployed HTTP API: every answer is a value, whatever its status."""

import http.client
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from infra.local import processes

OPEN = ("queued", "sending", "sent")
STATES = (*OPEN, "delivered", "failed", "skipped", "unknown")
FINAL_SECONDS = 60
LOOK_SECONDS = 0.3
"""Between two looks at what is not aimed at: each costs 20 ms of a processor."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, lower-case headers and the body: JSON if it is, else text."""

    status: int
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True, slots=True)
class Api:
    """The API at a base address, with one API key; no key if it is empty."""

    url: str
    key: str

    def call(self, method: str, path: str, body: Any = None, *, raw: bytes | None = None, **headers: str) -> Answer:
        """Send one request; keyword `idempotency_key="x"` is the header `Idempotency-Key: x`."""
        wanted = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.key:
            wanted.setdefault("authorization", f"Bearer {self.key}")
        data = raw
        if body is not None:
            data = json.dumps(body).encode()
        if data is not None:
            wanted.setdefault("content-type", "application/json")
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.netloc, timeout=35)
        try:
            connection.request(method, parts.path + path, data, wanted)
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(
            answer.status, found, json.loads(text) if text and "json" in found.get("content-type", "") else text
        )

    def get(self, path: str) -> Any:
        """Return the JSON of a GET that must succeed."""
        answer = self.call("GET", path)
        assert answer.status == 200, (path, answer.status, answer.body)
        return answer.body

    def post(self, recipients: Sequence[str], lane: str) -> str:
        """Send a short mail to each recipient through one lane; return the id of the batch, which is its job's."""
        body = {
            "from": "news@example.com",
            "to": list(recipients),
            "subject": "Hello",
            "text": "Hello",
            "route": [lane],
        }
        answer = self.call("POST", "/batches", body)
        assert answer.status == 202, answer
        job: str = answer.body["job_id"]
        return job

    def lines(self, batch: str) -> list[dict[str, Any]]:
        """Return all log lines of a batch, in list order."""
        return self.items(f"/batches/{batch}/logs")

    def items(self, path: str) -> list[dict[str, Any]]:
        """Return what is on all pages of a list."""
        found: list[dict[str, Any]] = []
        cursor = ""
        while True:
            page = self.get(f"{path}?limit=1000" + (f"&cursor={cursor}" if cursor else ""))
            found += page["items"]
            cursor = page["next_cursor"] or ""
            if not cursor:
                return found

    def finished(self, job: str, leaves: Collection[str] = ()) -> dict[str, Any]:
        """Wait until a job is logged and nothing of it is open; every look must add up to its total.

        `leaves`: open states that stay: `sent` where no feedback comes, `queued` of a job that was stopped.
        """
        waits = [state for state in OPEN if state not in leaves]
        seen: list[dict[str, Any]] = []

        def done() -> bool:
            found = self.get(f"/jobs/{job}")
            seen.append(found)
            assert sum(found["counts"][state] for state in STATES) == found["total"], found
            return found["state"] == "LOGGED" and not any(found["counts"][state] for state in waits)

        assert processes.wait_for(done, FINAL_SECONDS, pause=LOOK_SECONDS), seen[-1]
        return seen[-1]
