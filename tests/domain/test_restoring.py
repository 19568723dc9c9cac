"""What a copy of the past may still say: what waits in it is in doubt, and no event has it sent again."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.jobs import ledger as rules
from shared.domain.jobs import passes, retries
from shared.domain.jobs.details import Detail, FeedbackDetail, FeedbackEntry
from shared.domain.jobs.feedback import SOFT, ProviderEventKind, state_of
from shared.domain.jobs.job import Job, StopReason
from shared.domain.jobs.ledger import BY_KEYS, Ledger, LedgerStatus
from shared.domain.jobs.outcomes import Entry, Kind
from shared.domain.jobs.passes import PassContext
from shared.domain.jobs.states import COUNT_KEYS, OPEN, Cell, JobState
from shared.domain.restoring.past import LEAP, VERSIONS, doubted, held, never_began, unheld
from tests.tiers import examples

ROUTE = ("one", "two")
JOB = "0123456789abcdefghjkmnpqrs"
DOUBTFUL = OPEN | {Cell.UNKNOWN}
pytestmark = [pytest.mark.promise(1), pytest.mark.promise(3)]


def ledger(*cells: tuple[Cell, int], **changes: object) -> Ledger:
    made = rules.create(job=JOB, chunk=0, skipped=(), size=len(cells), lane="one", route=ROUTE, limit=6, ttl=9)
    return replace(made, cells=bytes(attempt << 4 | state for state, attempt in cells), **changes)  # type: ignore[arg-type]


def window(*entries: Entry, epoch: int = 1) -> Detail:
    return Detail(JOB, 0, epoch, 1, 1000, "one", entries, 9)


def said(word: ProviderEventKind, attempt: int) -> FeedbackDetail:
    return FeedbackDetail(JOB, 0, "one", (FeedbackEntry(0, attempt, word.value, 1),), 9)


ANY_CELLS = st.lists(st.tuples(st.sampled_from(list(Cell)), st.integers(0, 15)), min_size=1, max_size=6)


@given(ANY_CELLS, st.integers(1, 15))
@settings(max_examples=examples(200))
def test_what_waits_in_a_copy_is_in_doubt_and_the_rest_stays(cells: list[tuple[Cell, int]], limit: int) -> None:
    past = ledger(*cells, limit=limit)
    now = doubted(past)
    for i, (state, attempt) in enumerate(cells):
        if state in DOUBTFUL:
            assert now.cell(i)[0] is Cell.UNKNOWN
            assert now.cell(i)[1] >= attempt
        else:
            assert now.cell(i) == (state, attempt)
    assert (now.status, now.owner, now.limit) == (LedgerStatus.DONE, "", 0)
    assert now.epoch >= past.epoch + LEAP
    assert now.version >= past.version + VERSIONS


@given(ANY_CELLS, st.lists(st.tuples(st.integers(0, 5), st.integers(1, 15), st.sampled_from(sorted(SOFT))), max_size=5))
@settings(max_examples=examples(200))
def test_no_soft_word_and_no_proof_of_absence_has_a_message_of_a_copy_sent_again(
    cells: list[tuple[Cell, int]], words: list[tuple[int, int, ProviderEventKind]]
) -> None:
    current = doubted(ledger(*cells))
    passing = PassContext(route=ROUTE, now=1000, delay=lambda _: 0)
    for index, attempt, word in words:
        state = state_of(word)
        assert state is not None
        if index < len(cells):
            told = rules.join_words(current, [(index, attempt, Cell.RETRY)], route=ROUTE, credential="one")
            proven = rules.disprove(told or current, [(index, attempt)], Cell.RETRY)
            current = passes.reopen(proven or told or current, passing)
    assert not OPEN & {current.cell(i)[0] for i in range(len(cells))}


def test_a_retry_that_names_unknown_messages_still_sends_them() -> None:
    reopened = retries.reopen(doubted(ledger((Cell.QUEUED, 0))), (Cell.UNKNOWN,), 6)
    assert reopened is not None
    assert (reopened.cell(0)[0], reopened.limit > reopened.cell(0)[1]) == (Cell.QUEUED, True)
    claimed, places = rules.claim(reopened, (), 1, route=ROUTE, at_lane="one")
    assert (places, claimed.cell(0)[0]) == ([0], Cell.CLAIMED)


@pytest.mark.parametrize(
    ("kind", "state"),
    [
        (Kind.ACCEPTED, Cell.SENT),
        (Kind.RELAYED, Cell.RELAYED),
        (Kind.REFUSED, Cell.FAILED),
        (Kind.INVALID, Cell.SKIPPED),
        (Kind.NOT_SENT, Cell.UNKNOWN),
        (Kind.UNKNOWN, Cell.UNKNOWN),
        (Kind.RISKED, Cell.UNKNOWN),
    ],
)
def test_a_later_detail_shows_what_came_of_a_message(kind: Kind, state: Cell) -> None:
    now = doubted(ledger((Cell.QUEUED, 0)), [window(Entry(0, 2, kind))])
    assert now.cell(0)[0] is state
    assert now.cell(0)[1] == (6 if state is Cell.UNKNOWN else 2)


def test_the_last_attempt_that_details_name_decides() -> None:
    first, last = window(Entry(0, 1, Kind.ACCEPTED)), window(Entry(0, 2, Kind.NOT_SENT), epoch=2)
    assert doubted(ledger((Cell.RETRY, 1)), [first, last]).cell(0) == (Cell.UNKNOWN, 6)
    assert doubted(ledger((Cell.RETRY, 2)), [first]).cell(0) == (Cell.UNKNOWN, 6)


def test_what_a_provider_gave_up_after_it_took_it_is_in_doubt_and_what_it_delivered_is_not() -> None:
    taken = [window(Entry(0, 1, Kind.ACCEPTED))]
    for word, state in (
        (ProviderEventKind.DROPPED, (Cell.UNKNOWN, 6)),
        (ProviderEventKind.DELIVERED, (Cell.DELIVERED, 1)),
        (ProviderEventKind.BOUNCED, (Cell.BOUNCED, 1)),
        (ProviderEventKind.DEFERRED, (Cell.SENT, 1)),
    ):
        assert doubted(ledger((Cell.CLAIMED, 1)), taken, [said(word, 1)]).cell(0) == state


def test_a_copy_of_the_moment_of_the_loss_stays_as_it_is() -> None:
    past = ledger((Cell.QUEUED, 0), (Cell.CLAIMED, 1), status=LedgerStatus.BUSY, owner="me", until=5)
    assert unheld(past) == replace(past, version=past.version + VERSIONS)


def job(state: JobState, **changes: object) -> Job:
    nothing = dict.fromkeys(COUNT_KEYS, 0), {c: (0,) * len(BY_KEYS) for c in ROUTE}
    made = Job(JOB, "acc", "batch", "email", False, ROUTE, ROUTE, 1, 1, 1, 9, state, *nothing)
    return replace(made, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("state", JobState)
def test_a_job_comes_back_stopped_and_says_why_if_it_was_under_way(state: JobState) -> None:
    ended = state in (JobState.LOGGED, JobState.STOPPED)
    found = held(job(state), 7)
    assert found.stopped is not ended
    assert found.state is (state if ended else JobState.STOPPED)
    assert found.stop_reason == ("" if ended else StopReason.RESTORED)
    assert found.version == 1 + VERSIONS


@pytest.mark.parametrize("kind", ["notice", "mail"])
def test_runs_of_notices_and_mails_are_not_stopped(kind: str) -> None:
    assert held(job(JobState.SENDING, kind=kind), 7).state is JobState.SENDING


def test_only_a_job_that_was_never_planned_never_began() -> None:
    assert never_began(job(JobState.READY))
    assert not never_began(job(JobState.READY, planned_at=5))
    assert not never_began(job(JobState.ENQUEUED))
