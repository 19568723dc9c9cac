"""What the model leaves out of actions and words: times, stamps, entries, runs that are remembered."""

import json
from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest

from shared.domain.jobs.labels import Labels
from shared.domain.jobs.states import Cell
from shared.domain.notices import updates, words
from shared.domain.notices.actions import erased, rejected, take
from shared.domain.notices.codes import NO_RECEIPT, Failure, Rejection
from shared.domain.notices.notice import (
    MAX_RUNS,
    DeliveryMethod,
    Kept,
    Notice,
    NoticeChange,
    NoticeRun,
    NoticeStatus,
    Phase,
    Verb,
)
from shared.domain.notices.records import NoticeAction, RejectedRecord
from shared.domain.notices.times import HOUR_MS, MINUTE_MS, DayWindow, Hours, moment
from tests.domain.notices.examples import DATA, HOURS, NOW, OTHER, OWNER, notice

RUN = NoticeRun("job", 3, 1, DeliveryMethod.SMS)
DAY_S = 86_400
NEW = NoticeAction(Verb.NEW, "MESSAGE_NEW", DATA)
UPDATE = NoticeAction(Verb.UPDATE, "MESSAGE_UPDATE", OTHER)
CANCEL = NoticeAction(Verb.CANCEL, "MESSAGE_CANCEL")


def active(**changes: object) -> Notice:
    return notice(**{"phase": Phase.ACTIVE, "run": RUN, "runs": (RUN,), "next_at": 0, **changes})


def worded(n: Notice, cell: Cell, now: int = NOW, hours: Hours = HOURS) -> NoticeChange:
    change = words.word(n, "job", 3, cell, hours, now)
    assert change is not None
    return change


def done(change: NoticeChange | None) -> Notice:
    assert change is not None
    assert change.notice is not None
    return change.notice


def test_a_new_notice_waits_for_its_first_attempt_and_has_no_entry() -> None:
    change = take(None, NEW, OWNER, HOURS, NOW)
    made = done(change)
    assert change == NoticeChange(made)
    assert made == notice(created_at=NOW, next_at=NOW)
    late = done(take(None, NEW, OWNER, HOURS, NOW + 12 * HOUR_MS))
    assert late.next_at == moment("Australia/Sydney", DATA.delivery.replace(day=25), 540)
    assert late.due == late.next_at


def test_a_notice_whose_hours_do_not_come_again_before_its_expiry_is_due_in_reasonable_hours() -> None:
    short = replace(DATA, expires=DATA.delivery.replace(day=25), start=9, end=10)
    made = done(take(None, replace(NEW, data=short), OWNER, HOURS, NOW + HOUR_MS))
    assert made.next_at == NOW + HOUR_MS
    night = moment("Australia/Sydney", DATA.delivery, 22 * 60)
    late = done(take(None, replace(NEW, data=short), OWNER, HOURS, night))
    assert late.next_at == late.expires_at == moment("Australia/Sydney", short.expires), "no hour is left"
    early = replace(short, delivery=DATA.delivery.replace(day=20))
    assert done(take(None, replace(NEW, data=early), OWNER, HOURS, night - 24 * HOUR_MS)).next_at == moment(
        "Australia/Sydney", DATA.delivery, 540
    ), "the preferred hours come again"
    past = replace(DATA, delivery=DATA.delivery.replace(day=1), expires=DATA.delivery.replace(day=8))
    assert done(take(None, replace(NEW, data=past), OWNER, HOURS, NOW)).next_at == NOW


@pytest.mark.parametrize("days", [1, 2])
def test_an_update_leaves_what_is_left_of_the_day(days: int) -> None:
    """Busy at 9:05 in the preferred hours from 9 to 10, corrected at 11:00; the last day, or the one before."""
    sydney, day = "Australia/Sydney", DATA.delivery
    data = replace(DATA, expires=day.replace(day=day.day + days), start=9, end=10)
    busy, corrected = (moment(sydney, day, x) for x in (9 * 60 + 5, 11 * 60))
    waiting = notice(data=data, phase=Phase.ACTIVE, run=RUN, runs=(RUN,), next_at=0, expires_at=data.expires_at(HOURS))
    failed_once = done(worded(waiting, Cell.DROPPED, busy))
    assert failed_once.next_at > corrected
    change = take(failed_once, replace(UPDATE, data=replace(data, first_name="Bob")), OWNER, HOURS, corrected)
    assert done(change).next_at == corrected
    kept = replace(waiting, kept=Kept(Verb.UPDATE, "UPDATE", replace(data, phone=OTHER.phone)))
    assert done(worded(kept, Cell.DROPPED, corrected)).next_at == corrected


def test_an_update_before_the_first_attempt_waits_for_the_preferred_hours() -> None:
    day = DATA.delivery.replace(day=26)
    data = replace(DATA, delivery=day, expires=day.replace(day=27), start=14, end=15)
    change = take(notice(), replace(UPDATE, data=data), OWNER, HOURS, NOW)
    assert done(change).next_at == moment("Australia/Sydney", day, 14 * 60)


def test_a_rejection_repeats_the_action_and_keeps_status_error_and_message() -> None:
    old = notice(status=NoticeStatus.TEMP_FAIL, error="E", message="m", stamp=NOW + 5, version=4)
    change = take(old, RejectedRecord(Rejection.INVALID_TEMPLATE, "NEW"), OWNER, HOURS, NOW)
    assert change is not None
    (entry,) = change.entries
    assert (entry.status, entry.action, entry.error, entry.stamp) == ("TEMP_FAIL", "NEW", "INVALID_TEMPLATE", NOW + 6)
    assert (entry.version, entry.ended) == (5, False)
    assert change.notice == replace(old, stamp=NOW + 6, version=5)


def test_a_rejection_without_a_notice_is_a_permanent_failure_and_stores_none() -> None:
    for change in (
        take(None, CANCEL, OWNER, HOURS, NOW),
        rejected(None, RejectedRecord(Rejection.MESSAGE_NOT_FOUND, "MESSAGE_CANCEL"), OWNER, NOW),
    ):
        assert change is not None
        assert change.notice is None
        (entry,) = change.entries
        assert (entry.status, entry.error, entry.action) == ("PERM_FAIL", "MESSAGE_NOT_FOUND", "MESSAGE_CANCEL")
        assert (entry.version, entry.id, entry.notice) == (0, OWNER.id, OWNER.uuid)


def test_a_notice_past_its_ttl_counts_as_absent_but_its_version_goes_on() -> None:
    old = notice(phase=Phase.ENDED, status=NoticeStatus.SUCCESS, ttl=NOW // 1000, version=7, gen=3, stamp=9)
    made = done(take(old, NEW, OWNER, HOURS, NOW))
    assert (made.version, made.gen, made.stamp, made.status) == (8, 4, 9, NoticeStatus.NEW)
    missing = take(old, CANCEL, OWNER, HOURS, NOW)
    assert missing is not None
    assert missing.notice is None
    assert done(take(replace(old, ttl=old.ttl + 1), UPDATE, OWNER, HOURS, NOW)).status is NoticeStatus.SUCCESS


def test_an_update_of_what_has_failed_waits_again_and_says_so() -> None:
    change = take(notice(phase=Phase.ENDED, status=NoticeStatus.PERM_FAIL, ttl=NOW), UPDATE, OWNER, HOURS, NOW)
    assert change is not None
    assert [x.status for x in change.entries] == ["NEW"]
    made = done(change)
    assert (made.data, made.gen, made.ttl, made.phase) == (OTHER, 2, 0, Phase.WAITING)


def test_a_cancellation_ends_the_notice_for_ninety_days() -> None:
    change = take(notice(), CANCEL, OWNER, HOURS, NOW)
    assert change is not None
    made = done(change)
    assert (made.phase, made.status, made.ttl) == (Phase.ENDED, NoticeStatus.CANCELED, NOW // 1000 + 90 * DAY_S)
    assert [(x.status, x.ended) for x in change.entries] == [("CANCELED", True)]
    assert made.due is None


def test_a_kept_action_is_due_at_once_and_its_repeat_changes_nothing() -> None:
    kept = done(take(active(tries=3), UPDATE, OWNER, HOURS, NOW))
    assert (kept.kept, kept.tries, kept.due) == (Kept(Verb.UPDATE, "MESSAGE_UPDATE", OTHER), 0, NOW)
    tried = replace(kept, tries=2)
    assert take(tried, replace(UPDATE, sent="UPDATE"), OWNER, HOURS, NOW) is None
    other = done(take(tried, CANCEL, OWNER, HOURS, NOW + 1))
    assert (other.kept, other.tries, other.due) == (Kept(Verb.CANCEL, "MESSAGE_CANCEL"), 0, NOW + 1)
    dropped = done(take(tried, replace(UPDATE, data=DATA), OWNER, HOURS, NOW))
    assert (dropped.kept, dropped.tries, dropped.due) == (None, 0, None)


def test_an_action_that_cannot_be_carried_out_is_rejected_at_the_last_try() -> None:
    n = active(kept=Kept(Verb.UPDATE, "UPDATE", OTHER))
    for i in range(4):
        change = words.tried(n, 5, NOW)
        n = done(change)
        assert (n.tries, n.due) == (i + 1, NOW + MINUTE_MS)
        assert change is not None
        assert change.entries == ()
    last = words.tried(n, 5, NOW)
    assert last is not None
    assert [(x.action, x.error, x.status) for x in last.entries] == [("UPDATE", "UPDATE_CONFLICT", "NEW")]
    assert (done(last).kept, done(last).due, done(last).phase) == (None, None, Phase.ACTIVE)
    cancel = words.tried(active(kept=Kept(Verb.CANCEL, "CANCEL")), 1, NOW)
    assert cancel is not None
    assert cancel.entries[0].error == "CANCEL_CONFLICT"
    assert cancel.entries[0].message == "The message is being delivered; the cancellation was not carried out."


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        (Cell.UNKNOWN, "The call to the provider ended without an answer, so the message may have gone out."),
        (Cell.SENT, "The provider has taken the message, and its receipt is awaited."),
        (Cell.CLAIMED, ""),
    ],
)
def test_a_rejection_says_where_the_message_is(cell: Cell, why: str) -> None:
    change = words.tried(active(kept=Kept(Verb.CANCEL, "CANCEL")), 1, NOW, cell)
    assert change is not None
    said = change.entries[0].message
    assert said == f"{why} The cancellation was not carried out." if why else "is being delivered" in said


@pytest.mark.parametrize(
    ("cell", "status", "error", "message"),
    [
        (Cell.DELIVERED, NoticeStatus.SUCCESS, "", ""),
        (Cell.RELAYED, NoticeStatus.SUCCESS, "", NO_RECEIPT),
        (Cell.SENT_CLOSED, NoticeStatus.SUCCESS, "", NO_RECEIPT),
        (Cell.FAILED, NoticeStatus.PERM_FAIL, "PERM_DELIVERY_FAIL", None),
        (Cell.BOUNCED, NoticeStatus.PERM_FAIL, "PERM_DELIVERY_FAIL", None),
        (Cell.SKIPPED, NoticeStatus.PERM_FAIL, "PERM_DELIVERY_FAIL", None),
        (Cell.UNKNOWN_CLOSED, NoticeStatus.PERM_FAIL, "DELIVERY_UNKNOWN", None),
        (Cell.DROPPED, NoticeStatus.TEMP_FAIL, "TEMP_DELIVERY_FAIL", None),
    ],
)
def test_words_have_their_status_and_error(cell: Cell, status: NoticeStatus, error: str, message: str | None) -> None:
    change = worded(active(), cell)
    (entry,) = change.entries
    assert (entry.status, entry.error, entry.action) == (status.value, error, None)
    assert entry.message == message if message is not None else entry.message
    assert entry.ended is (cell is not Cell.DROPPED)
    n = done(change)
    assert (n.status, n.error, n.message, n.stamp) == (status, error, entry.message, entry.stamp)


def test_a_temporary_failure_waits_for_a_day_and_less_as_the_expiry_nears() -> None:
    n = done(worded(active(), Cell.DROPPED))
    assert n.next_at == NOW + 24 * HOUR_MS
    near = done(worded(active(expires_at=NOW + 4 * HOUR_MS), Cell.DROPPED))
    assert near.next_at == NOW + HOUR_MS
    over = done(worded(active(expires_at=NOW + MINUTE_MS), Cell.DROPPED))
    assert (over.next_at, over.status) == (NOW + MINUTE_MS, NoticeStatus.TEMP_FAIL)


def test_a_message_whose_hours_are_over_waits_for_the_next_without_a_failure() -> None:
    evening = NOW + 11 * HOUR_MS
    change = worded(active(status=NoticeStatus.TEMP_FAIL), Cell.EXPIRED, evening)
    n = done(change)
    assert (n.status, n.phase, change.entries) == (NoticeStatus.TEMP_FAIL, Phase.WAITING, ())
    assert n.next_at == NOW + 23 * HOUR_MS
    ended = worded(active(expires_at=evening), Cell.EXPIRED, evening)
    assert [x.error for x in ended.entries] == ["MESSAGE_EXPIRED"]


def test_a_withdrawn_message_without_its_action_is_due_now() -> None:
    n = done(worded(active(), Cell.WITHDRAWN))
    assert (n.phase, n.status, n.next_at) == (Phase.WAITING, NoticeStatus.NEW, NOW)


def test_success_rejects_what_was_kept_after_its_own_entry() -> None:
    change = worded(active(kept=Kept(Verb.CANCEL, "CANCEL"), stamp=NOW + 1), Cell.DELIVERED)
    assert [(x.status, x.action, x.error) for x in change.entries] == [
        ("SUCCESS", None, ""),
        ("SUCCESS", "CANCEL", "ALREADY_DELIVERED"),
    ]
    assert [x.stamp for x in change.entries] == [NOW + 2, NOW + 3]
    assert done(change).stamp == NOW + 3
    assert done(change).message == ""


def test_a_late_delivery_withdraws_the_present_run() -> None:
    first, second = replace(RUN, job="first"), replace(RUN, job="second")
    n = active(run=second, runs=(first, second))
    change = words.word(n, "first", 3, Cell.DELIVERED, HOURS, NOW)
    assert change is not None
    assert change.withdraw == second
    assert done(change).status is NoticeStatus.SUCCESS
    assert words.word(n, "unknown", 3, Cell.DELIVERED, HOURS, NOW) is None


def test_the_other_channel_is_named_in_the_message() -> None:
    call = replace(RUN, method=DeliveryMethod.IVR)
    assert worded(active(run=call), Cell.DELIVERED).entries[0].message == "sent as a call"
    assert worded(active(run=call), Cell.RELAYED).entries[0].message == f"sent as a call, {NO_RECEIPT}"
    assert worded(active(run=call), Cell.DROPPED).entries[0].message == "sent as a call"


def test_a_notice_remembers_its_latest_runs() -> None:
    n = notice()
    for i in range(MAX_RUNS + 5):
        n = replace(done(words.begun(n, f"job{i}", i, DeliveryMethod.SMS)), phase=Phase.WAITING)
    assert [x.job for x in n.runs] == [f"job{i}" for i in range(5, MAX_RUNS + 5)]
    assert n.run == n.runs[-1]
    assert done(words.begun(n, "next", 0, DeliveryMethod.IVR)).due is None


def test_a_notice_that_expires_says_so() -> None:
    change = words.expired(notice(), NOW)
    assert [(x.status, x.error, x.ended) for x in change.entries] == [("PERM_FAIL", "MESSAGE_EXPIRED", True)]
    assert words.failed(notice(), Failure.TEMPLATE, NOW).entries[0].error == "INVALID_TEMPLATE"


def test_what_is_due_at_night_waits_for_the_morning() -> None:
    assert words.postponed(notice(), HOURS, NOW) is None
    night = NOW + 12 * HOUR_MS
    assert done(words.postponed(notice(), HOURS, night)).next_at == NOW + 23 * HOUR_MS
    assert done(words.postponed(notice(expires_at=night + 5), HOURS, night)).next_at == night + 5


def test_what_is_late_waits_for_its_preferred_hours() -> None:
    later = notice(data=replace(DATA, start=14, end=16))
    night = NOW + 12 * HOUR_MS
    assert words.postponed(later, HOURS, NOW) is None
    assert done(words.postponed(later, HOURS, night)).next_at == NOW + 28 * HOUR_MS
    expires = night + 13 * HOUR_MS
    assert done(words.postponed(replace(later, expires_at=expires), HOURS, night)).next_at == NOW + 23 * HOUR_MS


def test_a_notice_is_not_sent_before_its_date_in_the_notifiers_present_zone() -> None:
    moved = replace(HOURS, timezone="Pacific/Honolulu")  # where it is still the day before, 13:00
    at = done(words.postponed(notice(), moved, NOW)).next_at
    assert at == moment("Pacific/Honolulu", DATA.delivery, 540)


def test_stamps_are_later_than_what_readers_have_closed() -> None:
    change = worded(active(kept=Kept(Verb.CANCEL, "CANCEL")), Cell.DELIVERED)
    later = change.after(NOW + 100)
    assert [x.stamp for x in later.entries] == [NOW + 101, NOW + 102]
    assert done(later).stamp == NOW + 102
    assert change.after(NOW - 1) is change
    silent = NoticeChange(notice())
    assert silent.after(NOW + 100) is silent


def test_preferred_hours_follow_the_notifiers_present_settings() -> None:
    assert replace(DATA, start=9, end=11).preferred(Hours("UTC", 10, 20)) == DayWindow(600, 660)


VISIT = Labels("visit-4711", ("reminders",))


@pytest.mark.parametrize("status", list(NoticeStatus))
def test_another_name_alone_sends_nothing_again(status: NoticeStatus) -> None:
    before = notice(status=status, phase=Phase.ENDED, ttl=NOW, next_at=0, labels=VISIT)
    named = replace(NEW, verb=Verb.UPDATE, labels=Labels("visit-4712"))
    change = take(before, named, OWNER, HOURS, NOW - 1)
    after = done(change)
    assert after.labels == Labels("visit-4712")
    if status is not NoticeStatus.CANCELED:
        assert change is not None
        assert (replace(after, labels=VISIT, version=before.version), change.entries) == (before, ())


def test_an_update_replaces_the_names_and_a_cancellation_keeps_them() -> None:
    before = notice(labels=VISIT)
    assert done(take(before, UPDATE, OWNER, HOURS, NOW)).labels == Labels()
    assert done(take(before, CANCEL, OWNER, HOURS, NOW)).labels == VISIT
    waits = done(take(active(labels=VISIT), replace(UPDATE, labels=Labels("x")), OWNER, HOURS, NOW))
    assert (waits.labels, waits.kept is not None) == (Labels("x"), True)


def test_a_new_notice_by_another_name_is_another_one() -> None:
    made = done(take(None, replace(NEW, labels=VISIT), OWNER, HOURS, NOW))
    assert made.labels == VISIT
    assert take(made, replace(NEW, labels=VISIT), OWNER, HOURS, NOW) is None, "a repeat"
    again = take(made, NEW, OWNER, HOURS, NOW)
    assert again is not None
    assert [x.error for x in again.entries] == [Rejection.ALREADY_EXISTS]


def test_entries_have_the_names_of_their_notice() -> None:
    change = worded(active(labels=VISIT), Cell.DELIVERED)
    assert [x.labels for x in change.entries] == [VISIT]
    line = json.loads(updates.line(change.entries[0], ZoneInfo("UTC")))
    assert (line["reference"], line["tags"]) == ("visit-4711", ["reminders"])
    bare = json.loads(updates.line(replace(change.entries[0], labels=Labels()), ZoneInfo("UTC")))
    assert set(line) - set(bare) == {"reference", "tags"}


def test_an_erased_person_s_notice_has_no_name() -> None:
    assert done(erased(notice(labels=VISIT), NOW)).labels == Labels()
