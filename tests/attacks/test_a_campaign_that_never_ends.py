"""A hostile account keeps a shared credential: by a campaign of days, by list after list, by a thousand campaigns.

Then: a campaign held its credential until its end, and the oldest campaign went next. Another account's campaign waited
for as long as the hostile one had something to send.
"""

from collections.abc import Callable, Iterator

import pytest

from shared.domain.campaigns import turns
from shared.domain.jobs.job import Job
from shared.domain.jobs.states import JobState
from shared.ports import Retriable
from tests.fakes.faults import When, is_store
from tests.fakes.lists import send_list
from tests.fakes.world import ACCOUNT, World, credential

VICTIM = "acc_000000000002"
THIRD = "acc_000000000003"
SWEEP_S = 60
TURN_S = turns.TURN_MS / 1000
HANDOVER_S = 2 * SWEEP_S
"""The sweeper comes each minute, and the last windows of a campaign end."""


@pytest.fixture
def world() -> World:
    return World(credential("one", 1))


def send_until(world: World, done: Callable[[], bool], minutes: int) -> float:
    """Let a deployment work until something is so; return how many seconds that took."""
    begin = world.clock.now()
    while world.clock.now() - begin < minutes * 60:
        end = world.clock.now() + SWEEP_S
        while world.clock.now() < end and not done():
            if not world.step():
                world.clock.sleep(1)
        if done():
            return world.clock.now() - begin
        world.sweep()
    raise AssertionError(f"not so within {minutes} minutes")


def ended(world: World, *jobs: Job) -> Callable[[], bool]:
    return lambda: all(world.job(x.id).state is JobState.LOGGED for x in jobs)


def begun(world: World) -> Iterator[str]:
    """Yield the campaigns in the order in which messages of them were taken, each once for each turn."""
    before = ""
    for call in world.oracle.taken:
        campaign = world.job(call.ref.job).campaign
        if campaign != before:
            yield campaign
        before = campaign


@pytest.mark.promise(3)
def test_another_accounts_campaign_starts_after_a_turn(world: World) -> None:
    hostile = send_list(world, "hostile", 3000)
    world.planner.react(hostile.id)
    world.step()
    victim = send_list(world, "victim", 5, account=VICTIM)
    assert send_until(world, ended(world, victim), 30) <= TURN_S + HANDOVER_S
    assert world.job(hostile.id).state is not JobState.LOGGED
    send_until(world, ended(world, hostile), 120)
    assert (world.counts(hostile.id), world.counts(victim.id)) == ({"sent": 3000}, {"sent": 5})
    assert list(begun(world)) == ["hostile", "victim", "hostile"]
    world.check()


@pytest.mark.promise(3)
def test_two_long_campaigns_take_turns_and_lose_little_of_the_rate(world: World) -> None:
    hostile = send_list(world, "hostile", 2500)
    world.clock.advance(1)
    jobs = [hostile, send_list(world, "victim", 2500, account=VICTIM)]
    took = send_until(world, ended(world, *jobs), 120)
    assert list(begun(world)) == ["hostile", "victim"] * 3
    assert took <= 5000 * 1.05
    world.check()


@pytest.mark.promise(3)
def test_many_campaigns_of_an_account_get_the_turns_of_one(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "TURN_MS", 60_000)
    hostile = [send_list(world, f"hostile{i}", 2) for i in range(60)]
    victim = send_list(world, "victim", 5, account=VICTIM)
    third = send_list(world, "third", 5, account=THIRD)
    send_until(world, ended(world, victim, third), 3)
    assert sum(world.job(x.id).state is JobState.LOGGED for x in hostile) <= 3
    send_until(world, ended(world, *hostile), 60)
    world.check()


@pytest.mark.promise(3)
def test_list_after_list_of_a_campaign_is_no_longer_turn(world: World) -> None:
    world.planner.react(send_list(world, "hostile", 60).id)
    victim = send_list(world, "victim", 5, account=VICTIM)
    begin = world.clock.now()
    while world.job(victim.id).state is not JobState.LOGGED:
        assert world.clock.now() - begin <= 4 * SWEEP_S
        world.planner.react(send_list(world, "hostile", 60).id)
        while not world.step():
            world.clock.sleep(1)
    world.settle()
    world.check()


def test_a_campaign_keeps_the_credential_from_others_of_its_own_account(world: World) -> None:
    first = send_list(world, "first", 2000)
    world.planner.react(first.id)
    second = send_list(world, "second", 5)
    send_until(world, ended(world, first, second), 60)
    assert list(begun(world)) == ["first", "second"]


def test_a_campaign_for_which_nobody_waits_is_not_interrupted(world: World) -> None:
    job = send_list(world, "only", 2000)
    took = send_until(world, ended(world, job), 60)
    assert took <= 2000 + HANDOVER_S
    assert world.records.turns("one") == []


@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.slow
@pytest.mark.parametrize("when", When)
@pytest.mark.parametrize("nth", range(0, 60, 3))
def test_whatever_fails_both_end_and_each_message_is_sent_once(
    world: World, monkeypatch: pytest.MonkeyPatch, nth: int, when: When
) -> None:
    monkeypatch.setattr(turns, "TURN_MS", 180_000)
    hostile = send_list(world, "hostile", 400, account=ACCOUNT)
    world.planner.react(hostile.id)
    victim = send_list(world, "victim", 70, account=VICTIM)
    world.clock.advance(181)
    world.tap.arm(nth, when, Retriable, where=is_store)
    world.settle()
    assert world.tap.fired == 1
    assert (world.counts(hostile.id), world.counts(victim.id)) == ({"sent": 400}, {"sent": 70})
    assert world.records.reserved("one") == ("", [])
    world.check()
