"""Finished messages: a lane hands their bytes to the provider, once for each destination."""

from typing import Any

import pytest

from shared.domain.content.content import Content, Finished, Mailbox
from shared.domain.jobs.outcomes import Rejected
from shared.engine.lane.calls import Calls
from shared.ports import Retriable
from tests.engine.test_wire import Wired
from tests.fakes.clock import FakePool
from tests.fakes.provider import FakeProvider, FinishedProvider
from tests.fakes.world import World, credential
from tests.providers.contract import target

MESSAGE = b"From: a@b.example\r\nSubject: Hello\r\n\r\n.\r\n"


def content(finished: Finished | None) -> Content:
    return Content(Mailbox("a@b.example"), "Hello", finished=finished)


def world(provider: type[FakeProvider] = FinishedProvider, lanes: int = 1) -> World:
    return World(*(credential(f"lane{n}", 1000) for n in range(lanes)), provider=provider, provider_limit=50)


def accepted(world: World, people: int = 3, data: bytes = MESSAGE) -> str:
    return world.accept(people, content=content(world.messages.put("contents/m", data))).id


@pytest.mark.promise(1)
def test_each_destination_gets_the_bytes_once() -> None:
    it = world()
    job = accepted(it)
    it.run()
    assert it.providers["lane0"].messages == [MESSAGE] * 3  # type: ignore[attr-defined]
    assert {n for _, _, n in it.oracle.calls} == {1}, "one destination a call"
    assert it.counts(job) == {"sent": 3}
    assert it.messages.open_now == 0
    it.check()


def test_a_finished_message_never_goes_by_a_wire() -> None:
    wired = Wired()
    it = wired.world
    finished = it.messages.put("contents/m", MESSAGE)
    now = it.clock.now()
    said: list[Any] = []
    calls = Calls(wired.provider, it.clock, 10, FakePool, lambda: wired.wire, it.messages)
    with calls.lease(1) as turn:
        turn.begin(content(finished), [target(0)], latest=now + 1, deadline=now + 60, ended=said.append).result()
    assert wired.wire.begun == 0
    assert said == [[Rejected("finished_not_supported", permanent=False, about_message=True)]]


def test_a_provider_that_takes_none_leaves_it_to_others() -> None:
    class Half(FakeProvider):
        pass

    it = World(credential("lane0", 1000), credential("lane1", 1000), provider=Half)
    it.providers["lane1"] = FinishedProvider(it.clock, it.oracle, name="lane1", tap=it.tap)
    it.reboot()
    job = accepted(it)
    it.settle()
    assert {taken.provider for taken in it.oracle.taken} == {"lane1"}
    assert it.counts(job)["sent"] == 3


def test_a_message_over_the_providers_limit_is_not_handed_to_it() -> None:
    it = world()
    accepted(it, 1, MESSAGE + b"x" * 10_000)
    it.run()
    assert it.oracle.calls == []


def test_a_message_that_is_gone_fails_for_good() -> None:
    it = world()
    job = accepted(it, 1)
    it.messages.items.clear()
    it.run()
    assert it.oracle.calls == []
    assert it.counts(job) == {"failed": 1}


@pytest.mark.parametrize("fault", [Retriable("no bucket"), OSError("no space left on the disk")])
def test_a_message_that_cannot_be_read_now_is_sent_later(fault: Exception) -> None:
    it = world()
    job = accepted(it, 1)
    it.messages.fault = fault
    it.settle()
    assert it.counts(job) == {"sent": 1}
    assert len(it.oracle.taken) == 1


def test_a_slow_bucket_makes_the_call_miss_its_slot() -> None:
    it = world()
    finished = it.messages.put("contents/m", MESSAGE)
    it.messages.seconds = 5.0
    now = it.clock.now()
    said: list[Any] = []
    provider = it.providers["lane0"]
    with Calls(provider, it.clock, 10, FakePool, None, it.messages).lease(1) as turn:
        call = turn.begin(content(finished), [target(0)], latest=now + 1, deadline=now + 60, ended=said.append)
        assert call.result() is None
    assert said == [()]
    assert it.oracle.calls == []
