"""Exports: every message once, in order, whoever dies where; one at a time; made anew when its jobs have moved on."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from shared.domain.erasure import BLANK
from shared.domain.exports import LAST, LATER, NEWEST, SETTLED_MS, USABLE_MS, Export, ExportState
from shared.domain.jobs import chunks as chunking
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.job import Job
from shared.domain.jobs.outcomes import Rejected
from shared.engine.reports.export import LEASE_MS, Exporter, ExportService
from shared.engine.reports.message_log import Filter
from shared.engine.work import WorkResult
from shared.ports import Retriable
from tests.fakes.account_turns import FakeAccountTurns
from tests.fakes.exports import FakeExports, FakeMultipart
from tests.fakes.faults import Crash, When
from tests.fakes.files import FakeFiles
from tests.fakes.queues import FakeQueue
from tests.fakes.world import ACCOUNT, World

NAME = "c" * 26


class Bench:
    """A world with jobs, and what exports them. Parts hold a byte at least, so each chunk is a part of its own."""

    def __init__(self) -> None:
        self.world = World()
        self.tap = self.world.tap
        self.exports = FakeExports(self.tap)
        self.files = FakeFiles(self.tap)
        self.queue = FakeQueue(self.world.clock, self.tap)
        self.multipart = FakeMultipart(self.files, self.tap)
        self.turns = FakeAccountTurns(self.world.clock, self.tap)
        self.service = ExportService(exports=self.exports, queue=self.queue, clock=self.world.clock)
        self.exporter = self.another()

    def another(self, part: int = 1) -> Exporter:
        return Exporter(
            exports=self.exports,
            multipart=self.multipart,
            records=self.world.records,
            logs=self.world.logs,
            queue=self.queue,
            clock=self.world.clock,
            part=part,
            turns=self.turns,
        )

    def ask(self, *jobs: Job) -> Export:
        return self.service.ask(NAME, ACCOUNT, [self.world.job(j.id) for j in jobs])

    def work(self, seconds: float = 900, owner: str = "me") -> WorkResult:
        return self.exporter.work(NAME, owner=owner, deadline=self.world.clock.now() + seconds)

    def serve(self) -> list[WorkResult]:
        """Work on each message that is there."""
        did = []
        while (message := self.queue.receive()) is not None:
            self.queue.delete(message)
            assert json.loads(message.body) == {"export": NAME}
            did.append(self.work())
        return did

    def made(self, *jobs: Job) -> list[dict[str, str]]:
        """Ask until it is there, and read it."""
        for n in range(50):
            found = self.ask(*jobs)
            if found.state is ExportState.READY:
                return self.read(found)
            self.world.clock.advance(LEASE_MS / 1000 if n else 0)
            self.serve()
        raise AssertionError("it is never there")

    def read(self, found: Export) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(self.files.items[found.blob].decode("utf-8-sig"), newline="")))


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(chunking, "MAX_RECIPIENTS", 2)
    return Bench()


def people(n: int, start: int = 0, **values: str) -> list[Recipient]:
    names = [f"r{i}@example.com" for i in range(start, start + n)]
    return [Recipient(name, name, values={"n": str(i), **values}) for i, name in enumerate(names, start)]


def expected(*groups: Sequence[Recipient]) -> list[str]:
    return [r.address for group in groups for r in group]


def test_each_message_is_a_row_in_list_order(bench: Bench) -> None:
    who = people(5)
    who[3] = replace(who[3], skip="suppressed")
    bench.world.providers["one"].script("r0@example.com", [Rejected("mailbox_full", permanent=True)])
    bench.world.providers["two"].script("r0@example.com", [Rejected("mailbox_full", permanent=True)])
    job = bench.world.accept(who)
    bench.world.settle()
    found = bench.made(job)
    assert [r["recipient"] for r in found] == expected(who)
    assert [r["message"] for r in found] == ["0.0", "0.1", "1.0", "1.1", "2.0"]
    assert {r["job"] for r in found} == {job.id}
    assert [(r["state"], r["status"], r["error"]) for r in found] == [
        ("failed", "failed", "mailbox_full"),
        ("sent", "queued", ""),
        ("sent", "queued", ""),
        ("skipped", "failed", "suppressed"),
        ("sent", "queued", ""),
    ]
    assert [r["attempts"] for r in found] == ["1", "1", "1", "0", "1"]
    lines, _ = bench.world.logs.lines(bench.world.job(job.id), Filter(), limit=10)
    for row, line in zip(found, lines, strict=True):
        assert row["providers"] == ";".join(p for p, tried in line.providers.items() if tried)
        assert row["provider_message_id"] == (line.attempts[-1].provider_message_id if line.attempts else "")
        assert datetime.fromisoformat(row["updated_at"]) == datetime.fromtimestamp(line.updated_at_ms / 1000, UTC)
    assert [r["list.n"] for r in found] == ["0", "1", "2", "3", "4"]


def test_a_row_ends_with_its_times_and_what_the_provider_wrote(bench: Bench) -> None:
    world = bench.world
    who = people(3)
    job = world.accept(who)
    world.settle()
    at = int(world.clock.now()) + 5
    lane = world.oracle.taken[0].provider
    wrote = "550 5.1.1 The mailbox <address> does not exist"
    world.track(lane, world.word(job.id, 0, "delivered", at=at))
    world.track(lane, world.word(job.id, 1, "bounced", at=at, code="5.1.1", detail=wrote))
    world.clock.advance(60)
    found = bench.made(world.job(job.id))
    assert list(found[0])[-9:] == ["list.n", *LATER, *LAST, *NEWEST]
    assert [r["state"] for r in found] == ["delivered", "failed", "sent"]
    lines, _ = world.logs.lines(world.job(job.id), Filter(), limit=10)
    sent = [datetime.fromtimestamp(x.attempts[-1].at_ms / 1000, UTC) for x in lines]
    assert [datetime.fromisoformat(r["sent_at"]) for r in found] == sent
    assert [r["delivered_at"][:19] for r in found] == [datetime.fromtimestamp(at, UTC).isoformat()[:19], "", ""]
    assert [r["error_detail"] for r in found] == ["", wrote, ""]
    assert [r["error_meaning"] for r in found] == ["", "the mailbox does not exist", ""]


@pytest.mark.parametrize(("later", "end"), [(False, "list.n"), (True, LATER[-1])])
def test_an_export_that_an_earlier_version_has_begun_ends_as_it_began(bench: Bench, *, later: bool, end: str) -> None:
    job = bench.world.accept(people(3))
    bench.ask(job)
    begun = bench.exports.get(NAME)
    assert begun is not None
    assert begun.last
    assert bench.exports.save(begun, begun.changed(later=later, last=False, numbered=False))
    bench.serve()
    found = bench.ask(job)
    assert [list(r)[-1] for r in bench.read(found)] == [end] * 3


def test_the_jobs_of_a_campaign_follow_one_another_and_share_columns(bench: Bench) -> None:
    first, second = people(3, city="Ulm"), people(3, start=3, state="=1+1")
    jobs = [bench.world.accept(first), bench.world.accept(second)]
    found = bench.made(*jobs)
    assert [r["recipient"] for r in found] == expected(first, second)
    assert [r["job"] for r in found] == [jobs[0].id] * 3 + [jobs[1].id] * 3
    assert [r["list.city"] for r in found] == ["Ulm"] * 3 + [""] * 3
    assert [r["list.state"] for r in found] == [""] * 3 + ["'=1+1"] * 3
    assert [r["state"] for r in found] == ["queued"] * 6


def test_a_list_s_columns_outlast_its_first_recipients(bench: Bench) -> None:
    """Who was erased has no values left; the others' are there all the same."""
    job = bench.world.accept(people(5))
    records: Any = bench.world.records
    for number, gone in ((0, 2), (1, 1)):
        chunk = records.chunks[job.id, number]
        records.chunks[job.id, number] = replace(chunk, recipients=(BLANK,) * gone + chunk.recipients[gone:])
    found = bench.made(job)
    assert [(r["recipient"], r.get("list.n")) for r in found] == [
        *[("erased", "")] * 3,
        ("r3@example.com", "3"),
        ("r4@example.com", "4"),
    ]


def test_it_is_given_again_until_its_jobs_move_on(bench: Bench) -> None:
    job = bench.world.accept(people(3))
    bench.made(job)
    first = bench.ask(job)
    bench.world.clock.advance(SETTLED_MS / 1000 + 1)
    assert bench.ask(job) == first
    bench.world.settle()
    bench.world.clock.advance(SETTLED_MS / 1000 + 1)
    assert bench.ask(job).state is ExportState.PREPARING
    assert [r["state"] for r in bench.made(job)] == ["sent"] * 3
    assert bench.ask(job).run != first.run


def test_the_export_of_a_running_job_is_given_out_though_the_job_has_moved_on(bench: Bench) -> None:
    job = bench.world.accept(people(3))
    assert bench.ask(job).state is ExportState.PREPARING
    bench.serve()
    bench.world.settle()
    found = bench.ask(job)
    assert (found.state, found.versions) == (ExportState.READY, (job.version,))
    assert bench.world.job(job.id).version > job.version


def test_an_old_file_is_not_given_out(bench: Bench) -> None:
    job = bench.world.accept(people(3))
    bench.made(job)
    bench.world.clock.advance(USABLE_MS / 1000 + 1)
    assert bench.ask(job).state is ExportState.PREPARING


def test_one_at_a_time(bench: Bench) -> None:
    job = bench.world.accept(people(3))
    first = bench.ask(job)
    assert bench.ask(job) == first
    assert [m.group for m in bench.queue.sent] == [ACCOUNT], "accounts share the queue fairly"
    held = first.changed(owner="another", until=bench.world.clock.ms + LEASE_MS)
    assert bench.exports.save(first, held)
    assert bench.work() is WorkResult.HELD
    bench.world.clock.advance(LEASE_MS / 1000 + 1)
    assert bench.work() is WorkResult.READY
    assert bench.work() is WorkResult.NOTHING
    assert bench.exporter.work("nobody", owner="me", deadline=bench.world.clock.now() + 60) is WorkResult.NOTHING


def test_of_two_concurrent_requests_one_begins_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    job = bench.world.accept(people(3))
    get = bench.exports.get

    def slow(export: str) -> Export | None:
        found = get(export)
        monkeypatch.undo()
        bench.ask(job)
        return found

    monkeypatch.setattr(bench.exports, "get", slow)
    found = bench.ask(job)
    assert found == bench.exports.items[NAME]
    assert len(bench.queue.sent) == 1


def test_at_its_time_limit_another_invocation_goes_on_where_it_was(bench: Bench) -> None:
    who = people(20)
    job = bench.world.accept(who)
    bench.ask(job)
    bench.tap.delay = lambda: bench.world.clock.sleep(1.0)
    message = bench.queue.receive()
    assert message is not None
    bench.queue.delete(message)
    assert bench.work(seconds=20) is WorkResult.HANDED_OVER
    between = bench.exports.items[NAME]
    assert 0 < between.done < between.chunks
    assert 0 < between.progress < 1
    assert (len(between.parts), between.owner) == (between.done, "")
    read = len([c for c in bench.tap.calls if c == "records.chunk"])
    rounds = 0
    while bench.queue.waiting:
        bench.queue.delete(bench.queue.receive())  # type: ignore[arg-type]
        bench.work(seconds=20, owner=f"next-{rounds}")
        rounds += 1
    assert rounds > 1
    bench.tap.delay = lambda: None
    assert [r["recipient"] for r in bench.made(job)] == expected(who)
    chunks = len([c for c in bench.tap.calls if c == "records.chunk"]) - read
    assert chunks <= between.chunks - between.done + rounds, "nothing is read twice but what was not yet in a part"


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER, When.REPEATED])
def test_every_message_is_recorded_once_after_a_crash_at_any_call(bench: Bench, when: When) -> None:
    who = people(7)
    job = bench.world.accept(who)
    before = len(bench.tap.calls)
    bench.made(job)
    calls = len(bench.tap.calls) - before
    assert calls > 20
    for nth in range(calls):
        del bench.exports.items[NAME]
        bench.files.items.clear()
        bench.queue.lose()
        bench.tap.arm(nth, when, Crash)
        try:
            found = bench.made(job)
        except Crash:
            bench.exporter = bench.another()
            found = bench.made(job)
        bench.tap.disarm()
        assert [r["recipient"] for r in found] == expected(who), (nth, when)
        assert [r["message"] for r in found] == ["0.0", "0.1", "1.0", "1.1", "2.0", "2.1", "3.0"]


@pytest.mark.parametrize("error", [Retriable, RuntimeError])
def test_a_fault_is_reported_and_the_next_item_continues(bench: Bench, error: type[Exception]) -> None:
    who = people(5)
    job = bench.world.accept(who)
    bench.ask(job)
    bench.tap.arm(2, When.BEFORE, error, where=lambda call: call == "multipart.put")
    with pytest.raises(error):
        bench.work()
    assert bench.exports.items[NAME].done == 2
    assert [r["recipient"] for r in bench.made(job)] == expected(who)


def test_a_worker_without_lease_adds_no_part_to_the_file(bench: Bench) -> None:
    who = people(6)
    job = bench.world.accept(who)
    bench.ask(job)
    bench.queue.lose()
    put = bench.multipart.put

    def frozen(name: str, upload: str, number: int, data: bytes) -> str:
        bench.multipart.put = put  # type: ignore[method-assign]
        bench.world.clock.advance(LEASE_MS / 1000 + 1)
        assert bench.ask(job).state is ExportState.PREPARING
        assert (
            bench.another(part=1000).work(NAME, owner="other", deadline=bench.world.clock.now() + 60)
            is WorkResult.READY
        )
        return put(name, upload, number, data)

    bench.multipart.put = frozen  # type: ignore[method-assign]
    assert bench.work() is WorkResult.LOST
    assert [r["recipient"] for r in bench.made(job)] == expected(who)


def test_a_part_that_was_replaced_makes_the_file_anew(bench: Bench) -> None:
    who = people(6)
    job = bench.world.accept(who)
    bench.ask(job)
    put = bench.multipart.put

    def spoiled(name: str, upload: str, number: int, data: bytes) -> str:
        etag = put(name, upload, number, data)
        if number == 2:
            put(name, upload, number, b"of one who woke late")
        return etag

    first = bench.exports.items[NAME].run
    bench.multipart.put = spoiled  # type: ignore[method-assign]
    assert bench.work() is WorkResult.HANDED_OVER
    assert bench.exports.items[NAME].run != first
    bench.multipart.put = put  # type: ignore[method-assign]
    assert [r["recipient"] for r in bench.made(job)] == expected(who)


def test_what_is_no_longer_kept_is_said_and_not_left_out(bench: Bench) -> None:
    job = bench.world.accept(people(6))
    records: Any = bench.world.records
    del records.chunks[job.id, 1]
    assert bench.ask(job).state is ExportState.PREPARING
    assert bench.serve() == [WorkResult.FAILED]
    assert bench.ask(job).state is ExportState.FAILED
    assert bench.queue.waiting == []
    assert bench.files.items == {}


def test_a_lost_message_is_sent_again_when_the_request_is_repeated(bench: Bench) -> None:
    job = bench.world.accept(people(3))
    bench.ask(job)
    bench.queue.lose()
    bench.ask(job)
    assert bench.queue.waiting == []
    bench.world.clock.advance(LEASE_MS / 1000 + 1)
    bench.ask(job)
    assert len(bench.queue.waiting) == 1
    assert bench.serve() == [WorkResult.READY]
