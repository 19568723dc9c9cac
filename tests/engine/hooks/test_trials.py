"""A new URL, and an endpoint that is enabled again, begin with a trial of their own."""

from dataclasses import replace

import pytest

from shared.domain.hooks.draft import HookDraft
from shared.domain.hooks.endpoint import Endpoint, EndpointState, enabled
from shared.domain.hooks.work import FAILING_MS, OPENS_AFTER, HookWork
from shared.ports import HookAnswer
from tests.domain.hooks.examples import HOOK
from tests.engine.hooks.calling import PROOF, Caller
from tests.engine.hooks.test_service import Office
from tests.fakes.hooks.outside import CallHint, HookPost


@pytest.fixture
def office() -> Office:
    return Office()


def test_a_url_that_is_corrected_before_it_has_answered_is_asked_at_once(office: Office) -> None:
    made = office.made().endpoint
    office.queue.waiting.clear()
    office.hints.calls.clear()
    new = office.service.change(made, HookDraft(url="https://other.example.com/"), by="key")
    assert isinstance(new, Endpoint)
    assert [x.kind for x in office.queue.waiting.values()] == ["test"]
    assert office.hints.calls == [CallHint(made.id)]
    office.service.change(new, HookDraft(description="Shop"), by="key")
    assert len(office.queue.waiting) == 1, "a change of anything else asks for nothing"


def test_an_endpoint_with_a_new_url_or_enabled_again_is_called_as_a_new_one(office: Office) -> None:
    old = office.enabled()
    broken = HookWork(old.id, fails=9, open_until=office.now + 300_000, failing_since=office.now - 1)
    office.queue.works[old.id] = broken
    off = office.service.change(old, HookDraft(disabled=True), by="key")
    assert isinstance(off, Endpoint)
    assert office.service.work(off) == broken
    for draft in (HookDraft(disabled=False), HookDraft(url="https://other.example.com/")):
        new = office.service.change(off, draft, by="key")
        assert isinstance(new, Endpoint)
        assert (office.service.work(new).fails, office.service.works([new])[0].open_until) == (0, 0)
    assert office.hints.calls == [CallHint(old.id), CallHint(old.id)]


@pytest.mark.slow
def test_an_endpoint_that_is_enabled_again_has_its_own_days_to_fail() -> None:
    caller = Caller()
    caller.answers(500)
    for day in range(6):
        caller.add(1, day)
        caller.live(86_400)
    assert caller.endpoint.reason == "failing"
    caller.endpoints.put(enabled(caller.endpoint))
    caller.add(1, 99, **PROOF)
    caller.work(apart=True)
    assert caller.posted()[-1] == "evt_00099"
    assert (caller.endpoint.state, caller.state.fails) == (EndpointState.PROVING, 1)
    assert caller.state.failing_since == caller.clock.ms
    caller.clock.advance(6 * 86_400)
    caller.add(9, 200, **PROOF)
    caller.work(apart=True)
    assert caller.state.is_failing(caller.clock.ms)
    assert caller.endpoint.state is EndpointState.PROVING, "only what was proven is disabled"


def test_a_new_url_is_called_without_the_pause_of_the_old_one() -> None:
    caller = Caller()
    caller.answers(503, retry_after=3_600_000)
    caller.add(1)
    caller.work()
    assert caller.state.open_until > caller.clock.ms + 3_000_000
    caller.change(url="https://other.example.org/", proven=False, trial=1)
    caller.answers(204)
    caller.add(1, 99, **PROOF)
    assert caller.work().delivered == 1
    assert (caller.state.trial, caller.state.open_until) == (1, 0)


@pytest.mark.slow
def test_a_test_event_behind_many_others_is_found_by_few_reads() -> None:
    caller = Caller(proven=False)
    caller.add(4_800)
    caller.add(1, 9_000, **PROOF)
    caller.answers(500)
    caller.tap.calls.clear()
    caller.work()
    assert caller.posted() == ["evt_09000"]
    assert caller.tap.calls.count("hook_queue.pending") <= 10


@pytest.mark.parametrize("status", [410, 500])
def test_an_answer_of_the_url_before_disables_no_other(status: int) -> None:
    caller = Caller()
    caller.add(1)
    failing = replace(caller.state, fails=OPENS_AFTER, failing_since=caller.clock.ms - FAILING_MS)
    caller.queue.works[HOOK] = failing

    def answer(_post: HookPost) -> HookAnswer:
        caller.change(url="https://other.example.org/", trial=1)
        return HookAnswer(status, 1)

    caller.client.answer = answer
    caller.work(apart=True)
    assert len(caller.client.posts) == 1
    assert not caller.endpoint.disabled_at
