"""An account asks for a hundred exports, or has ten long lists read, and another asks for one.

Then: both kinds waited in one line, so the other account's came last.
"""

from dataclasses import replace

import pytest

from shared.contracts import load_ingest
from shared.domain.campaigns.campaign import Upload
from shared.domain.jobs import chunks as chunking
from shared.engine.lists.uploading import Reminder
from shared.engine.work import WorkResult
from tests.engine.reading import DATA, small
from tests.engine.test_export import Bench, people
from tests.fakes.intake import ACCOUNT, Intake
from tests.fakes.queues import FakeQueue, Message, fairest

VICTIM = "acc_000000000002"


def taken(queue: FakeQueue, count: int) -> list[Message]:
    """Return what workers take of a queue that is fair, while none of them ends."""
    queue.order = fairest
    return [x for _ in range(count) if (x := queue.receive()) is not None]


@pytest.mark.promise(9)
def test_anothers_export_is_made_as_soon_as_a_worker_is_free() -> None:
    bench = Bench()
    job = bench.world.job(bench.world.accept(1).id)
    for i in range(100):
        bench.service.ask(f"{i:026d}", "acc_hostile", [job])
    bench.service.ask("v" * 26, VICTIM, [job])
    assert [x.group for x in taken(bench.queue, 2)] == ["acc_hostile", VICTIM]


def uploads(intake: Intake) -> list[Upload]:
    """Have ten lists of an account taken, and one of another."""
    hostile = [intake.take(b"recipient\nann@example.com\n") for _ in range(10)]
    campaign = replace(intake.campaign(), account=VICTIM)
    intake.uploads.campaigns[campaign.id] = campaign
    return [*hostile, intake.take(b"recipient\nann@example.com\n", campaign=campaign)]


@pytest.mark.promise(9)
def test_anothers_list_is_read_as_soon_as_a_worker_is_free() -> None:
    intake = Intake()
    made = uploads(intake)
    assert load_ingest(taken(intake.queue, 2)[1].body) == (made[-1].campaign, made[-1].id)


def test_the_sweeper_puts_lists_into_the_same_lines() -> None:
    intake = Intake()
    uploads(intake)
    queue = FakeQueue(intake.clock)
    for _, remind in Reminder(uploads=intake.uploads, queue=queue, clock=intake.clock).walk():
        remind()
    assert {x.group for x in queue.sent} == {x.group for x in intake.queue.sent}
    assert len({x.group for x in queue.sent}) == 2


def test_an_export_and_a_list_that_are_handed_over_stay_in_their_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunking, "MAX_RECIPIENTS", 2)
    bench = Bench()
    bench.ask(bench.world.accept(people(20)))
    bench.tap.delay = lambda: bench.world.clock.sleep(1.0)
    assert bench.work(seconds=20) is WorkResult.HANDED_OVER
    intake = small()
    upload = intake.take(DATA)
    intake.tap.delay = lambda: intake.clock.advance(1)
    assert intake.work(upload, seconds=24) is WorkResult.HANDED_OVER
    for queue in (bench.queue, intake.queue):
        assert [x.group for x in queue.sent] == [ACCOUNT] * 2
