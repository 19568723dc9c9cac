"""Mails on the deployed stack: their bytes arrive as they came in, once, and what does not arrive is reported."""

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import pytest
from typer.testing import CliRunner

from cli.main import app
from infra.local.cloud import Cloud
from infra.local.paths import ENV_LOCAL, ROOT
from infra.local.processes import wait_for
from simulator.client import ControlClient
from tests.deployed.api import Answer, Api
from tests.deployed.shell import checkout, typed

pytestmark = pytest.mark.deployed

SOON: Final = 60
MEDIA: Final = "message/rfc822"
ENDS: Final = frozenset({"gone", "dropped"})
PAGE: Final = "\n".join(
    re.findall(r"^```sh\n(.*?)^```$", (ROOT / "docs" / "mails.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
)


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

    def post(self, message: bytes, *people: str) -> str:
        """Hand in a message with one call; return the mail's id."""
        query = urlencode([("mail_from", self.sender), *(("rcpt_to", self.to(x)) for x in people)])
        answer = self.api.call("POST", f"/mails?{query}", raw=message, content_type=MEDIA, idempotency_key=self.tag)
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
            texts = "\n".join(x["text"] for x in shown).replace("\r", "")
            found[:] = re.findall(r"^ +(\S+): (.*)$", texts, re.MULTILINE)
            return len(found) >= count

        assert wait_for(enough, SOON, pause=0.2), found
        return sorted(found)


@pytest.fixture
def door(api: Api, control: ControlClient, tag: str) -> MailDoor:
    return MailDoor(api, control, tag)


@pytest.mark.promise(1)
@pytest.mark.parametrize(
    "body",
    [b".\r\n..\r\n.x\r\nFrom the start\r\n \t\r\n", b"Gr\xc3\xbc\xc3\x9fe \xff\x80\r\n", b"x" * 998 + b"\r\n\r\n\r\n"],
    ids=["dots", "8-bit", "long line"],
)
def test_bytes_in_are_bytes_out(door: MailDoor, body: bytes) -> None:
    message = door.message(body)
    blind = message.replace(b"X-Tag", b"Bcc: hidden@example.net\r\nX-Tag")
    mail = door.post(blind, "ann", "ben")
    assert door.post(blind, "ann", "ben") == mail, "the same key"
    shown = door.ended(mail)
    assert (shown["total"], shown["size"]) == (2, len(blind))
    rows = door.rows("ann", "ben")
    assert sorted(row["recipient"] for row in rows) == [door.to("ann"), door.to("ben")]
    assert {row["finished_hash"] for row in rows} == {sha256(message).hexdigest()}


@pytest.mark.promise(1)
def test_a_large_mail_is_uploaded_by_the_command(door: MailDoor, cloud: Cloud, tmp_path: Path) -> None:
    message = door.message(b"".join(b"%076d\r\n" % n for n in range(80_000)))
    file = tmp_path / "mail.eml"
    file.write_bytes(message)
    words = ["mail", "send", str(file), "--from", door.sender, "--to", door.to("ann"), "--metadata", "ticket=7"]
    done = CliRunner().invoke(app, [*words, "--json"], env={ENV_LOCAL: str(cloud.paths.home)})
    assert done.exit_code == 0, done.stderr
    shown = door.ended(json.loads(done.stdout)["mail_id"])
    assert (shown["size"], shown["destinations"][0]["metadata"]) == (len(message), {"ticket": "7"})
    assert [row["finished_hash"] for row in door.rows("ann")] == [sha256(message).hexdigest()]


@pytest.mark.promise(1)
def test_of_three_destinations_two_fail_and_the_sender_is_notified(door: MailDoor, api: Api) -> None:
    answer = api.call("PUT", f"/suppressions/{quote(door.to('sue'), safe='')}", {"reason": "manual"})
    assert answer.status == 200, answer.body
    mail = door.post(door.message(), "ann", "bounce", "sue")
    assert door.reported(2) == [
        (door.to("bounce"), "It was refused after it had been accepted."),
        (door.to("sue"), "The address is on the list of addresses that get no mail."),
    ], "each in one notification"
    assert door.destinations(mail) == dict.fromkeys(("ann", "bounce", "sue"), "gone")
    assert [len(door.rows(x)) for x in ("ann", "bounce", "sue")] == [1, 1, 0]


def test_what_waits_is_dropped_or_moved_and_what_is_sent_is_not(door: MailDoor, api: Api) -> None:
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    later = {"schedule_at": tomorrow.isoformat()}
    body = {
        "mail_from": door.sender,
        "destinations": [{"address": door.to(x), **later} for x in ("ann", "ben")],
        "content": door.message().decode(),
    }
    mail = api.call("POST", "/mails", body).body["mail_id"]
    assert door.destinations(mail) == {"ann": "queued", "ben": "queued"}
    assert [door.move(mail, "ann", None).body["state"] for _ in range(2)] == ["dropped", "dropped"]
    assert door.move(mail, "ben", datetime.now(UTC)).status == 200
    assert {x["state"] for x in door.ended(mail)["destinations"]} == ENDS
    for at in (None, tomorrow):
        refused = door.move(mail, "ben", at)
        assert (refused.status, refused.body["code"]) == (409, "in_flight")
    assert door.rows("ann") == []
    assert [row["finished_hash"] for row in door.rows("ben")] == [sha256(door.message()).hexdigest()]


def test_a_mail_that_cannot_be_sent_names_its_line(door: MailDoor) -> None:
    query = urlencode({"mail_from": door.sender, "rcpt_to": door.to("ann")})
    wrong = door.message(b"one\r\ntwo\nthree\r\n")
    answer = door.api.call("POST", f"/mails?{query}", raw=wrong, content_type=MEDIA)
    assert (answer.status, answer.body["code"]) == (422, "invalid_mail")
    (fault,) = answer.body["errors"]
    assert (fault["code"], fault["line"]) == ("bare_lf", 10)


def test_a_newcomer_types_the_page(cloud: Cloud, door: MailDoor, tmp_path: Path) -> None:
    said = typed(PAGE.replace("@example.org", f"@{door.tag}.example.org"), checkout(cloud, tmp_path))
    assert said.count('"mail_id"') == 3, "a call, a commit, and a look"
    assert f"{door.to('ben')} is dropped" in said
    assert f"{door.to('cleo')} is queued" in said
    assert wait_for(lambda: len(door.rows("ann")) == 2 and len(door.rows("cleo")) == 1, SOON, pause=0.2), said
    assert door.rows("ben") == []
