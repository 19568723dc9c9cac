"""The archive: the file of each finished job, with late feedback in it, whoever dies where; anew when it ends again."""

import csv
import io
from dataclasses import replace
from typing import cast

import pytest

from shared.domain.archive import export_id, file
from shared.domain.exports import ExportState
from shared.domain.jobs import chunks as chunking
from shared.domain.jobs.job import Job
from shared.domain.times import DAY_MS
from shared.engine.reports.archive import LOST_MS, Archiver
from shared.engine.reports.export import LEASE_MS, UPLOAD_MS
from shared.engine.work import WorkResult
from tests.engine.test_export import Bench, expected, people
from tests.fakes.faults import Crash, When
from tests.fakes.records import FakeRecords
from tests.fakes.world import ACCOUNT

WAIT = 3 * DAY_MS


class Shelf(Bench):
    """A world whose jobs are archived."""

    def __init__(self) -> None:
        super().__init__()
        self.records = cast("FakeRecords", self.world.stores.records)
        self.records.archive = WAIT
        self.archiver = Archiver(self.world.records, self.exports, self.queue, self.world.clock, WAIT)

    def sweep(self) -> None:
        for _, act in self.archiver.walk():
            act()

    def serve_all(self) -> list[WorkResult]:
        did = []
        while (message := self.queue.receive()) is not None:
            self.queue.delete(message)
            name = message.body.split('"')[3]
            did.append(self.exporter.work(name, owner="me", deadline=self.world.clock.now() + 900))
        return did

    def ended(self, n: int = 3) -> Job:
        job = self.world.accept(people(n))
        self.world.settle()
        return self.world.job(job.id)

    def settle(self) -> None:
        """Let sweeper and exporter run for two hours, by leases."""
        for _ in range(4):
            self.sweep()
            self.serve_all()
            self.world.clock.advance(LEASE_MS / 1000 + 1)
        self.world.clock.advance(LOST_MS / 1000)
        self.sweep()
        self.serve_all()
        self.sweep()

    def rows(self, job: Job) -> list[list[str]]:
        return list(csv.reader(io.StringIO(self.files.items[file(job)].decode("utf-8-sig"), newline="")))[1:]

    @property
    def owed(self) -> list[tuple[str, int]]:
        return list(self.world.records.unarchived(10**14, 10))


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Shelf:
    monkeypatch.setattr(chunking, "MAX_RECIPIENTS", 2)
    return Shelf()


def test_a_finished_job_is_archived_when_its_feedback_is_over(shelf: Shelf) -> None:
    job = shelf.ended()
    shelf.sweep()
    assert shelf.queue.waiting == []
    shelf.world.track("one", shelf.world.word(job.id, 0, "delivered"))
    shelf.world.settle()
    shelf.world.clock.advance(WAIT / 1000)
    shelf.sweep()
    assert shelf.serve_all() == [WorkResult.READY]
    assert shelf.owed, "it is owed until somebody has seen that it stands"
    shelf.sweep()
    assert (shelf.owed, shelf.queue.waiting) == ([], [])
    assert file(job).startswith(f"archive/{ACCOUNT}/2026/")
    assert file(job).endswith(f"/{job.id}.csv")
    assert [r[2] for r in shelf.rows(job)] == expected(people(3))
    assert [r[3] for r in shelf.rows(job)] == ["delivered", "sent", "sent"]
    assert export_id(job.id) != job.id, "a client's export is another"


def test_one_at_a_time_and_a_lost_message_is_sent_again(shelf: Shelf) -> None:
    shelf.ended()
    shelf.world.clock.advance(WAIT / 1000)
    for _ in range(3):
        shelf.sweep()
    assert len(shelf.queue.waiting) == 1
    shelf.queue.lose()
    shelf.sweep()
    assert shelf.queue.waiting == []
    shelf.world.clock.advance(LOST_MS / 1000)
    shelf.sweep()
    assert shelf.serve_all() == [WorkResult.READY]


def test_a_job_that_ends_again_is_written_anew(shelf: Shelf) -> None:
    job = shelf.world.accept(people(3))
    shelf.world.control.stop(job.id, ACCOUNT)
    shelf.world.settle()
    shelf.world.clock.advance(WAIT / 1000)
    shelf.settle()
    assert [r[3] for r in shelf.rows(job)] == ["queued"] * 3
    assert shelf.owed == []
    shelf.world.control.resume(job.id, ACCOUNT)
    shelf.world.settle()
    assert len(shelf.owed) == 1
    shelf.settle()
    assert [r[3] for r in shelf.rows(job)] == ["queued"] * 3, "not before it is due"
    shelf.world.clock.advance(WAIT / 1000)
    shelf.settle()
    assert [r[3] for r in shelf.rows(job)] == ["sent"] * 3
    assert shelf.owed == []


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER, When.REPEATED])
def test_each_message_is_recorded_once_after_a_crash_at_any_call(shelf: Shelf, when: When) -> None:
    job = shelf.ended(5)
    shelf.world.clock.advance(WAIT / 1000)
    kept = dict(shelf.records.dues)
    before = len(shelf.tap.calls)
    shelf.settle()
    calls = len(shelf.tap.calls) - before
    assert calls > 20
    for nth in range(calls):
        shelf.exports.items.clear()
        shelf.files.items.clear()
        shelf.queue.lose()
        shelf.records.dues = dict(kept)
        shelf.tap.arm(nth, when, Crash)
        try:
            shelf.settle()
        except Crash:
            shelf.exporter = shelf.another()
        shelf.tap.disarm()
        shelf.settle()
        shelf.settle()
        assert [r[2] for r in shelf.rows(job)] == expected(people(5)), (nth, when)
        assert shelf.owed == [], (nth, when)


def test_what_ended_in_doubt_waits_from_its_end_on_as_well(shelf: Shelf) -> None:
    job = shelf.ended()
    shelf.records.dues = {job.id: shelf.world.clock.ms}
    shelf.sweep()
    assert shelf.owed == [(job.id, job.finished_at + WAIT)]
    assert shelf.exports.items == {}


def test_a_test_job_that_ended_in_doubt_is_not_archived(shelf: Shelf) -> None:
    job = shelf.ended()
    shelf.records.jobs[job.id] = replace(job, test=True)
    shelf.world.clock.advance(WAIT / 1000)
    shelf.settle()
    assert (shelf.owed, shelf.files.items) == ([], {})


def test_missing_rows_are_reported(shelf: Shelf, caplog: pytest.LogCaptureFixture) -> None:
    job = shelf.ended()
    del shelf.records.chunks[job.id, 1]
    shelf.world.clock.advance(WAIT / 1000)
    shelf.settle()
    assert (shelf.owed, shelf.files.items) == ([], {})
    assert "not archived" in caplog.text


def test_old_parts_are_not_mistaken_for_the_present_file(shelf: Shelf) -> None:
    """The bucket drops parts after a day; the file of an earlier end has the same name, and would seem to be theirs."""
    job = shelf.ended()
    shelf.world.clock.advance(WAIT / 1000)
    shelf.sweep()
    shelf.tap.arm_at("multipart.complete", When.BEFORE)
    with pytest.raises(Crash):
        shelf.serve_all()
    shelf.tap.disarm()
    shelf.files.items[file(job)] = b"of an earlier end"
    shelf.multipart.begun.clear()
    shelf.world.clock.advance(UPLOAD_MS / 1000 + 1)
    shelf.settle()
    assert shelf.exports.items[export_id(job.id)].state is ExportState.READY
    assert [r[2] for r in shelf.rows(job)] == expected(people(3))
