"""A key leaks and sends for some hours among its owner's requests. Which hours, and what?

Then: no entry of the audit log named a batch or mail that was accepted.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from shared.domain.audit import HOUR_MS, Act, Event, Log
from shared.domain.namespaces import namespace
from shared.ports import Retriable
from tests.api.conftest import SENDER, Api
from tests.api.test_apart import BODIES, POSTMARK, RESEND
from tests.api.test_doors import mail
from tests.fakes.faults import Crash, When

ACCEPTED = {Act.BATCHES_ACCEPTED, Act.MAILS_ACCEPTED, Act.NOTICES_ACCEPTED, Act.EVENTS_ACCEPTED}
RECORD = {"action": "message_new", "id": "7", "first_name": "Ann", "channel": "sms"}


def log(api: Api, account: str = "") -> list[Event]:
    """Return what an audit log says of requests that were accepted."""
    return [x for x in api.services.journal.since(account or api.account, Log.AUDIT, 0) if x.kind in ACCEPTED]


def events(api: Api, key: str) -> Any:
    assert api.call("PUT", "/digest-policies/acme/", {"from": SENDER}).status == 200
    return api.call("POST", "/events", BODIES["POST", "/events"], key=key)


def posted_mail(api: Api, key: str) -> Any:
    return api.call("POST", "/mails", BODIES["POST", "/mails"], key=key)


def batch(api: Api, key: str) -> Any:
    return api.batch(key=key)


SENT: dict[str, tuple[Act, Callable[[Api, str], Any]]] = {
    "batch": (Act.BATCHES_ACCEPTED, batch),
    "SendGrid's door": (Act.BATCHES_ACCEPTED, lambda api, key: api.call("POST", "/v3/mail/send", mail(), key=key)),
    "Postmark's door": (Act.BATCHES_ACCEPTED, lambda api, key: api.call("POST", "/email", POSTMARK, key=key)),
    "Postmark's batches": (
        Act.BATCHES_ACCEPTED,
        lambda api, key: api.call("POST", "/email/batch", [POSTMARK, POSTMARK], key=key),
    ),
    "Resend's door": (Act.BATCHES_ACCEPTED, lambda api, key: api.call("POST", "/emails", RESEND, key=key)),
    "Resend's batches": (Act.BATCHES_ACCEPTED, lambda api, key: api.call("POST", "/emails/batch", [RESEND], key=key)),
    "mail": (Act.MAILS_ACCEPTED, posted_mail),
    "events": (Act.EVENTS_ACCEPTED, events),
}
"""Each door for messages of keys."""


@pytest.mark.promise(7)
@pytest.mark.parametrize("door", SENT)
def test_each_hour_in_which_a_key_sent_has_one_entry(api: Api, door: str) -> None:
    act, send = SENT[door]
    secret, key = api.services.accounts.create_key(api.account)
    first = api.world.clock.ms
    for hours in (0, 0, 1):
        api.world.clock.advance(hours * HOUR_MS / 1000)
        assert send(api, secret).status in (200, 202)
    found = [x for x in log(api) if x.actor == key.id]
    begins = first - first % HOUR_MS
    assert [(x.kind, x.id, x.at) for x in found] == [(act, key.id, begins), (act, key.id, begins + HOUR_MS)]
    assert [set(x.data) for x in found] == [{"first"}] * 2


@pytest.mark.promise(7)
def test_each_hour_in_which_a_notifier_uploaded_has_one_entry(api: Api) -> None:
    login = api.notifier()
    for _ in range(2):
        assert api.basic("PUT", "/messages", login, [RECORD]).status == 200
    assert api.basic("PUT", "/messages", login, []).status == 200
    (entry,) = log(api)
    assert (entry.kind, entry.id, entry.actor) == (Act.NOTICES_ACCEPTED, "clinic", "notifier:clinic")


@pytest.mark.promise(7)
def test_what_is_refused_leaves_no_entry(api: Api) -> None:
    assert api.batch(from_="ann@victim.example").status == 422
    assert api.call("POST", "/events", BODIES["POST", "/events"]).status == 422
    assert api.call("POST", "/v3/mail/send", mail(from_={"email": "ann@victim.example"})).status == 403
    assert log(api) == []


@pytest.mark.promise(7)
def test_test_keys_have_their_hours_in_their_own_log(api: Api) -> None:
    assert api.batch(key=api.test_key()).status == 202
    assert log(api) == []
    assert [x.kind for x in log(api, namespace(api.account, test=True))] == [Act.BATCHES_ACCEPTED]


@pytest.mark.promise(7)
def test_a_batch_whose_entry_cannot_be_written_is_not_accepted(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that dies after the entry has said too much; never too little."""

    def fail(*_: Any) -> None:
        raise Retriable("throttled")

    monkeypatch.setattr(api.services.acceptances, "note", fail)
    before = api.stored()
    assert api.batch().status == 503
    assert posted_mail(api, api.key).status == 503
    assert api.stored() == before


@pytest.mark.promise(7)
@pytest.mark.parametrize("when", list(When))
def test_an_entry_is_there_before_the_batch_is(api: Api, when: When) -> None:
    api.world.stores.tap.arm(1, when, where=lambda name: name.endswith("put_item"))
    with suppress(Crash):
        api.batch()
    assert api.world.stores.tap.fired == 1
    assert len(log(api)) == 1
