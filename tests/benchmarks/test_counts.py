"""What the counted promises rest on: the engine over moto does each thing with no more writes than it needs."""

import random
from collections import Counter
from dataclasses import replace

import boto3
import pytest

from benchmarks.counting import finished
from benchmarks.rig.mail import recipients
from benchmarks.rig.scenarios import batch, campaign, lane_of, rate_of, warm, words
from benchmarks.rig.world import REGION, TABLES, World, world
from cli.checks import account
from shared.adapters.dynamo import keys
from shared.adapters.dynamo.accounts.accounts import Accounts
from shared.contracts import ProviderEvent
from shared.domain.ids import is_unlisted
from shared.domain.jobs import runs
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.states import Cell, JobState
from shared.domain.notices.notice import NoticeChange, Phase
from tests.domain.notices.examples import NOW, notice

SINGLE_POST = (3.0, 6)
"""Write units and calls of the API for a batch of one, by a function that knows key and account."""


@pytest.mark.slow
def test_a_batch_of_one_is_logged_by_few_calls_and_keeps_its_content_in_its_chunk() -> None:
    with world(rate=100) as w:
        w.accept(recipients(1), 500)
        w.finish()
        w.take()
        job = w.accept(recipients(1), 500)
        w.finish()
        taken = w.take()
        stored = w.deployment.records.job(job)
        assert stored is not None
        assert (stored.state, stored.counts["sent"]) == (JobState.LOGGED, 1)
        assert stored.finished_at == w.clock.ms
        assert taken.writes["records CONTENT"] == 0
        assert taken.wru == 12
        content = w.deployment.records.content(job)
        assert content is not None
        assert len(content.html) == 500
        assert list(w.deployment.records.open_jobs(["shared#RUN#" + str(i) for i in range(16)])) == []


def test_a_small_job_is_in_the_index_until_the_sweeper_walks_it() -> None:
    """A process of the API learns it from the sweeper's note."""
    with world(rate=1000) as w:
        slots = ["shared#RUN#" + str(i) for i in range(16)]
        client = boto3.Session(region_name=REGION).client("dynamodb")
        client.delete_item(TableName=TABLES.records, Key=keys.unlisting())
        first = w.post(recipients(1), 500)
        assert [x.job for x in w.deployment.records.open_jobs(slots)] == [first]
        client.put_item(TableName=TABLES.records, Item=keys.unlisting())
        second = w.post(recipients(1), 500)
        assert [x.job for x in w.deployment.records.open_jobs(slots)] == [first]
        assert is_unlisted(second)


@pytest.mark.slow
def test_the_doctor_knows_what_single_messages_and_bulk_write() -> None:
    """A table's quota is apart from those of its indexes; the slowest window is the dearest bulk."""
    with world(rate=1000) as w:
        warm(w)
        assert table_units(w, 1)["records"] == account.SINGLE_WRITES
    with world(rate=20) as w:
        warm(w)
        assert max(table_units(w, 200).values()) / 200 <= account.BULK_WRITES


@pytest.mark.slow
def test_noting_whose_batches_are_accepted_costs_one_write_an_hour() -> None:
    """The first single batch of a key and hour takes one call and one write unit more than the next ones."""
    with world(rate=1000) as w:

        def posted() -> tuple[float, int]:
            w.take()
            w.post(recipients(1), 500)
            tally = w.take()
            return tally.wru, tally.aws_calls

        w.clock.advance(3_599 - w.clock.now() % 3_600)
        posted()
        known = posted()
        w.clock.advance(1)
        first = posted()
        assert (first[0] - known[0], first[1] - known[1]) == (1, 1)
        assert [posted(), posted()] == [known, known]
        assert known == SINGLE_POST


def limit(w: World) -> None:
    """Give the account limits of every measure, which it does not reach, and let processes hear of them."""
    client = boto3.Session(region_name=REGION).client("dynamodb")
    accounts = Accounts(client, TABLES.records, w.clock, homes=TABLES.homes)
    assert accounts.set_limits(w.account, {"email": 10**6, "messages": 10**6, "price": 10**12})
    w.clock.advance(61)


@pytest.mark.slow
def test_all_limits_of_an_account_cost_a_single_message_one_write_and_one_call() -> None:
    counted = []
    with world(rate=1000) as w:
        for begin in (lambda _: None, limit):
            begin(w)
            for _ in range(2):
                w.take()
                w.post(recipients(1), 500)
                accepted = w.take()
            w.finish()
            sent = w.take()
            counted.append(((accepted.wru, accepted.aws_calls), sent.wru))
    plain, limited = counted
    assert plain[0] == SINGLE_POST
    assert limited[0] == (SINGLE_POST[0] + 1, SINGLE_POST[1] + 1)
    assert limited[1] == plain[1]


@pytest.mark.slow
def test_limits_cost_a_campaign_s_messages_nothing() -> None:
    more = []
    for size in (100, 1100):
        counted = []
        for begin in (lambda _: None, limit):
            with world(rate=1000) as w:
                warm(w)
                begin(w)
                w.take()
                _, tally = campaign(w, size, 500)
                counted.append((tally.wru, tally.aws_calls))
        (units, calls), (limited, asked) = counted
        more.append((limited - units, asked - calls))
    assert more[0] == more[1]
    assert max(more[0]) <= 3, "when it is sent, and when it ends"


@pytest.mark.slow
def test_what_an_owner_calls_a_single_message_costs_no_write_and_no_read() -> None:
    labels = {"reference": "order-4711", "tags": ["invoices", "november"], "metadata": {"shop": "7", "case": "A-1"}}
    counted = []
    with world(rate=1000) as w:
        for more in ({}, {}, labels):
            w.take()
            job = w.post(recipients(1), 500, more=more)
            w.finish()
            tally = w.take()
            counted.append((tally.wru, tally.rru, tally.aws_calls))
        assert counted[2] == counted[1]
        stored = w.deployment.records.job(job)
        assert stored is not None
        assert (stored.state, stored.labels.reference) == (JobState.LOGGED, "order-4711")


def table_units(w: World, count: int) -> Counter[str]:
    """Send a batch, have an event about each message, and return the write units by table, those of indexes left out.

    Args:
        w: the world to send in.
        count: of messages.
    """
    job, sent = batch(w, count)
    w.track(lane_of(w, job), [words(job, 0, range(count))])
    w.log()
    units: Counter[str] = Counter()
    for what, written in (sent.writes + w.take().writes).items():
        if ", index" not in what:
            units[what.split()[0]] += written
    return units


@pytest.mark.slow
def test_a_content_too_large_for_the_chunk_and_one_of_several_chunks_stand_by_themselves() -> None:
    noise = random.Random(5)  # noqa: S311 - text that does not compress
    with world(rate=100) as w:
        for people, text in ((1, "".join(noise.choices("abcdefghijklmnop", k=12_000))), (2, "short")):
            w.take()
            request = w.request(recipients(people), 10)
            job = w.accept_request(replace(request, content=replace(request.content, html=text)))
            assert w.take().writes["records CONTENT"] >= 1
            w.finish()
            content = w.deployment.records.content(job)
            assert content is not None
            assert content.html == text
            state = w.deployment.records.job(job)
            assert state is not None
            assert state.state is JobState.LOGGED


@pytest.mark.slow
@pytest.mark.parametrize(("campaign", "state"), [("", JobState.LOGGED), ("c1", JobState.SENT)])
def test_only_a_job_that_holds_no_credential_is_logged_with_its_fold(campaign: str, state: JobState) -> None:
    with world(rate=100) as w:
        records, ledgers = w.deployment.records, w.deployment.ledgers
        job, done = _done(w.deployment, w.accept(recipients(1), 10), campaign)
        folded = records.fold(done, job, finish=w.clock.ms)
        assert folded is not None
        _, ended = folded
        stored = records.job(job.id)
        assert stored is not None
        assert ended is not None
        assert (ended.state, stored.state) == (state, state)
        assert ended.finished_at == stored.finished_at
        assert records.fold(done, job, finish=w.clock.ms) is None
        assert ledgers.read(job.id, 0) == folded[0]


@pytest.mark.slow
def test_a_job_that_was_stopped_meanwhile_is_not_ended_by_a_fold() -> None:
    from shared.domain.jobs.states import Change  # noqa: PLC0415

    with world(rate=100) as w:
        records = w.deployment.records
        job, done = _done(w.deployment, w.accept(recipients(1), 10), "")
        records.change(job, Change.STOP, w.clock.ms, reason="user")
        assert records.fold(done, job, finish=w.clock.ms) is None
        stored = records.job(job.id)
        assert stored is not None
        assert stored.state is JobState.STOPPED


@pytest.mark.slow
def test_a_word_repeats_no_id_that_the_window_names_and_brings_the_one_it_lacks() -> None:
    with world(rate=1000) as w:
        records, ledgers = w.deployment.records, w.deployment.ledgers
        job = w.accept(recipients(3), 10)
        w.finish()
        before = ledgers.read(job, 0)
        assert before is not None
        unknown = bytes([before.cells[0], 1 << 4 | Cell.UNKNOWN])
        assert ledgers._swap(before, replace(before, cells=unknown, version=before.version + 1)) is not None
        words = [ProviderEvent(f"{job}-0-{i}-1", "delivered", 1_790_000_000, f"id{i}", "250") for i in range(2)]
        lane = before.lane
        w.track(lane, [words])
        w.log()
        (stored,) = records.details(job, 0)[1]
        assert [(e.index, e.id) for e in stored.entries] == [(0, ""), (1, "id1")]
        w.track(lane, [words])
        w.log()
        assert records.details(job, 0)[1] == [stored]
        folded = records.job(job)
        assert folded is not None
        assert (folded.counts["delivered"], folded.counts["sent"]) == (2, 1)


def _done(deployment: object, job_id: str, campaign: str) -> tuple[Job, Ledger]:
    """Return the job and its only ledger, stored as DONE with a change to fold."""
    records, ledgers = deployment.records, deployment.ledgers  # type: ignore[attr-defined]
    job = records.job(job_id)
    ledger = ledgers.read(job_id, 0)
    assert job is not None
    assert ledger is not None
    new = runs.drop(ledger, [0])
    assert new is not None
    assert ledgers._swap(ledger, new) is new
    assert new.cell(0)[0] is Cell.SKIPPED
    return replace(job, campaign=campaign), new


@pytest.mark.slow
def test_a_lone_worker_pays_one_write_for_its_slots() -> None:
    with world(rate=rate_of(50)) as w:
        w.accept(recipients(1), 10)
        w.finish()
        w.take()
        w.accept(recipients(500), 10)
        w.finish()
        assert w.take().writes["ops PACER"] == 10


@pytest.mark.slow
def test_a_collected_notice_is_shortened_by_one_unit() -> None:
    with world(rate=100) as w:
        notices = w.deployment.noticing.notices
        ended = notice(phase=Phase.ENDED, ttl=900, stamp=NOW)
        assert notices.write(None, NoticeChange(ended))
        w.take()
        notices.shorten(ended, 800)
        assert w.take().wru == 1


@pytest.mark.slow
def test_a_destination_of_a_finished_message_costs_few_writes_and_calls() -> None:
    tally = finished.cost(100)
    assert tally.wru / 100 <= 12
    assert tally.aws_calls / 100 <= 9


@pytest.mark.slow
def test_to_show_how_a_destination_ended_takes_two_reads() -> None:
    tally = finished.showing(10)
    assert tally.wru <= 1, "the audit log says once that a client has read a person's data"
    assert tally.aws_calls <= 2 * 10 + 5
