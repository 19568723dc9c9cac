"""Mails of one test on a running local cloud, and what arrives of them."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote, urlencode

from infra.local.processes import wait_for
from simulator.client import ControlClient
from tests.deployed.api import Answer, Api

SOON: Final = 60
MEDIA: Final = "message/rfc822"
ENDS: Final = frozenset({"gone", "dropped"})


@dataclass(frozen=True, slots=True)
class MailDoor:
    """Hands in mails of one test, and sees what arrives."""

    api: Api
    control: ControlClient
    tag: str

    @property
    def sender(self) -> str:
        """Whom notifications go to."""
        return f"bounces+{self.tag}@example.com"

    def to(self, person: str) -> str:
        return f"{person}@{self.tag}.example.org"

    def message(self, body: bytes = b"Hello!\r\n") -> bytes:
        """Return a message that any change of its bytes would show in."""
        head = [
            b"DKIM-Signature: v=1; a=rsa-sha256; d=example.com; s=k;\r\n h=from:to;\r\n\tb=AbC/d+E=",
            b"From: The  Clinic <news@example.com>",
            b"SUBJECT:  folded\r\n  oddly",
            b"X-Tag: " + self.tag.encode(),
        ]
        return b"\r\n".join(head) + b"\r\n\r\n" + body

    def post(self, message: bytes, *people: str, key: str = "") -> str:
        """Hand in a message with one call; return the mail's id. `key`: tells apart several mails of a test."""
        query = urlencode([("mail_from", self.sender), *(("rcpt_to", self.to(x)) for x in people)])
        answer = self.api.call(
            "POST", f"/mails?{query}", raw=message, content_type=MEDIA, idempotency_key=self.tag + key
        )
        assert answer.status == 202, answer.body
        assert answer.body["destinations"] == len(people)
        return str(answer.body["mail_id"])

    def destinations(self, mail: str) -> dict[str, str]:
        """Return the state of each destination, by its person."""
        found = self.api.get(f"/mails/{mail}")["destinations"]
        return {x["address"].partition("@")[0]: x["state"] for x in found}

    def ended(self, mail: str) -> dict[str, Any]:
        """Wait until each destination has its end and the content is removed; return the mail."""
        seen: list[dict[str, Any]] = []

        def done() -> bool:
            seen.append(self.api.get(f"/mails/{mail}"))
            return seen[-1]["state"] == "cleaned" and {x["state"] for x in seen[-1]["destinations"]} <= ENDS

        assert wait_for(done, SOON, pause=0.2), seen[-1]
        return seen[-1]

    def rows(self, *people: str) -> list[dict[str, Any]]:
        """Return what providers accepted for people of this test, oldest first."""
        wanted = {self.to(x) for x in people}
        return [row for row in self.control.log() if row["recipient"] in wanted]

    def move(self, mail: str, person: str, at: datetime | None) -> Answer:
        """Send to a destination at another time; None: drop it."""
        path = f"/mails/{mail}/destinations/{quote(self.to(person), safe='')}"
        if at is None:
            return self.api.call("DELETE", path)
        return self.api.call("POST", f"{path}/reschedule", {"at": at.isoformat()})

    def reported(self, count: int) -> list[tuple[str, str]]:
        """Wait until so many destinations are reported; return all that notifications name, and why."""
        found: list[tuple[str, str]] = []

        def enough() -> bool:
            rows = [row for row in self.control.log() if row["recipient"] == self.sender]
            shown = [self.control.json("GET", f"/inbox/{row['seq']}.json") for row in rows]
            assert {x["subject"] for x in shown} <= {"Undelivered mail"}
            texts = "\n".join(x["text"] for x in shown).replace("\r", "").replace("\n    ", " ")  # lines are folded
            lines = re.findall(r"^ +(\S+): (.*)$", texts, re.MULTILINE)
            found[:] = [(who, why.partition(" The answer was: ")[0]) for who, why in lines]
            return len(found) >= count

        assert wait_for(enough, SOON, pause=0.2), found
        return sorted(found)
