"""What became of messages of unknown fate is found out where a provider can tell, and only then are they sent again."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from shared.domain.content.content import Mailbox
from shared.domain.hours.hours import OpenHours
from shared.domain.hours.openings import window_of
from shared.domain.jobs.job import Policy
from shared.domain.jobs.look_ups import LOOKS, due, next_look
from shared.domain.jobs.outcomes import Unknown
from shared.domain.jobs.states import Cell, JobState
from shared.engine.outcome.resolve import GROUP, Resolved
from shared.ports import Retriable
from tests.fakes.faults import Crash, When
from tests.fakes.provider import FakeProvider, ResendingProvider, ResolvingProvider, Swallowed
from tests.fakes.world import ACCOUNT, CONTENT, World, credential, recipients

U, S = Cell.UNKNOWN, Cell.SENT


@pytest.fixture
def world() -> World:
    return World(credential("one"), provider=ResolvingProvider)


def doubtful(world: World, **policy: object) -> str:
    """Return a LOGGED job of four: the first two are in doubt, and the provider has taken the first."""
    world.providers["one"].script("r0@example.com", [Swallowed()])
    world.providers["one"].script("r1@example.com", [Unknown("timeout")])
    job = world.accept(4, policy=Policy(**policy)).id  # type: ignore[arg-type]
    world.run()
    assert world.states(job) == [U, U, S, S]
    assert world.job(job).state is JobState.LOGGED
    return job


def wait(world: World, seconds: float) -> None:
    """Let time pass, with the sweeper every minute."""
    end = world.clock.now() + seconds
    while world.clock.now() < end:
        world.clock.sleep(60)
        world.sweep()
        world.run(seconds=0)


@pytest.mark.promise(1)
def test_what_was_taken_is_sent_and_what_was_not_is_sent_again(world: World) -> None:
    job = doubtful(world)
    wait(world, 200)
    assert world.cells(job) == [(S, 1), (U, 1), (S, 1), (S, 1)]
    wait(world, 2_100)
    world.settle()
    assert world.cells(job) == [(S, 1), (S, 2), (S, 1), (S, 1)]
    assert world.job(job).counts["sent"] == 4
    assert set(world.oracle.times(job).values()) == {1}
    line = world.logs.line(world.job(job), 0, 1)
    assert line is not None
    assert [(a.outcome, a.code) for a in line.attempts] == [("not_sent", "timeout"), ("accepted", "")]
    assert not line.may_duplicate
    found = world.logs.line(world.job(job), 0, 0)
    assert found is not None
    assert found.attempts[0].provider_message_id.startswith("one-")
    assert world.stores.stats(ACCOUNT)["queued"] == 4
    world.check()


@pytest.mark.slow
def test_no_provider_is_asked_when_nothing_is_in_doubt(world: World) -> None:
    job = world.accept(2).id
    world.run()
    before = len(world.tap.calls)
    wait(world, 90_000)
    assert not [c for c in world.tap.calls[before:] if c.startswith(("provider", "queue.send", "ledgers"))]
    assert world.states(job) == [S, S]


@pytest.mark.slow
def test_a_provider_that_cannot_tell_is_asked_for_a_day_and_then_left_alone(world: World) -> None:
    provider = world.providers["one"]
    assert isinstance(provider, ResolvingProvider)
    provider.sure_after = None
    job = doubtful(world)
    wait(world, 90_000)
    asked = world.tap.calls.count("provider.one.resolve")
    assert asked == 1 + len(LOOKS)  # the first was found at once
    assert world.cells(job)[1] == (U, 1)
    wait(world, 90_000)
    assert world.tap.calls.count("provider.one.resolve") == asked
    assert list(world.records.doubts(world.clock.ms)) == []


@pytest.mark.slow
def test_a_provider_that_has_no_answers_is_not_asked() -> None:
    world = World(credential("one"), provider=FakeProvider)
    job = doubtful(world)
    assert world.resolve("one", job, 0) == Resolved()
    wait(world, 90_000)
    assert world.cells(job)[:2] == [(U, 1), (U, 1)]


@pytest.mark.promise(1)
def test_what_was_asked_and_accepted_meanwhile_is_not_sent_again(world: World) -> None:
    """The provider proves absence of what its own webhook has just confirmed: the webhook wins."""
    job = doubtful(world)
    world.clock.sleep(2_000)
    world.track("one", world.word(job, 1, "accepted"))
    world.track("one", world.word(job, 1, "absent"))
    world.settle()
    assert world.cells(job)[1] == (S, 1)


@pytest.mark.promise(4)
def test_a_stopped_job_sends_nothing_again(world: World) -> None:
    world.providers["one"].answer = Unknown("timeout")
    job = world.accept(4).id

    def stop(_targets: object) -> None:
        world.control.stop(job, ACCOUNT)

    world.providers["one"].before = stop
    world.run()
    assert world.job(job).stopped
    assert world.states(job) == [U] * 4
    wait(world, 3_000)
    assert world.states(job) == [Cell.DROPPED] * 4
    assert world.job(job).state is JobState.LOGGED
    assert world.job(job).counts["failed"] == 4


# A provider that takes a message on being asked


@pytest.fixture
def resending() -> World:
    return World(credential("one"), provider=ResendingProvider)


@pytest.mark.promise(1)
def test_what_is_taken_on_being_asked_is_taken_once(resending: World) -> None:
    job = doubtful(resending)
    wait(resending, 200)
    assert resending.cells(job) == [(S, 1)] * 4
    assert set(resending.oracle.times(job).values()) == {1}


@pytest.mark.slow
@pytest.mark.promise(4)
def test_a_resending_provider_is_not_asked_about_a_stopped_job(resending: World) -> None:
    provider = resending.providers["one"]
    provider.answer = Unknown("timeout")
    job = resending.accept(4).id

    def stop(_targets: object) -> None:
        resending.control.stop(job, ACCOUNT)

    provider.before = stop
    resending.run()
    assert resending.states(job) == [U] * 4
    provider.answer = None
    wait(resending, 90_000)
    assert resending.oracle.taken == []
    assert resending.states(job) == [U] * 4
    assert resending.counts(job) == {"unknown": 4}


@pytest.mark.promise(4)
def test_a_stop_amid_the_questions_ends_them(resending: World) -> None:
    provider = resending.providers["one"]
    provider.answer = Unknown("timeout")
    job = resending.accept(120).id
    while not resending.ledgers.read_all(job)[0].having(U):
        resending.send("one")
    provider.answer = None
    assert resending.job(job).state is JobState.SENDING
    doubts = len(resending.ledgers.read_all(job)[0].having(U))
    assert doubts > 2

    def stop(_targets: object) -> None:
        if len(resending.oracle.calls) > doubts + 1:
            resending.control.stop(job, ACCOUNT)

    provider.before = stop
    resending.clock.advance(15)  # its breaker is to be probed
    assert resending.resolve("one", job, 0).accepted == 3
    assert len(resending.oracle.taken) == 3
    assert resending.resolve("one", job, 0) == Resolved()


def test_during_a_pause_nothing_is_taken_and_after_it_everything(resending: World) -> None:
    job = doubtful(resending)
    resending.stores.pause(ACCOUNT)
    wait(resending, 1_000)
    assert resending.states(job)[:2] == [U, U]
    resending.stores.unpause(ACCOUNT)
    wait(resending, 2_000)
    assert resending.states(job) == [S] * 4


@pytest.mark.parametrize("resends", [True, False])
def test_outside_of_its_hours_nothing_is_asked_about_when_asking_sends(
    world: World, resending: World, *, resends: bool
) -> None:
    there = resending if resends else world
    job = doubtful(there)
    now = datetime.fromtimestamp(there.clock.now(), UTC)
    later = OpenHours(window_of(f"{now + timedelta(hours=2):%H:%M}", f"{now + timedelta(hours=3):%H:%M}"), "UTC")
    there.records.jobs[job] = replace(there.job(job), hours=later)  # type: ignore[attr-defined]
    wait(there, 1_000)
    assert there.states(job)[:2] == ([U, U] if resends else [S, U])


@pytest.mark.parametrize("resends", [True, False])
def test_a_newly_suppressed_recipient_is_not_asked_about_when_asking_sends(
    world: World, resending: World, *, resends: bool
) -> None:
    there = resending if resends else world
    job = doubtful(there)
    for i in range(2):
        there.records.suppress(ACCOUNT, f"r{i}@example.com", "complained", there.clock.ms)
    wait(there, 200)
    assert there.states(job) == [U if resends else S, U, S, S]
    assert len(there.oracle.calls) == 4


@pytest.mark.promise(11)
@pytest.mark.parametrize("gone", [True, False])
def test_a_message_with_a_copy_to_a_suppressed_person_is_not_asked_about_when_asking_sends(
    resending: World, *, gone: bool
) -> None:
    resending.providers["one"].answer = Unknown("timeout")
    job = resending.accept(1, content=replace(CONTENT, cc=(Mailbox("r7@example.com"),))).id
    resending.send("one")
    resending.providers["one"].answer = None
    if gone:
        resending.records.suppress(ACCOUNT, "r7@example.com", "complained", resending.clock.ms)
    wait(resending, 200)
    assert resending.states(job) == [U if gone else S]


@pytest.mark.parametrize("late", [True, False])
def test_a_message_past_its_time_is_not_asked_about_when_asking_sends(resending: World, *, late: bool) -> None:
    resending.providers["one"].answer = Unknown("timeout")
    limit = resending.clock.ms + (100_000 if late else 1_000_000)
    job = resending.accept([replace(recipients(1)[0], not_after=limit)]).id
    resending.send("one")
    resending.providers["one"].answer = None
    wait(resending, 200)
    assert resending.states(job) == [U if late else S]


def test_an_absent_message_without_attempts_left_has_failed(world: World) -> None:
    job = doubtful(world, max_attempts=1)
    wait(world, 3_000)
    assert world.cells(job)[:2] == [(S, 1), (Cell.DROPPED, 1)]


@pytest.mark.promise(7)
def test_to_ask_twice_at_once_changes_nothing(world: World) -> None:
    job = doubtful(world)
    world.clock.sleep(2_000)
    assert world.resolve("one", job, 0) == Resolved(asked=2, accepted=1, absent=1)
    assert world.resolve("one", job, 0) == Resolved()
    world.track("one", world.word(job, 1, "absent"))
    world.settle()
    world.track("one", world.word(job, 1, "absent"), world.word(job, 1, "absent", attempt=2))
    world.settle()
    assert world.cells(job) == [(S, 1), (S, 2), (S, 1), (S, 1)]


@pytest.mark.promise(3)
@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
@pytest.mark.parametrize(
    "name", ["records.put_feedback", "records.reopen", "records.details", "provider.one.resolve", "pacer.reserve"]
)
def test_a_crash_while_asking_is_made_good_at_the_next_look(world: World, name: str, when: When) -> None:
    job = doubtful(world)
    world.clock.sleep(2_000)
    world.tap.arm_at(name, when)
    try:
        world.resolve("one", job, 0)
    except Crash:
        world.reboot()
    assert world.tap.fired == 1
    wait(world, 9_000)
    world.settle()
    assert world.cells(job) == [(S, 1), (S, 2), (S, 1), (S, 1)]
    assert set(world.oracle.times(job).values()) == {1}


def test_a_long_job_asks_before_it_ends(world: World) -> None:
    world.providers["one"].script("r0@example.com", [Swallowed()])
    job = world.accept(120).id
    other = world.ledgers.read_all(job)
    world.send("one")
    while world.ledgers.read_all(job)[0].unfinished:
        world.send("one")
    if len(other) > 1:
        world.lanes["one"].lose()
    assert world.states(job)[0] is U
    world.clock.sleep(125)
    world.sweep()
    world.run(seconds=0)
    assert world.states(job)[0] is S


def test_the_looks_are_in_order_and_end() -> None:
    assert sorted(LOOKS) == list(LOOKS)
    assert [next_look(x) for x in (0, 120, 121, 80_999, 81_000)] == [120, 600, 600, 81_000, None]
    assert [due(x, 60) for x in (119, 120, 179, 180, 600, 81_059, 81_060)] == [
        False,
        True,
        True,
        False,
        True,
        True,
        False,
    ]


def test_a_provider_that_does_not_answer_is_not_asked_about_everything(world: World) -> None:
    provider = world.providers["one"]
    assert isinstance(provider, ResolvingProvider)
    provider.sure_after = None
    provider.answer = Unknown("timeout")
    job = world.accept(3 * GROUP).id
    world.run()
    assert world.states(job) == [U] * 3 * GROUP
    world.clock.advance(400)  # its breaker is to be probed
    asked: list[object] = []

    def silent(target: object, at: float) -> Unknown:
        asked.append(target)
        world.clock.advance(10)
        return Unknown("timeout")

    provider._find = silent  # type: ignore[method-assign]
    assert world.resolve("one", job, 0).asked == len(asked) <= GROUP
    world.run(seconds=600)
    assert len(asked) <= GROUP, "the next look is another chance"


def test_a_provider_that_is_left_alone_is_not_asked() -> None:
    world = World(credential("one"), provider=ResolvingProvider)
    world.providers["one"].answer = Unknown("timeout")
    job = world.accept(8).id
    world.send("one")
    assert world.states(job).count(U) >= 5
    assert world.resolve("one", job, 0) == Resolved()
    world.clock.advance(400)
    assert world.resolve("one", job, 0).asked >= 5


def test_what_was_found_before_the_store_failed_is_not_lost(world: World) -> None:
    job = doubtful(world)
    world.tap.arm(1, error=lambda: Retriable("lost"), where=lambda name: name == "provider.one.resolve")
    with pytest.raises(Retriable):
        world.resolve("one", job, 0)
    assert world.states(job) == [S, U, S, S]


# Its time and its slots
