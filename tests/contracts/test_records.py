"""Jobs and their transactions: exactly once under repetition, loss and races."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from shared.adapters.dynamo import codec, indices
from shared.domain.hours.hours import OpenHours
from shared.domain.hours.openings import window_of
from shared.domain.jobs.details import Detail, FeedbackDetail, FeedbackEntry
from shared.domain.jobs.job import OnAmbiguous, Policy
from shared.domain.jobs.ledger import LedgerStatus
from shared.domain.jobs.outcomes import Entry, Kind
from shared.domain.jobs.states import TRANSITIONS, Change, JobState
from shared.ports import Control, Mismatch, OpenJob, Replay, Retriable, Stored
from tests.contracts.conftest import ACCOUNT, CONTENT, DAY_MS, Parts, job, key
from tests.fakes.clock import FakeClock
from tests.fakes.faults import When
from tests.fakes.stores import Stores

# Acceptance


def test_a_job_is_stored_with_all_its_parts(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock, [3, 2], name="n", sender="s", subject="t", duplicates=4, rate=2.5, campaign="c", test=True)
    assert parts.store(stores) == Stored()
    assert job(stores, parts) == parts.job
    assert stores.ledgers.read_all(parts.job.id) == parts.ledgers
    assert [stores.records.chunk(parts.job.id, i) for i in range(3)] == [*parts.chunks, None]
    assert stores.records.some_chunks(parts.job.id, [2, 1, 0, 1]) == dict(enumerate(parts.chunks))
    assert stores.records.some_chunks(parts.job.id, []) == {}
    places = [(parts.job.id, 1), (parts.job.id, 0), (parts.job.id, 1), (parts.job.id, 9), ("other", 0)]
    assert stores.records.load_some(places) == {(parts.job.id, n): (parts.job, parts.chunks[n]) for n in (0, 1)}
    assert stores.records.load_some([]) == {}
    assert stores.records.content(parts.job.id) == CONTENT
    assert stores.records.job("0" * 26) is None
    assert stores.records.content("0" * 26) is None


def test_a_job_keeps_its_policy(stores: Stores, clock: FakeClock) -> None:
    policy = Policy(3, ("blocked", "deferred"), OnAmbiguous.FAIL_OVER, 60)
    parts = Parts(clock, policy=policy)
    parts.store(stores)
    assert job(stores, parts).policy == policy
    assert Parts(clock).job.policy == Policy(6, ("dropped", "blocked", "failed_temporarily"), OnAmbiguous.HOLD, 14_400)


def test_a_lease_loads_all_it_needs_at_once(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock, [3, 2])
    parts.store(stores)
    before = len(stores.tap.calls)
    loaded = stores.records.load(parts.job.id, 1, content=True)
    assert len(stores.tap.calls) == before + 1
    assert loaded is not None
    assert (loaded.job, loaded.chunk, loaded.content) == (parts.job, parts.chunks[1], CONTENT)
    bare = stores.records.load(parts.job.id, 0, content=False)
    assert bare is not None
    assert (bare.chunk, bare.content) == (parts.chunks[0], None)
    assert stores.records.load(parts.job.id, 2, content=True) is None
    assert stores.records.load("0" * 26, 0, content=True) is None


def test_leases_of_small_jobs_load_all_they_need_at_once(stores: Stores, clock: FakeClock) -> None:
    some = [Parts(clock, [3]), Parts(clock, [2], test=True), Parts(clock, [1], account="acc_000000000002")]
    for parts in some:
        parts.store(stores)
    names = [some[0].job.id, "0" * 26, *(x.job.id for x in some[1:])]
    before = len(stores.tap.calls)
    first, none, *others = stores.records.load_each([(name, 0) for name in names], lane="one")
    assert none is None
    for parts, loaded in zip(some, [first, *others], strict=True):
        assert loaded == stores.records.load(parts.job.id, 0, content=True, lane="one")
    assert len(stores.tap.calls) == before + 1 + 3
    before = len(stores.tap.calls)
    controls = stores.records.controls([x.job for x in some], lane="one")
    assert len(stores.tap.calls) == before + 1
    assert controls == [stores.records.control(x.job.id, x.job.account, test=x.job.test, lane="one") for x in some]


def test_jobs_that_their_first_claim_begins_are_taken_as_they_were_read(stores: Stores, clock: FakeClock) -> None:
    some = [Parts(clock, [1]) for _ in range(2)]
    for parts in some:
        parts.store(stores)
        assert stores.records.change(parts.job, Change.STOP, clock.ms, reason="user").won
    stores.pause(account=ACCOUNT)
    first, second = stores.records.controls([x.job for x in some], as_read=[some[0].job.id])
    assert (first.job, first.paused) == (some[0].job, True)
    assert second.job is not None
    assert (second.job.state, second.paused) == (JobState.STOPPED, True)


@pytest.mark.parametrize("held", [0, 1, 2])
def test_what_holds_one_account_back_is_read_of_its_jobs_alone(stores: Stores, clock: FakeClock, held: int) -> None:
    accounts = ["acc_000000000001", "acc_000000000002", "acc_000000000003"]
    some = [Parts(clock, [1], account=account) for account in accounts]
    for parts in some:
        parts.store(stores)
    stores.pause(account=accounts[held])
    stores.records.suppress(
        accounts[held], "x@example.com", "complaint", clock.ms, job=some[held].job.id, channel="email"
    )
    controls = stores.records.controls([x.job for x in some])
    assert [x.paused for x in controls] == [n == held for n in range(3)]
    assert [bool(x.suppressed_at) for x in controls] == [n == held for n in range(3)]


def test_stats_begin_with_acceptance_and_leave_tests_out(stores: Stores, clock: FakeClock) -> None:
    Parts(clock, [3, 2]).store(stores)
    Parts(clock, [7], test=True).store(stores)
    assert stores.stats(ACCOUNT) == {"queued": 5}


def test_a_repeated_request_gets_the_first_answer_and_stores_nothing(stores: Stores, clock: FakeClock) -> None:
    assert Parts(clock).store(stores, key(clock)) == Stored()
    clock.advance(DAY_MS / 1000 - 1)
    again = Parts(clock)
    assert again.store(stores, key(clock, answer="second")) == Replay("first")
    assert stores.records.job(again.job.id) is None
    assert stores.stats(ACCOUNT) == {"queued": 3}


def test_a_key_with_another_body_is_a_mismatch(stores: Stores, clock: FakeClock) -> None:
    Parts(clock).store(stores, key(clock))
    other = Parts(clock)
    assert other.store(stores, key(clock, fingerprint="other")) == Mismatch()
    assert stores.records.job(other.job.id) is None
    assert Parts(clock).store(stores, replace(key(clock), account="acc_000000000002")) == Stored()
    assert Parts(clock).store(stores, key(clock, name="k2")) == Stored()


def test_a_key_is_free_again_when_it_has_expired(stores: Stores, clock: FakeClock) -> None:
    Parts(clock).store(stores, key(clock))
    clock.advance(DAY_MS / 1000 + 1)
    assert Parts(clock).store(stores, key(clock, fingerprint="other", answer="second")) == Stored()
    assert Parts(clock).store(stores, key(clock, fingerprint="other")) == Replay("second")


@pytest.mark.parametrize(("fingerprint", "expected"), [("body", Replay("first")), ("other", Mismatch())])
def test_one_that_was_cut_off_finds_the_one_stored_meanwhile(
    stores: Stores, clock: FakeClock, fingerprint: str, expected: Replay | Mismatch
) -> None:
    first, second = Parts(clock), Parts(clock)
    stores.tap.arm(1, error=Interrupted)
    with pytest.raises(Interrupted):
        second.store(stores, key(clock, fingerprint, answer="second"))
    assert first.store(stores, key(clock)) == Stored()
    committing = len(stores.tap.calls)
    assert second.store(stores, key(clock, fingerprint, answer="second")) == expected
    assert len(stores.tap.calls) == committing + 1
    assert stores.records.job(second.job.id) is None


class Interrupted(Exception):
    pass


@pytest.mark.promise(7)
def test_a_key_that_is_stored_between_look_up_and_commit_is_found(stores: Stores, clock: FakeClock) -> None:
    first, second = Parts(clock), Parts(clock)
    before = len(stores.tap.calls)
    stored: list[object] = []

    def overtake() -> None:
        if len(stores.tap.calls) > before:  # the second has looked for the key
            stores.tap.delay = lambda: None
            stored.append(first.store(stores, key(clock)))

    stores.tap.delay = overtake
    assert second.store(stores, key(clock, answer="second")) == Replay("first")
    assert stored == [Stored()]
    assert stores.records.job(first.job.id) is not None
    assert stores.records.job(second.job.id) is None


@pytest.mark.parametrize("with_key", [False, True])
def test_an_acceptance_whose_answer_was_lost_is_known_again(stores: Stores, clock: FakeClock, with_key: bool) -> None:  # noqa: FBT001
    parts = Parts(clock)
    stores.tap.arm(2 if with_key else 1, When.REPEATED)
    assert parts.store(stores, key(clock) if with_key else None) == Stored()
    assert stores.tap.fired == 1
    assert job(stores, parts) == parts.job
    assert stores.stats(ACCOUNT) == {"queued": 3}


# Controls


def test_a_worker_sees_the_job_and_every_pause(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock)
    parts.store(stores)

    def control() -> Control:
        return stores.records.control(parts.job.id, ACCOUNT)

    assert control() == Control(parts.job, paused=False, heard=False)
    for account in (ACCOUNT, ""):
        stores.pause(account)
        assert control() == Control(parts.job, paused=True, heard=False)
        stores.unpause(account)
    stores.pause("acc_000000000002")
    assert control() == Control(parts.job, paused=False, heard=False)
    assert stores.records.control("0" * 26, ACCOUNT) == Control(None, paused=False, heard=False)


# Transitions


@pytest.mark.parametrize("change", Change)
def test_a_transition_is_made_from_its_states_alone(stores: Stores, clock: FakeClock, change: Change) -> None:
    sources, target = TRANSITIONS[change]
    for state in JobState:
        parts = Parts(clock, state=state)
        parts.store(stores)
        changed = stores.records.change(parts.job, change, clock.ms + 5, reason="user")
        assert changed.won == (state in sources)
        assert changed.job == job(stores, parts)
        expected = replace(parts.job, state=target, version=2) if changed.won else parts.job
        if changed.won and change is Change.PLAN:
            expected = replace(expected, planned_at=clock.ms + 5)
        elif changed.won and change is Change.STOP:
            expected = replace(expected, stopped=True, stopped_at=clock.ms + 5, stop_reason="user")
        elif changed.won and change is Change.LOG:
            expected = replace(expected, finished_at=clock.ms + 5)
        elif changed.won and change is Change.GIVE_WAY:
            expected = replace(expected, rests_until=clock.ms + 5)
        elif changed.won and change is Change.CLOSE:
            expected = replace(expected, rests_until=clock.ms + 5, not_before=clock.ms + 5)
        assert changed.job == expected


def test_a_job_with_hours_waits_for_them_when_it_is_resumed_outside_and_then_has_no_time_of_its_own(
    stores: Stores, clock: FakeClock
) -> None:
    now = datetime.fromtimestamp(clock.now(), UTC)
    hours = OpenHours(window_of(f"{now + timedelta(hours=2):%H:%M}", f"{now + timedelta(hours=3):%H:%M}"), "UTC")
    opens = hours.first(clock.ms)
    for state, change in ((JobState.LOGGED, Change.RESUME), (JobState.SENDING, Change.CLOSE)):
        parts = Parts(clock, state=state, hours=hours)
        parts.store(stores)
        found = stores.records.change(parts.job, change, clock.ms if change is Change.RESUME else opens).job
        assert found is not None
        assert (found.state, found.closed, found.due_at, found.hours) == (JobState.READY, True, opens, hours)
        assert not stores.records.change(found, Change.PLAN, opens - 1).won
        planned = stores.records.change(found, Change.PLAN, opens).job
        assert planned is not None
        assert (planned.closed, planned.not_before, planned.rests_until) == (False, 0, 0)
        shard = [x for x in stores.records.open_jobs([codec.open_slot(planned, running=True)]) if x.job == planned.id]
        assert [x.not_before for x in shard] == [0]


@pytest.mark.parametrize("change", Change)
def test_a_strict_transition_needs_the_version_that_was_read(stores: Stores, clock: FakeClock, change: Change) -> None:
    stores.pause(ACCOUNT)  # without which no job gives way
    state = min(TRANSITIONS[change][0])
    parts = Parts(clock, state=state, version=7)
    parts.store(stores)
    stale = stores.records.change(replace(parts.job, version=6), change, clock.ms, strict=True)
    assert (stale.won, stale.job) == (False, parts.job)
    assert stores.records.change(parts.job, change, clock.ms, strict=True).won


def test_a_transition_whose_answer_was_lost_is_made_once(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock)
    parts.store(stores)
    stores.tap.arm(0, When.REPEATED)
    changed = stores.records.change(parts.job, Change.START, clock.ms)
    assert changed.job is not None
    assert (changed.won, changed.job.state, changed.job.version) == (False, JobState.SENDING, 2)
    assert stores.tap.fired == 1


def test_nothing_becomes_of_a_job_that_has_gone(stores: Stores, clock: FakeClock) -> None:
    changed = stores.records.change(Parts(clock).job, Change.STOP, clock.ms)
    assert (changed.won, changed.job) == (False, None)


def test_a_scheduled_job_is_planned_when_it_is_due(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock, state=JobState.READY, not_before=clock.ms + 1000, planned_at=0)
    parts.store(stores)
    assert not stores.records.change(parts.job, Change.PLAN, clock.ms + 999).won
    assert stores.records.change(parts.job, Change.PLAN, clock.ms + 1000).won


def test_planning_ends_a_stop_and_its_reason_stays(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock)
    parts.store(stores)
    now = parts.job
    for change in (Change.STOP, Change.LOG, Change.RESUME, Change.PLAN):
        changed = stores.records.change(now, change, clock.ms + 1, reason="user")
        assert changed.won
        assert changed.job is not None
        now = changed.job
        assert now.stopped == (change is not Change.PLAN)
    assert (now.stop_reason, now.stopped_at, now.created_at) == ("user", clock.ms + 1, clock.ms)


# The index of open jobs


def test_an_open_job_is_in_the_index_until_it_is_logged(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock, state=JobState.READY, planned_at=0)
    parts.store(stores)
    slots = [indices.open_slot(None, parts.job.shard, running=running) for running in (False, True)]

    def entries() -> list[OpenJob]:
        return list(stores.records.open_jobs(slots))

    ready = OpenJob(parts.job.id, running=False, not_before=0, created_at=clock.ms)
    seen = []
    now = parts.job
    assert entries() == [ready]
    for change in (Change.PLAN, Change.START, Change.STOP, Change.LOG, Change.RESUME, Change.PLAN, Change.FINISH):
        found = stores.records.change(now, change, clock.ms).job
        assert found is not None
        now = found
        seen.append((change, entries()))
    running = [replace(ready, running=True)]
    assert seen == [
        (Change.PLAN, running),
        (Change.START, running),
        (Change.STOP, running),
        (Change.LOG, []),
        (Change.RESUME, [ready]),
        (Change.PLAN, running),
        (Change.FINISH, running),
    ]


def test_open_jobs_come_oldest_first_and_campaigns_under_their_credential(stores: Stores, clock: FakeClock) -> None:
    made = []
    for minute in (3, 1, 2):
        parts = Parts(clock, campaign="spring", state=JobState.READY, not_before=clock.ms + 5, planned_at=0)
        parts.job = replace(parts.job, created_at=clock.ms + minute * 60_000)
        parts.store(stores)
        made.append((parts.job.created_at, parts.job.id))
    found = list(stores.records.open_jobs([indices.open_slot("one", 0, running=False)]))
    assert [(x.created_at, x.job) for x in found] == sorted(made)
    assert {(x.campaign, x.credential, x.not_before) for x in found} == {("spring", "one", clock.ms + 5)}
    assert list(stores.records.open_jobs([indices.open_slot("two", 0, running=False)])) == []


def test_open_jobs_of_some_slots_are_read_at_once(stores: Stores, clock: FakeClock) -> None:
    for campaign in ("spring", ""):
        parts = Parts(clock, campaign=campaign, state=JobState.READY, planned_at=0)
        parts.store(stores)
    slots = [indices.open_slot("one", 0, running=False), indices.open_slot(None, parts.job.shard, running=False)]
    for some in (slots, slots[:1], slots[1:], []):
        assert stores.records.open_at_once(some) == list(stores.records.open_jobs(some))


# Details


def test_details_come_back_whole_and_in_order(stores: Stores, clock: FakeClock) -> None:
    entries = (Entry(0, 1, Kind.ACCEPTED, "id-ü"), Entry(7, 15, Kind.REFUSED, "", "550"))
    windows = [
        Detail("0" * 26, 3, epoch, seq, clock.ms, "one", entries, 99) for epoch, seq in ((10, 1), (2, 11), (2, 2))
    ]
    for w in windows:
        stores.records.put_detail(w)
    words = (FeedbackEntry(0, 1, "bounced", 5, "id", "550", "no such user", secondary=True),)
    feedback = FeedbackDetail("0" * 26, 3, "two", words, 99)
    stores.records.put_feedback(feedback)
    stores.records.put_feedback(feedback)
    assert stores.records.details("0" * 26, 3) == (sorted(windows, key=lambda w: (w.epoch, w.seq)), [feedback])
    assert stores.records.details("0" * 26, 4) == ([], [])
    assert stores.records.detail("0" * 26, 3, 2, 11) == windows[1]
    assert stores.records.detail("0" * 26, 3, 2, 12) is None


def test_the_claimants_result_is_final(stores: Stores, clock: FakeClock) -> None:
    own = Detail("0" * 26, 0, 1, 1, clock.ms, "one", (Entry(0, 1, Kind.ACCEPTED, "id"),), 99)
    guess = replace(own, at=own.at - 7, entries=(Entry(0, 1, Kind.UNKNOWN),))
    assert stores.records.complete_detail(None, guess)
    assert stores.records.detail("0" * 26, 0, 1, 1) == guess
    stores.records.put_detail(own)
    assert not stores.records.complete_detail(None, guess)
    assert not stores.records.complete_detail(guess, replace(guess, at=own.at + 7))
    assert stores.records.detail("0" * 26, 0, 1, 1) == own


def test_what_the_claimant_does_not_say_is_added_to_what_it_says(stores: Stores, clock: FakeClock) -> None:
    own = Detail("0" * 26, 0, 1, 1, clock.ms, "one", (Entry(0, 1, Kind.ACCEPTED, "id"),), 99)
    whole = replace(own, at=own.at + 7, entries=(*own.entries, Entry(1, 1, Kind.UNKNOWN)))
    stores.records.put_detail(own)
    assert stores.records.complete_detail(own, whole)
    assert stores.records.detail("0" * 26, 0, 1, 1) == whole


# Suppressions


def test_the_first_reason_of_a_suppression_stays(stores: Stores, clock: FakeClock) -> None:
    stores.records.suppress(ACCOUNT, "a@example.com", "bounced", clock.ms)
    stores.records.suppress(ACCOUNT, "a@example.com", "complained", clock.ms + 1)
    stores.records.suppress(ACCOUNT, "b@example.com", "complained", clock.ms + 2)
    assert stores.suppressed(ACCOUNT) == {
        "a@example.com": ("bounced", clock.ms),
        "b@example.com": ("complained", clock.ms + 2),
    }


# Faults of the store


def test_a_store_that_cannot_be_reached_says_retriable_and_nothing_has_happened(
    stores: Stores, clock: FakeClock
) -> None:
    parts = Parts(clock)
    parts.store(stores)
    stores.tap.arm(0, error=Retriable)
    with pytest.raises(Retriable):
        stores.records.change(parts.job, Change.STOP, clock.ms)
    assert job(stores, parts) == parts.job
    assert parts.ledgers[0].status is LedgerStatus.IDLE


def test_open_jobs_are_walked_on_from_behind_an_entry(stores: Stores, clock: FakeClock) -> None:
    made = []
    for _ in range(3):
        parts = Parts(clock, campaign="spring", route=("one",), providers=("sendgrid",), by={"one": (0,) * 4})
        parts.store(stores)
        made.append(parts.job.id)
        clock.advance(1)
    slot = indices.open_slot("one", 0, running=True)
    first, *others = stores.records.open_jobs([slot])
    assert [first.job, *(x.job for x in others)] == made
    assert list(stores.records.open_jobs([slot], after=first.key)) == others
    assert list(stores.records.open_jobs([slot], after=others[-1].key)) == []


def test_what_the_sweeper_notes_on_a_job_changes_nothing_else(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock)
    parts.store(stores)
    stores.records.note_pointed(parts.job.id, 7)
    stores.records.note_pointed("gone", 7)
    after = replace(parts.job, pointed_at=7, version=parts.job.version + 1)
    assert (job(stores, parts), stores.records.job("gone")) == (after, None)


def test_bookmarks_are_kept_by_walk(stores: Stores) -> None:
    assert stores.bookmarks.load() == {}
    stores.bookmarks.save({"jobs": "a", "doubts": "b"})
    stores.bookmarks.save({"jobs": "c"})
    assert stores.bookmarks.load() == {"jobs": "c", "doubts": "b"}


def test_a_job_is_kept_longer_with_all_its_parts(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock, [2, 1])
    parts.store(stores)
    until = parts.job.ttl + 1000
    for number in (0, 1, 2):
        stores.records.keep_chunk(parts.job.id, number, until)
    stores.records.keep_job(parts.job, until)
    stores.records.keep_job(replace(parts.job, id="gone"), until)
    after = job(stores, parts)
    assert after == replace(parts.job, ttl=until, version=after.version)
    assert [x.ttl for x in stores.ledgers.read_all(parts.job.id)] == [until, until]
    assert [c.ttl for c in (stores.records.chunk(parts.job.id, i) for i in (0, 1)) if c] == [until, until]
    assert stores.records.content(parts.job.id) == CONTENT


def test_a_worker_reads_the_quiet_hours_of_the_jobs_account(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock, urgent=True)
    parts.store(stores)
    assert stores.records.control(parts.job.id, ACCOUNT).quiet == {}
    stores.quiet(ACCOUNT, "sms", "21:00-08:00 Europe/Paris")
    stores.quiet(ACCOUNT, "voice", "20:00-09:00 UTC")
    wanted = {"sms": "21:00-08:00 Europe/Paris", "voice": "20:00-09:00 UTC"}
    assert [x.quiet for x in stores.records.controls([parts.job])] == [wanted]
    assert stores.records.control(parts.job.id, "acc_000000000002").quiet == {}
    assert job(stores, parts).urgent
