"""An export that comes no further is given up, and its clients read so; later it is begun anew."""

import pytest

from shared.domain.exports import AGAIN_MS, GIVEN_UP, ExportState
from shared.domain.jobs import chunks as chunking
from shared.engine.reports.export import LEASE_MS
from shared.engine.work import MAX_STARTS, WorkResult
from tests.engine.test_archive import WAIT, Shelf
from tests.engine.test_export import NAME, Bench, expected, people
from tests.fakes.faults import Crash, When


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunking, "MAX_RECIPIENTS", 2)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def die(bench: Bench, at: str = "multipart.put") -> None:
    """Let a worker die at a call, and its lease end."""
    bench.tap.arm_at(at)
    with pytest.raises(Crash):
        bench.work()
    bench.queue.lose()
    bench.world.clock.advance(LEASE_MS / 1000 + 1)


@pytest.mark.parametrize("at", ["records.chunk", "multipart.begin", "multipart.put", "multipart.complete"])
def test_an_export_whose_worker_dies_again_and_again_is_given_up(bench: Bench, at: str) -> None:
    job = bench.world.accept(people(3))
    for _ in range(MAX_STARTS + (at == "multipart.complete")):  # there the first worker has come further
        assert bench.ask(job).state is ExportState.PREPARING
        die(bench, at)
    assert bench.ask(job).state is ExportState.PREPARING
    assert bench.serve() == [WorkResult.FAILED]
    found = bench.ask(job)
    assert (found.state, found.code, found.owner, found.until) == (ExportState.FAILED, GIVEN_UP, "", 0)
    assert bench.queue.waiting == []
    assert bench.files.items == {}


def test_a_part_forgives_the_deaths_before_it(bench: Bench) -> None:
    who = people(2 * MAX_STARTS + 4)
    job = bench.world.accept(who)
    for _ in range(MAX_STARTS + 1):  # each puts the part at which the one before died
        bench.ask(job)
        bench.tap.arm(1, When.BEFORE, where=lambda name: name == "multipart.put")
        with pytest.raises(Crash):
            bench.serve()
        bench.world.clock.advance(LEASE_MS / 1000 + 1)
    assert [r["recipient"] for r in bench.made(job)] == expected(who)


def test_after_each_fault_it_rests_longer(bench: Bench) -> None:
    job = bench.world.accept(people(3))
    pauses = []
    for _ in range(MAX_STARTS):
        bench.ask(job)
        bench.tap.arm_at("multipart.put", When.BEFORE, ConnectionError)
        with pytest.raises(ConnectionError):
            bench.serve()
        pauses.append((bench.exports.items[NAME].until - bench.world.clock.ms) // 1000)
        assert bench.work() is WorkResult.HELD
        bench.ask(job)
        assert bench.queue.waiting == []
        bench.world.clock.advance(pauses[-1])
    assert pauses == [60, 120, 240, 480, 960, 1920, *[3600] * 6]
    assert bench.work() is WorkResult.FAILED


def test_who_polls_a_running_job_reads_that_its_export_was_given_up(bench: Bench) -> None:
    """The job moves on all the time: the export of its newer version is not begun until an hour later."""
    job = bench.world.accept(people(3))
    bench.ask(job)
    for _ in range(MAX_STARTS):
        die(bench)
    assert bench.work() is WorkResult.FAILED
    bench.world.settle()
    assert bench.world.job(job.id).version > job.version
    assert bench.ask(job).code == GIVEN_UP
    bench.world.clock.advance(AGAIN_MS / 1000 + 1)
    again = bench.ask(job)
    assert (again.state, again.code, again.starts) == (ExportState.PREPARING, "", 0)
    assert [r["recipient"] for r in bench.made(job)] == expected(people(3))


def test_an_archive_that_was_given_up_is_begun_anew_an_hour_later(caplog: pytest.LogCaptureFixture) -> None:
    shelf = Shelf()
    job = shelf.ended()
    shelf.world.clock.advance(WAIT / 1000)
    shelf.sweep()
    (export,) = shelf.exports.items.values()
    for _ in range(MAX_STARTS):
        shelf.tap.arm_at("multipart.put")
        with pytest.raises(Crash):
            shelf.exporter.work(export.id, owner="me", deadline=shelf.world.clock.now() + 900)
        shelf.world.clock.advance(LEASE_MS / 1000 + 1)
    assert shelf.exporter.work(export.id, owner="me", deadline=shelf.world.clock.now() + 900) is WorkResult.FAILED
    shelf.queue.lose()
    shelf.sweep()
    assert "not archived yet: given up" in caplog.text
    assert shelf.owed == [(job.id, shelf.world.clock.ms + AGAIN_MS)]
    shelf.sweep()
    assert shelf.queue.waiting == []
    shelf.world.clock.advance(AGAIN_MS / 1000)
    shelf.settle()
    assert [r[2] for r in shelf.rows(job)] == expected(people(3))
    assert shelf.owed == []
