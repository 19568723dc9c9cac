"""Mails on the deployed stack: their bytes arrive as they came in, once, and what does not arrive is reported."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from typer.testing import CliRunner

from cli.main import app
from infra.local.cloud import Cloud
from infra.local.paths import ENV_LOCAL
from infra.local.processes import wait_for
from tests.deployed import guides
from tests.deployed.api import Api
from tests.deployed.following import Reader
from tests.deployed.mail_door import ENDS, MEDIA, SOON, MailDoor

pytestmark = pytest.mark.deployed


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
    done = CliRunner().invoke(app, [*words, "--yes", "--json"], env={ENV_LOCAL: str(cloud.paths.home)})
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


def test_a_newcomer_types_the_page(door: MailDoor, opened: Callable[[dict[str, str]], Reader]) -> None:
    domain = f"{door.tag[:7]}.org"  # of the same length, which is in the size
    opened({"@example.org": f"@{domain}"}).follow(guides.steps(guides.page("mails")))

    def taken() -> list[str]:
        return sorted(row["recipient"].partition("@")[0] for row in door.control.log() if domain in row["recipient"])

    assert wait_for(lambda: taken() == ["ann", "ann", "cleo"], SOON, pause=0.2), taken()
