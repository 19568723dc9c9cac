"""Bodies of deliveries are made of jobs and chunks, always the same bytes."""

import json
from dataclasses import replace

import pytest

from shared.domain.hooks.delivery import Cells, HookDelivery
from shared.domain.hooks.endpoint import HookFormat
from shared.engine.hooks.render import KEPT, HookBodies
from tests.contracts.conftest import Parts
from tests.domain.hooks.examples import delivery, endpoint
from tests.fakes.clock import FakeClock
from tests.fakes.stores import FakeStores

DELIVERED, FAILED = 0x19, 0x24


class Press:
    """A stored job of two chunks, and what makes bodies of it."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.stores = FakeStores(self.clock)
        self.parts = Parts(self.clock, [3, 2], name="spring")
        self.parts.store(self.stores)
        self.bodies = HookBodies(self.stores.records, self.clock)
        self.stores.tap.calls.clear()

    def cells(self, chunk: int, *cells: tuple[int, int], notes: dict[int, str] | None = None) -> Cells:
        return Cells(self.parts.job.id, chunk, cells, notes or {})

    def body(self, one: HookDelivery, form: HookFormat = HookFormat.STANDARD) -> bytes:
        return self.bodies(one, endpoint(format=form))


@pytest.fixture
def press() -> Press:
    return Press()


def test_one_event_names_its_message(press: Press) -> None:
    one = delivery(kind="message.failed", cells=(press.cells(1, (1, FAILED), notes={1: "mailbox_full"}),))
    body = json.loads(press.body(one))
    assert body["type"] == "message.failed"
    assert (body["data"]["message"], body["data"]["recipient"]) == ("1.1", "r1.1@example.com")
    assert (body["data"]["error"], body["data"]["attempt"]) == ("mailbox_full", 2)


def test_a_batch_lists_events_of_several_chunks_with_their_ids(press: Press) -> None:
    cells = (press.cells(0, (0, DELIVERED), (2, DELIVERED)), press.cells(1, (1, DELIVERED)))
    body = json.loads(press.body(delivery(cells=cells, batch=True)))
    job = press.parts.job.id
    assert body["type"] == "batch"
    assert [x["id"] for x in body["data"]] == [
        f"evt_{job}-{place}-1-message-delivered" for place in ("0-0", "0-2", "1-1")
    ]
    assert [x["data"]["recipient"] for x in body["data"]] == [f"r{x}@example.com" for x in ("0.0", "0.2", "1.1")]


def test_an_event_that_is_no_messages_is_stored_whole(press: Press) -> None:
    one = delivery(kind="job.logged", cells=(), data='{"job_id":"x"}')
    assert json.loads(press.body(one))["data"] == {"job_id": "x"}
    several = replace(one, data='[["evt_1",{"a":1}],["evt_2",{"a":2}]]', batch=True)
    assert [(x["id"], x["data"]["a"]) for x in json.loads(press.body(several))["data"]] == [("evt_1", 1), ("evt_2", 2)]


def test_another_process_makes_the_same_bytes_later(press: Press) -> None:
    one = delivery(cells=(press.cells(0, (0, DELIVERED)),), batch=True)
    first = press.body(one)
    press.clock.advance(86_400)
    assert HookBodies(press.stores.records, press.clock)(one, endpoint()) == first


def test_a_chunk_is_read_once_in_a_while(press: Press) -> None:
    one = delivery(cells=(press.cells(0, (0, DELIVERED)),))
    for _ in range(10):
        press.body(one)
    assert len(press.stores.tap.calls) == 1
    press.clock.advance(KEPT)
    press.body(one)
    assert len(press.stores.tap.calls) == 2


def test_the_chunks_of_a_batch_are_read_together(press: Press) -> None:
    cells = (press.cells(0, (0, DELIVERED)), press.cells(1, (1, DELIVERED)), press.cells(7, (0, DELIVERED)))
    assert len(json.loads(press.body(delivery(cells=cells, batch=True)))["data"]) == 2
    assert len(press.stores.tap.calls) == 1


def test_the_body_about_removed_messages_is_empty(press: Press) -> None:
    press.stores.expire(press.parts.job.id)
    assert press.body(delivery(cells=(press.cells(0, (0, DELIVERED)),))) == b""


def test_a_failed_mail_names_its_destination(press: Press) -> None:
    one = delivery(kind="mail.failed", cells=(press.cells(1, (0, FAILED), notes={0: "5.1.1"}),))
    data = json.loads(press.body(one))["data"]
    assert (data["mail_id"], data["destination"], data["address"]) == ("spring", 1, "r1.0@example.com")


def test_a_chat_gets_a_text(press: Press) -> None:
    one = delivery(kind="message.failed", cells=(press.cells(0, (1, FAILED), notes={1: "mailbox_full"}),))
    assert b"r0.1" in press.body(one, HookFormat.SLACK)
    assert set(json.loads(press.body(one, HookFormat.SLACK))) >= {"text"}


def test_a_message_that_was_skipped_at_its_acceptance_says_why(press: Press) -> None:
    chunk = press.parts.chunks[0]
    recipients = (replace(chunk.recipients[0], skip="suppressed"), *chunk.recipients[1:])
    press.stores.records.chunks[chunk.job, 0] = replace(chunk, recipients=recipients)
    one = delivery(kind="message.skipped", cells=(press.cells(0, (0, 0x05)),))
    assert json.loads(press.body(one))["data"]["error"] == "suppressed"
