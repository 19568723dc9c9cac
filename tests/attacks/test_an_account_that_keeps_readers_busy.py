"""An account asks for a hundred exports, or has ten long lists read, and another asks for one.

Then: both kinds waited in one line, so the other account's came last. Later each account had a line of its own, but an
account's work took every worker that was free: 2 of 2 of exports, 5 of 5 of lists, for a quarter of an hour.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from shared.contracts import load_export, load_ingest
from shared.domain.campaigns.campaign import Upload, UploadState
from shared.domain.exports import ExportState
from shared.domain.jobs import chunks as chunking
from shared.engine.lists.uploading import MOST_REMINDED, Reminder
from shared.engine.reports.export import LEASE_MS
from shared.engine.work import WorkResult
from shared.ports import TurnKind
from tests.engine.reading import DATA, small
from tests.engine.test_export import Bench, people
from tests.fakes.faults import Crash, When
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


def export_of(bench: Bench, name: str, account: str) -> None:
    """Ask for an export of a job of twenty messages."""
    bench.service.ask(name, account, [bench.world.job(bench.world.accept(people(20)).id)])


def begun(bench: Bench, message: Message, seconds: float = 900) -> WorkResult:
    """Let a worker begin with what a message names; the message is gone."""
    bench.queue.delete(message)
    name = load_export(message.body)
    return bench.exporter.work(name, owner=f"owner-{name}", deadline=bench.world.clock.now() + seconds)


@pytest.mark.promise(9)
def test_an_account_has_one_export_made_at_a_time_and_the_others_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunking, "MAX_RECIPIENTS", 2)
    bench = Bench()
    ready: list[WorkResult] = []
    names = [f"{i:026d}" for i in range(6)]
    for name in names:
        export_of(bench, name, "acc_hostile")
    export_of(bench, "v" * 26, VICTIM)
    others = iter(taken(bench.queue, 7))
    first = next(others)

    begin = bench.multipart.begin

    def meanwhile(name: str) -> str:
        bench.multipart.begin = begin  # type: ignore[method-assign]
        ready.extend(begun(bench, x) for x in others)
        return begin(name)

    bench.multipart.begin = meanwhile  # type: ignore[method-assign]
    assert begun(bench, first) is WorkResult.READY
    assert ready == [WorkResult.READY, *[WorkResult.WAITING] * 5], "the victim's is the one that is made meanwhile"
    waiting = [bench.exports.get(name) for name in names[1:]]
    assert all(x is not None and x.waits and x.state is ExportState.PREPARING for x in waiting)
    done = []
    while (message := bench.queue.receive()) is not None:
        done.append(load_export(message.body))
        assert begun(bench, message) is WorkResult.READY
    assert done == names[1:]
    assert bench.turns.lines["acc_hostile", TurnKind.EXPORTS].holder == ""


@pytest.mark.promise(9)
def test_an_account_has_one_list_read_at_a_time_and_the_others_in_order() -> None:
    intake = small()
    made = [intake.take(DATA) for _ in range(4)]
    results: list[WorkResult] = []
    block = intake.files.read

    def meanwhile(name: str, **more: Any) -> Any:
        intake.files.read = block  # type: ignore[method-assign]
        results.extend(intake.work(x) for x in made[1:])
        return block(name, **more)

    while intake.queue.receive() is not None:
        pass
    intake.files.read = meanwhile  # type: ignore[method-assign]
    assert intake.work(made[0]) is WorkResult.READY
    assert results == [WorkResult.WAITING] * 3
    assert [intake.now(x).waits for x in made] == [False, True, True, True]
    read = []
    while (message := intake.queue.receive()) is not None:
        intake.queue.delete(message)
        name = load_ingest(message.body)[1]
        read.append(name)
        assert intake.work(next(x for x in made if x.id == name)) is WorkResult.READY
    assert read == [x.id for x in made[1:]]


@pytest.mark.promise(3)
@pytest.mark.parametrize("when", When)
@pytest.mark.parametrize("nth", range(28))
def test_a_crash_anywhere_keeps_no_other_export_from_being_made(
    monkeypatch: pytest.MonkeyPatch, nth: int, when: When
) -> None:
    monkeypatch.setattr(chunking, "MAX_RECIPIENTS", 2)
    bench = Bench()
    jobs = [bench.world.job(bench.world.accept(people(6)).id) for _ in range(3)]
    names = [f"{i:026d}" for i in range(3)]
    bench.tap.arm(nth, when, Crash)
    left = dict(zip(names, jobs, strict=True))
    for _ in range(30):
        for name, job in list(left.items()):  # their clients ask again and again
            with suppress(Crash):
                if bench.service.ask(name, "acc_hostile", [job]).state is ExportState.READY:
                    del left[name]
        while (message := bench.queue.receive()) is not None:
            with suppress(Crash):
                begun(bench, message)
        bench.world.clock.advance(30)
    assert (bench.tap.fired, left) == (1, {})


@pytest.mark.promise(3)
@pytest.mark.parametrize("when", When)
@pytest.mark.parametrize("nth", range(40))
def test_a_crash_anywhere_keeps_no_other_list_from_being_read(nth: int, when: When) -> None:
    intake = small()
    made = [intake.take(DATA) for _ in range(3)]
    intake.tap.arm(nth, when, Crash)
    for _ in range(40):
        with suppress(Crash):
            intake.serve()
        with suppress(Crash):
            intake.sweep()
        intake.clock.advance(60)
    assert intake.tap.fired == 1
    assert [intake.now(x).state for x in made] == [UploadState.READY] * 3


@pytest.mark.promise(3)
def test_an_export_that_died_and_is_not_asked_for_again_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunking, "MAX_RECIPIENTS", 2)
    bench = Bench()
    jobs = [bench.world.job(bench.world.accept(people(6)).id) for _ in range(2)]
    bench.service.ask("d" * 26, "acc_hostile", jobs[:1])
    bench.tap.arm(0, When.BEFORE, Crash, where=lambda name: name == "multipart.put")
    with pytest.raises(Crash):
        begun(bench, taken(bench.queue, 1)[0])
    states = []
    for _ in range(12):
        states.append(bench.service.ask("n" * 26, "acc_hostile", jobs[1:]).state)
        for message in taken(bench.queue, 2):
            begun(bench, message)
        bench.world.clock.advance(30)
    assert states[-1] is ExportState.READY
    assert states.count(ExportState.PREPARING) > LEASE_MS / 30_000, "while its lease lasts it may be alive"


def test_the_sweeper_queues_few_lists_of_an_account_again() -> None:
    intake = Intake()
    for _ in range(MOST_REMINDED + 5):
        intake.take(b"recipient\nann@example.com\n")
    queue = FakeQueue(intake.clock)
    for _, remind in Reminder(uploads=intake.uploads, queue=queue, clock=intake.clock).walk():
        remind()
    assert len(queue.sent) == MOST_REMINDED
