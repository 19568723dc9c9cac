"""Texts that recipients wrote, by HTTP: from the provider's post to the list."""

from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pytest

from functions.dispatch import services, track
from functions.webhooks.receive import receive
from functions.webhooks.services import Services
from shared.contracts import Credential, Settings
from shared.providers import registry
from simulator.vendors.twilio.messages import Twilio
from tests.api.conftest import Api
from tests.fakes.clock import FakeClock
from tests.fakes.queues import FakeQueue

NUMBER = "+14155550100"


class Context:
    """An invocation that has a minute left."""

    aws_request_id = "request"

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


class Phone:
    """A phone that writes to a number of Twilio's, through both functions that see its texts."""

    def __init__(self, api: Api, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
        self.vendor, self.queue, self.clock = Twilio(), FakeQueue(clock), clock
        settings = Settings("dev", (Credential("texts", "twilio", "sms", 1, accounts=(api.account,)),), {})
        self.edge = Services(settings, lambda _: self.vendor.describe(), self.queue, clock, registry.webhooks)
        deployed = SimpleNamespace(
            settings=settings,
            tracker=api.world.tracker,
            clock=clock,
            feedback=self.queue,
            records=api.services.records,
            texts=api.services.texts,
        )
        monkeypatch.setattr(services, "deployment", lambda: deployed)
        self._written = 0

    def write(self, text: str) -> None:
        """Write a text, and have it reported twice."""
        self._written += 1
        fields = self.vendor.event(self.vendor.wrote(NUMBER, "", text, str(self._written)), "received", 0, "")
        url = "https://api.example/webhooks/twilio/texts"
        headers, body = self.vendor.post([fields], url, 0)
        post: dict[str, Any] = {
            "pathParameters": {"provider": "twilio", "credential_id": "texts"},
            "requestContext": {"domainName": "api.example"},
            "headers": headers,
            "body": body.decode(),
        }
        assert body == urlencode(fields).encode()
        for _ in range(2):
            assert receive(post, self.edge)["statusCode"] == 200
        records: list[dict[str, str]] = []
        while (message := self.queue.receive()) is not None:
            records.append({"messageId": str(len(records)), "body": message.body})
            self.queue.delete(message)
        assert track.handler({"Records": records}, Context()) == {"batchItemFailures": []}


@pytest.fixture
def phone(api: Api, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Phone:
    return Phone(api, clock, monkeypatch)


@pytest.mark.slow
@pytest.mark.promise(11)
def test_texts_are_listed_and_stop_is_heeded(api: Api, clock: FakeClock, phone: Phone) -> None:
    for text in ("Hello", "Stop", "start"):
        phone.write(text)
        clock.advance(60)
    got = api.call("GET", "/texts", query={"limit": 2}).json
    assert [(x["text"], x["wish"], x["from"]) for x in got["items"]] == [
        ("start", "start", NUMBER),
        ("Stop", "stop", NUMBER),
    ]
    rest = api.call("GET", "/texts", query={"limit": 2, "cursor": got["next_cursor"]}).json
    (hello,) = rest["items"]
    assert (hello["text"], hello["wish"], hello["to"]) == ("Hello", None, "+15005550006")
    assert (hello["channel"], hello["credential_id"], rest["next_cursor"]) == ("sms", "texts", None)
    assert hello["received_at"] == "2026-09-21T14:13:20.000Z"
    assert api.call("GET", f"/suppressions/{NUMBER}", query={"scope": "sms"}).code == "not_found"
    phone.write("STOP")
    assert api.call("GET", f"/suppressions/{NUMBER}", query={"scope": "sms"}).status == 200


def test_another_account_and_a_test_key_see_no_texts(api: Api, phone: Phone) -> None:
    phone.write("Hello")
    for key in (api.other(), api.test_key()):
        assert api.call("GET", "/texts", key=key).json == {"items": [], "next_cursor": None}
    assert api.call("GET", "/texts", query={"cursor": "x"}).code == "bad_cursor"
