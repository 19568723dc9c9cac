"""Who unsubscribed after acceptance gets nothing more of what offers unsubscription: looked at before a claim (L2)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from shared.domain.content.content import Content, DigestLines
from shared.domain.ids import new_id
from shared.domain.jobs.job import Job
from shared.domain.jobs.outcomes import Rejected, Unknown
from shared.domain.jobs.states import Cell, MessageState
from shared.domain.recipients.suppressions import DigestsOf, Reach, reaches
from shared.engine.lane.lease import LOOK_AGAIN
from shared.engine.reports.message_log import Filter, LogLine
from shared.engine.suppression.suppressed import SLACK_MS, Suppressed, heeds
from shared.ports import Target
from tests.fakes.provider import ResendingProvider
from tests.fakes.suppressions import Suppression
from tests.fakes.world import ACCOUNT, CONTENT, World, credential

OFFERING = replace(CONTENT, unsubscribe="https://mail.example.com/unsubscribe/")


@pytest.fixture
def world() -> World:
    return World(credential("one", 10), credential("two", 10))


def unsubscribe(world: World, *indices: int, account: str = ACCOUNT) -> None:
    for i in indices:
        now = world.clock.ms
        world.records.suppress(account, f"r{i}@example.com", "one_click", now, reach=Reach.CAMPAIGNS)


def lines(world: World, job: str) -> list[LogLine]:
    return world.logs.lines(world.job(job), Filter())[0]


def sent_to(world: World) -> set[str]:
    return {t.address for t in world.oracle.taken}


@pytest.mark.promise(11)
def test_a_recipient_unsubscribed_after_acceptance_is_skipped_with_the_code(world: World) -> None:
    job = world.accept(6, content=OFFERING)
    unsubscribe(world, 1, 4)
    world.settle()
    assert sent_to(world) == {f"r{i}@example.com" for i in (0, 2, 3, 5)}
    assert world.counts(job.id) == {"sent": 4, "skipped": 2}
    line = lines(world, job.id)[1]
    assert (line.state, line.error, line.attempts) == (MessageState.SKIPPED, "unsubscribed", ())
    assert line.providers == {"one": False, "two": False}
    world.check()


@pytest.mark.parametrize("content", [CONTENT, OFFERING])
def test_a_message_that_offers_no_unsubscription_is_sent_all_the_same(world: World, content: Content) -> None:
    job = world.accept(2, content=content)
    unsubscribe(world, 0)
    world.settle()
    skipped = {"skipped": 1} if content.unsubscribe else {}
    assert world.counts(job.id) == {"sent": 2 - len(skipped), **skipped}


def test_suppressed_wins_over_unsubscribed(world: World) -> None:
    job = world.accept(3, content=OFFERING)
    unsubscribe(world, 0, 1)
    world.records.suppress(ACCOUNT, "r1@example.com", "bounced", world.clock.ms)
    world.settle()
    assert [x.error for x in lines(world, job.id)[:2]] == ["unsubscribed", "suppressed"]


def test_one_that_waits_for_its_next_try_is_skipped_and_keeps_its_attempts(world: World) -> None:
    job = world.accept(1, content=OFFERING)
    for p in world.providers.values():
        p.answer = Rejected("down", permanent=False)
    first = world.ledgers.read_all(job.id)[0].lane
    world.send(first)
    unsubscribe(world, 0)
    world.send("two" if first == "one" else "one")
    line = lines(world, job.id)[0]
    assert world.cells(job.id) == [(Cell.SKIPPED, 1)]
    assert (line.error, [a.n for a in line.attempts]) == ("unsubscribed", [1])


def test_a_resubscribed_recipient_is_sent_to(world: World) -> None:
    job = world.accept(3, content=OFFERING)
    unsubscribe(world, 0, 1)
    assert world.records.allow(ACCOUNT, "r1@example.com", reach=Reach.CAMPAIGNS)
    world.settle()
    assert world.states(job.id).count(Cell.SKIPPED) == 1


def test_another_account_s_unsubscriptions_are_its_own(world: World) -> None:
    job = world.accept(3, content=OFFERING)
    unsubscribe(world, 0, account="acc_000000000002")
    world.settle()
    assert world.counts(job.id) == {"sent": 3}


@pytest.mark.promise(11)
def test_a_recipient_unsubscribed_during_a_slow_lease_is_skipped() -> None:
    world = World(credential("one", 1))
    job = world.accept(60, content=OFFERING)
    lane = world.ledgers.read_all(job.id)[0].lane
    size = len(world.ledgers.read_all(job.id)[0].cells)
    assert size >= 30, "it lasts for half a minute"

    def leave(targets: Sequence[Target]) -> None:
        if any(t.recipient.address == "r5@example.com" for t in targets):
            unsubscribe(world, size - 1, size - 2)

    world.providers[lane].before = leave
    world.send(lane)
    assert world.states(job.id)[size - 2 : size] == [Cell.SKIPPED] * 2
    asked = [name for name in world.tap.calls if name == "records.suppressed_since"]
    assert 1 <= len(asked) < size / LOOK_AGAIN, "however many windows there are"
    world.settle(seconds=120)
    assert [x.error for x in lines(world, job.id)[size - 2 : size]] == ["unsubscribed"] * 2
    world.check()


@pytest.mark.promise(11)
def test_a_lease_that_looks_just_before_a_click_is_stored_looks_again() -> None:
    """That somebody unsubscribes is noted first, who it is a moment later; a look between them is not the last."""
    world = World(credential("one", 1))
    job = world.accept(60, content=OFFERING)
    records: Any = world.records
    lane = world.ledgers.read_all(job.id)[0].lane
    size = len(world.ledgers.read_all(job.id)[0].cells)
    records.suppressed_at[ACCOUNT] = {Reach.CAMPAIGNS: world.clock.ms}

    who = ACCOUNT, Reach.CAMPAIGNS, f"r{size - 1}@example.com"

    def store(_targets: Sequence[Target]) -> None:
        records.suppressions[who] = Suppression("one_click", records.suppressed_at[ACCOUNT][Reach.CAMPAIGNS])

    world.providers[lane].before = store
    world.send(lane)
    assert world.states(job.id)[:size] == [Cell.SENT] * (size - 1) + [Cell.SKIPPED]


def test_unsubscriptions_cost_a_message_nothing_that_does_not_heed_them(world: World) -> None:
    world.accept(3)
    unsubscribe(world, 0, 1)
    world.settle()
    assert not [name for name in world.tap.calls if name.startswith("records.suppressed")]


@pytest.mark.parametrize("campaign", [True, False])
def test_a_campaign_s_list_was_looked_at_when_it_was_read(world: World, campaign: Any) -> None:
    """A list is sent up to a month after it was read; a batch is looked at and accepted at once."""
    read = new_id(world.clock.ms)
    world.clock.advance(3600)
    unsubscribe(world, 0)
    world.clock.advance(2 * SLACK_MS / 1000)
    job = world.accept(2, content=OFFERING)
    chunk = world.records.chunk(job.id, 0)
    assert chunk is not None
    late: Job = replace(job, id=read, campaign="c" if campaign else "")
    latest = world.records.control(job.id, ACCOUNT).suppressed_at
    look = Suppressed(world.records, world.clock)
    found = look.among(late, chunk, [0], latest, reaches("email", unsubscribable=True))
    assert found.codes == ({0: "unsubscribed"} if campaign else {})


@pytest.mark.parametrize("page", [4000, 1])
def test_many_are_found_all_the_same(page: int) -> None:
    world = World(credential("one", 0.2))  # six a chunk
    world.records.recent_page = page  # type: ignore[attr-defined]
    job = world.accept(24, content=OFFERING)
    for i in range(0, 24, 3):
        world.clock.advance(0.001)
        unsubscribe(world, i)
        world.records.suppress(ACCOUNT, f"r{i + 1}@example.com", "bounced", world.clock.ms)
    world.settle(seconds=600)
    codes = ["unsubscribed", "suppressed", None]
    assert [x.error for x in lines(world, job.id)] == [codes[i % 3] for i in range(24)]
    world.check()


def test_asking_about_a_doubtful_message_does_not_send_it() -> None:
    world = World(credential("one", 10), provider=ResendingProvider)
    world.providers["one"].answer = Unknown("lost")
    job = world.accept(2, content=OFFERING)
    world.send("one")
    world.providers["one"].answer = None
    unsubscribe(world, 0)
    world.clock.advance(200)
    world.resolve("one", job.id, 0)
    assert sent_to(world) == {"r1@example.com"}


DIGEST = replace(
    OFFERING, digest=DigestLines(html=(), text=("x",), types=("x",), times=("t",), key="k", max_lines=1, policy="acme/")
)


def test_a_digest_heeds_the_list_of_its_policy_and_not_that_of_campaigns(world: World) -> None:
    job = world.accept(1)
    lists = heeds(job, DIGEST), heeds(job, replace(DIGEST, unsubscribe=""))
    assert lists == 2 * ((Reach.ALL, DigestsOf("acme/")),)
    assert heeds(job, OFFERING) == heeds(job, None) == (Reach.ALL, Reach.CAMPAIGNS)
    assert heeds(job, replace(OFFERING, unsubscribe="")) == (Reach.ALL,)


def test_news_of_a_policy_s_list_reach_a_digest_that_waits(world: World) -> None:
    job = world.accept(2, route=("one",))
    look = Suppressed(world.records, world.clock)
    chunk = world.records.chunk(job.id, 0)
    assert chunk is not None
    world.records.suppress(ACCOUNT, "r0@example.com", "page", world.clock.ms, reach=DigestsOf("acme/"))
    world.records.suppress(ACCOUNT, "r1@example.com", "page", world.clock.ms, reach=DigestsOf("other"))
    latest = world.records.control(job.id, ACCOUNT).suppressed_at
    assert look.among(job, chunk, [0, 1], latest, heeds(job, DIGEST)).codes == {0: "unsubscribed"}
