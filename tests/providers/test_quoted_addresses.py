"""Quoted local parts: what each provider is given, and who hands them on to another one."""

from dataclasses import replace
from typing import Any

import pytest

from shared.domain.content.content import Mailbox
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.outcomes import Accepted, NotTogether
from shared.ports import Target
from shared.providers._mailbox import QUOTED
from tests.providers.contract import CONTENT, target
from tests.providers.fakes import NOW
from tests.providers.test_smtputf8 import made

ADDRESS = '"a..b c"@docomo.ne.jp'
TAKE = ["sendgrid", "mailgun", "ses"]
REFUSE = ["postmark", "resend"]
IN_JSON = rb"\"a..b c\"@docomo.ne.jp"


def quoted(n: int = 0) -> Target:
    return replace(target(n), recipient=Recipient(ADDRESS, ADDRESS))


@pytest.mark.parametrize("name", TAKE)
def test_such_a_recipient_is_handed_over_in_quotes(name: str) -> None:
    provider, http = made(name)
    (outcome,) = provider.send(CONTENT, [quoted()], deadline=NOW + 5)
    assert isinstance(outcome, Accepted)
    (request,) = http.requests
    assert IN_JSON in request[3] or b"%22a..b+c%22%40docomo.ne.jp" in request[3]


@pytest.mark.parametrize("name", REFUSE)
def test_such_a_recipient_is_for_another_provider(name: str) -> None:
    provider, http = made(name)
    assert provider.send(CONTENT, [quoted()], deadline=NOW + 5) == [QUOTED]
    assert http.requests == []


def test_the_others_of_the_call_are_sent_to() -> None:
    provider, http = made("postmark")
    (mail, beyond) = provider.send(CONTENT, [target(0), quoted(1)], deadline=NOW + 5)
    assert isinstance(mail, Accepted)
    assert beyond == QUOTED
    assert b"docomo" not in http.requests[0][3]


@pytest.mark.parametrize("name", REFUSE)
@pytest.mark.parametrize("role", ["sender", "reply_to", "cc", "bcc"])
def test_so_are_senders_copies_and_answers(name: str, role: str) -> None:
    provider, http = made(name)
    box = Mailbox(ADDRESS, "Ann")
    changes: dict[str, Any] = {role: (box,) if role in ("cc", "bcc") else box}
    assert provider.send(replace(CONTENT, **changes), [target(0)], deadline=NOW + 5) == [QUOTED]
    assert http.requests == []


def test_mailgun_gets_such_a_recipient_in_a_call_of_its_own() -> None:
    provider, http = made("mailgun")
    outcomes = provider.send(CONTENT, [target(0), quoted(1), target(2)], deadline=NOW + 5)
    assert outcomes == [outcomes[0], NotTogether("quoted_address"), outcomes[2]]
    assert isinstance(outcomes[0], Accepted)
    assert provider.send(CONTENT, [quoted(1), quoted(2)], deadline=NOW + 5) == [NotTogether("quoted_address")] * 2
    assert len(http.requests) == 1
