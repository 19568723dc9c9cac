"""The relay against the real API in memory: what it posts is what the API takes, and each refusal has its reply."""

import base64
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest

from cli.environment import Destination
from cli.relay.api import AT_ONCE, MailApi
from cli.relay.taking import MailIntake
from tests.api.conftest import SENDER, Api, build_api, event
from tests.cli.real import FILES, RealApi
from tests.fakes.clock import FakeClock

HEAD = f"From: {SENDER}\r\nSubject: Hello\r\n\r\n".encode()
CONTENT = HEAD + b"Hello \xff!\r\n"
LARGE = HEAD + (b"x" * 990 + b"\r\n") * (AT_ONCE // 992 + 1)
TO = ["ann@example.org", "Bob@example.net"]


class RealMailApi(RealApi):
    """A `RealApi` with the bucket of mails. API Gateway hands bodies that are no text over as base64."""

    def answer(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Any:
        path, _, query = target.partition("?")
        files = self.api.mail_files
        if path.startswith(FILES):
            files.put(path.removeprefix(FILES), body)
            facts = files.facts(path.removeprefix(FILES))
            assert facts
            return 200, {"ETag": f'"{facts.etag}"'}, b""
        asked = event(method, path, headers=headers, query=query)
        asked |= {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}
        reply = self.api.handle(asked)
        again = {name: value for name, value in reply.headers.items() if name == "idempotency-replayed"}
        return reply.status, again, reply.text.encode()


@pytest.fixture
def api(moto_dynamo: Any) -> Api:
    return build_api(moto_dynamo, FakeClock())


@pytest.fixture
def real(api: Api) -> Iterator[RealMailApi]:
    found = RealMailApi(api)
    api.mail_files.place = lambda name, **_: (f"{found.url}{FILES}{name}", {})  # type: ignore[method-assign]
    yield found
    found.close()


@pytest.fixture
def intake(real: RealMailApi) -> Iterator[MailIntake]:
    client = MailApi(Destination(real.url, real.api.key), FakeClock(), "1", 1)
    yield MailIntake(client, None, clock=FakeClock())
    client.close()


def taken(intake: MailIntake, sender: str, to: list[str], content: bytes) -> str:
    return intake.take(sender, to, BytesIO(content))


def shown(api: Api, reply: str) -> tuple[str, list[str]]:
    """Return the sender and the destinations of the mail that a reply names."""
    found = api.call("GET", f"/mails/{reply.rpartition(' ')[2]}")
    assert found.status == 200, reply
    return found.json["mail_from"], [x["address"] for x in found.json["destinations"]]


@pytest.mark.slow
@pytest.mark.parametrize("content", [CONTENT, LARGE], ids=["small", "large"])
def test_a_mail_is_taken_once_however_often_it_is_sent(api: Api, intake: MailIntake, content: bytes) -> None:
    replies = [taken(intake, SENDER, to, content) for to in (TO, TO[::-1], TO)]
    assert replies[0].startswith("250 2.0.0 accepted as ")
    assert len(set(replies)) == 1
    assert shown(api, replies[0]) == (SENDER, ["Bob@example.net", "ann@example.org"])
    assert content in api.mail_files.items.values()
    assert len(api.call("GET", "/mails").json["items"]) == 1


def test_a_notification_of_another_program_has_no_sender(api: Api, intake: MailIntake) -> None:
    assert shown(api, taken(intake, "", TO, CONTENT))[0] == ""


def test_who_wants_no_notification_gets_the_mail_with_a_null_return_path(api: Api, intake: MailIntake) -> None:
    for _ in range(2):
        reply = intake.take(SENDER, TO, BytesIO(CONTENT), ["cleo@example.org", "ANN@example.org"])
        assert shown(api, reply) == ("", ["cleo@example.org"])
    items = api.call("GET", "/mails").json["items"]
    assert sorted((x["mail_from"], x["total"]) for x in items) == [("", 1), (SENDER, 2)]
    assert shown(api, intake.take(SENDER, [], BytesIO(HEAD), TO)) == ("", sorted(TO))
    assert shown(api, intake.take("", TO[:1], BytesIO(HEAD + b"x\r\n"), TO)) == ("", sorted(TO))


def test_a_mail_that_is_refused_for_some_is_not_taken_for_others(api: Api, intake: MailIntake) -> None:
    reply = intake.take("other@elsewhere.example", TO, BytesIO(CONTENT), ["cleo@example.org"])
    assert reply.startswith("550 5.7.1 ")
    assert api.call("GET", "/mails").json["items"] == []


def test_two_spellings_of_a_mailbox_are_one_destination(api: Api, intake: MailIntake) -> None:
    reply = taken(intake, SENDER, ["ann@example.org", "Ann@Example.org"], CONTENT)
    assert shown(api, reply)[1] == ["Ann@example.org"]


@pytest.mark.slow
def test_many_recipients_go_by_an_upload(api: Api, intake: MailIntake) -> None:
    to = [f"{n:020}@example.org" for n in range(300)]
    assert len(shown(api, taken(intake, SENDER, to, CONTENT))[1]) >= 100


@pytest.mark.parametrize(
    ("sender", "content", "reply"),
    [
        (SENDER, HEAD + b"a\nb\r\n", "550 5.6.0 A line ends in LF."),
        (SENDER, b"Subject: x\r\n\r\n", "550 5.6.0 The header has no From field."),
        (SENDER, b"From: other@elsewhere.example\r\n\r\n", "550 5.7.1 "),
        ("other@elsewhere.example", CONTENT, "550 5.7.1 "),
        (SENDER, LARGE.replace(b"x\r\n", b"x\n", 1), "550 5.6.0 A line ends in LF."),
    ],
)
def test_a_refusal_has_its_reason(api: Api, intake: MailIntake, sender: str, content: bytes, reply: str) -> None:
    assert taken(intake, sender, TO, content).startswith(reply)
    assert [x["state"] for x in api.call("GET", "/mails").json["items"]] in ([], ["open"])


def test_a_wrong_key_is_temporary(real: RealMailApi) -> None:
    client = MailApi(Destination(real.url, real.api.key[:-1]), FakeClock(), "1", 1)
    assert MailIntake(client, None, clock=FakeClock()).take(SENDER, TO, BytesIO(CONTENT)).startswith("451 4.3.0 ")
    client.close()
