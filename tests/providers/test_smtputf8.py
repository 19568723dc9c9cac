"""Addresses beyond ASCII: a provider that takes none hands them on, to one that can, and spoils nobody else's call."""

from dataclasses import replace
from typing import Any

import pytest

from shared.contracts import Credential
from shared.domain.content.content import Content, Mailbox
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.outcomes import Accepted
from shared.ports import Response
from shared.providers import registry
from shared.providers._common import SMTPUTF8
from shared.providers.registry import AwsAccount, Needs
from shared.sigv4 import AwsKeys
from tests.providers.contract import CONTENT, MAILING, target
from tests.providers.fakes import NOW, FakeHttp, Fixed

REFUSED = Response(400, {}, b"")
TAKEN = {
    "sendgrid": Response(202, {"x-message-id": "id"}, b""),
    "mailgun": Response(200, {}, b'{"id":"<1@mg.sender.example>","message":"Queued. Thank you."}'),
    "resend": Response(200, {}, b'{"id":"id"}'),
    "ses": Response(200, {}, b'{"MessageId":"id"}'),
    "postmark": Response(200, {}, b'[{"ErrorCode":0,"MessageID":"id"}]'),
}
ODD = Mailbox("grüße@sender.example", "Grüße")
NOBODY = [name for name in MAILING if name != "mailgun"]
"""Those that take no such recipient; Mailgun does."""


def made(name: str) -> tuple[Any, FakeHttp]:
    http = FakeHttp(TAKEN.get(name, REFUSED))
    secret = {"api_key": "key", "domain": "mg.sender.example"}
    role = AwsAccount("eu-west-1", lambda: AwsKeys("AKID", "secret"))
    needs = Needs(http, Fixed(), secret, credential=Credential("main", name, "email", 10), aws=role)
    return registry.provider(name)(needs), http


@pytest.mark.parametrize("name", NOBODY)
def test_such_a_recipient_is_for_another_provider(name: str) -> None:
    provider, http = made(name)
    odd = replace(target(0), recipient=Recipient("grüße@example.com", "grüße@example.com"))
    assert provider.send(CONTENT, [odd], deadline=NOW + 5) == [SMTPUTF8]
    assert http.requests == []


def test_the_others_of_the_call_are_sent_to() -> None:
    provider, http = made("sendgrid")
    odd = replace(target(1), recipient=Recipient("grüße@example.com", "grüße@example.com"))
    outcomes = provider.send(CONTENT, [target(0), odd, target(2)], deadline=NOW + 5)
    assert outcomes == [Accepted("id"), SMTPUTF8, Accepted("id")]
    assert b"@example.com" in http.requests[0][3]
    assert "grüße".encode() not in http.requests[0][3]


@pytest.mark.parametrize("name", [*NOBODY, "mailgun"])
def test_such_a_sender_is_for_another_provider(name: str) -> None:
    provider, http = made(name)
    assert provider.send(replace(CONTENT, sender=ODD), [target(0)], deadline=NOW + 5) == [SMTPUTF8]
    assert http.requests == []


@pytest.mark.parametrize("changes", [{"cc": (ODD,)}, {"bcc": (ODD,)}, {"reply_to": ODD}])
@pytest.mark.parametrize("name", NOBODY)
def test_so_are_copies_and_answers(name: str, changes: dict[str, Any]) -> None:
    provider, http = made(name)
    content: Content = replace(CONTENT, **changes)
    assert provider.send(content, [target(0)], deadline=NOW + 5) == [SMTPUTF8]
    assert http.requests == []


@pytest.mark.parametrize("name", TAKEN)
def test_a_name_may_be_anything(name: str) -> None:
    provider, http = made(name)
    content = replace(CONTENT, sender=Mailbox("a@sender.example", "Grüße"))
    (outcome,) = provider.send(content, [target(0)], deadline=NOW + 5)
    assert isinstance(outcome, Accepted)
    assert len(http.requests) == 1
