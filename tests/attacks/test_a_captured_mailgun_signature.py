"""Somebody who has seen one signed post of Mailgun's signs any other event with its signature."""

import json
from dataclasses import replace
from typing import Any

import pytest

from functions.webhooks import receive
from functions.webhooks.services import Services
from shared.adapters.dynamo.credentials.webhook_posts import Posts
from shared.contracts import Credential, Settings, load_feedback
from shared.ports import Retriable
from shared.providers import registry
from tests.fakes.clock import FakeClock
from tests.fakes.queues import FakeQueue
from tests.fakes.tables import Tables, create_tables
from tests.providers import test_mailgun_events as mailgun
from tests.providers.contract import JOB

SETTINGS = Settings(
    stage="dev",
    credentials=(Credential("mailgun-main", "mailgun", "email", 10), Credential("second", "mailgun", "email", 10)),
    routes={"email": ("mailgun-main",)},
)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(mailgun.NOW + 20 * 3600)


@pytest.fixture
def tables(moto_dynamo: Any) -> Tables:
    return create_tables(moto_dynamo)


@pytest.fixture
def using(moto_dynamo: Any, tables: Tables, clock: FakeClock) -> Services:
    posts = Posts(moto_dynamo, tables.ops, clock)
    return Services(SETTINGS, lambda _: mailgun.SECRET, FakeQueue(clock), clock, registry.webhooks, posts.first)


def post(using: Services, body: bytes, credential: str = "mailgun-main") -> int:
    params = {"provider": "mailgun", "credential_id": credential}
    status: int = receive.receive({"pathParameters": params, "body": body.decode()}, using)["statusCode"]
    return status


def heard(using: Services) -> list[str]:
    """Return the words that are queued, and take them away."""
    queue, words = using.feedback, list[str]()
    assert isinstance(queue, FakeQueue)
    while (message := queue.receive()) is not None:
        words += [w.word for w in load_feedback(message.body)[1]]
        queue.delete(message)
    return words


def signed(event: dict[str, Any], **changes: Any) -> bytes:
    return mailgun.body(mailgun.event(**event), **changes)


TRUE = signed({"event": "delivered"})
FORGED = signed({"event": "complained", "user-variables": {"posthaste_ref": f"{JOB}-0-0-1"}})


@pytest.mark.promise(9)
def test_another_body_under_a_signature_that_was_used_is_refused(using: Services) -> None:
    assert post(using, TRUE) == 200
    assert heard(using) == ["delivered"]
    for forged in (FORGED, signed({"event": "delivered", "recipient": "somebody.else@example.com"})):
        for credential in ("mailgun-main", "second"):
            assert post(using, forged, credential) == 401
    assert heard(using) == []


@pytest.mark.promise(9)
def test_where_the_timestamp_ends_and_the_token_begins_makes_no_other_signature(using: Services) -> None:
    assert post(using, TRUE) == 200
    stamp = str(mailgun.NOW) + mailgun.TOKEN
    shifted = {"timestamp": stamp[:9], "token": stamp[9:]}
    assert post(using, signed({"event": "complained"}, **shifted)) == 401
    longer = {"timestamp": "0" + str(mailgun.NOW), "signature": mailgun.hexdigest(mailgun.KEY, f"0{mailgun.NOW}")}
    assert post(using, signed({"event": "delivered"}, **longer)) == 200, "signed anew, it is another signature"


@pytest.mark.promise(7)
def test_mailgun_may_repeat_itself_in_whatever_order_it_writes(using: Services) -> None:
    assert post(using, TRUE) == 200
    again = json.loads(TRUE)
    turned = {k: dict(reversed(again[k].items())) for k in reversed(again)}
    assert [post(using, TRUE), post(using, json.dumps(turned, indent=1).encode())] == [200, 200]
    assert post(using, TRUE, "second") == 200, "an event may be posted to several addresses"
    assert heard(using) == ["delivered"] * 4
    assert post(using, FORGED) == 401


@pytest.mark.promise(3)
def test_a_post_that_was_not_queued_is_taken_when_it_comes_again(using: Services) -> None:
    class Full(FakeQueue):
        def send(self, *_: Any, **__: Any) -> None:
            raise Retriable("sqs")

    assert post(replace(using, feedback=Full(using.clock)), TRUE) == 503  # type: ignore[arg-type]
    assert post(using, TRUE) == 200
    assert heard(using) == ["delivered"]


def test_a_signature_is_remembered_for_as_long_as_it_is_believed(
    using: Services, moto_dynamo: Any, tables: Tables, clock: FakeClock
) -> None:
    assert post(using, TRUE) == 200
    (kept,) = moto_dynamo.scan(TableName=tables.ops)["Items"]
    assert int(kept["ttl"]["N"]) > mailgun.NOW + 24 * 3600
    assert set(kept) == {"pk", "sk", "said", "ttl"}
    clock.advance(5 * 3600)
    assert post(using, TRUE) == 401, "too old"


@pytest.mark.promise(3)
def test_no_post_is_taken_while_it_cannot_be_remembered(using: Services) -> None:
    def lost(_: object) -> bool:
        raise Retriable("put_item: busy")

    assert post(replace(using, first=lost), TRUE) == 503
    assert post(Services(using.settings, using.secret, using.feedback, using.clock, using.reader), TRUE) == 401
    assert heard(using) == []


@pytest.mark.promise(10)
def test_however_deep_a_signed_body_is_the_answer_is_clear(using: Services) -> None:
    for depth in (100, 300, 900, 990, 1000, 5000):
        deep = '{"a":' * depth + "1" + "}" * depth
        event = f'{{"signature": {json.dumps(mailgun.signature(token=f"{depth:050d}"))}, "event-data": {deep}}}'
        assert post(using, event.encode()) in (200, 400, 401)
