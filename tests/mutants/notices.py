"""Sabotages of the intake of notices: what is lost, doubled or sent at night if a rule is left out."""

from typing import Final

from tests.mutants.mutant import Mutant

ACTIONS: Final = "shared/domain/notices/actions.py"
STORE: Final = "shared/adapters/dynamo/notices/inboxes.py"
TAKE: Final = "shared/engine/notices/take.py"
AGREE: Final = "tests/domain/notices/test_agreement.py"

NOTICES: Final = (
    Mutant(
        "an action is carried out while its notice is being sent",
        4,
        ACTIONS,
        "if notice.phase is not Phase.ACTIVE:",
        "if notice.phase is not Phase.ENDED or notice:",
        f"{AGREE}::test_actions_agree_with_the_model",
    ),
    Mutant(
        "an update back to the stored data ignores a kept action",
        4,
        ACTIONS,
        "        _drop(draft)\n",
        "        return\n",
        f"{AGREE}::test_actions_agree_with_the_model",
    ),
    Mutant(
        "a delivery of old data counts for the new",
        3,
        "shared/domain/notices/words.py",
        "run.gen != notice.gen or ",
        "",
        f"{AGREE}::test_words_agree_with_the_model",
    ),
    Mutant(
        "a cancelled doubt is closed while a lost worker may still send it",
        1,
        "shared/domain/jobs/runs.py",
        " and e.code != LOST for w",
        " for w",
        "tests/engine/notices/test_doubts.py::test_a_cancellation_waits_while_a_worker_that_was_lost_may_still_send",
    ),
    Mutant(
        "a cancellation says nothing of a message that may have reached its person",
        4,
        "shared/domain/notices/words.py",
        "in_doubt=cell is Cell.UNKNOWN_CLOSED",
        "in_doubt=cell is Cell.SENT_CLOSED",
        "tests/engine/notices/test_doubts.py::test_an_unknown_notice_is_cancelled_within_ten_minutes",
    ),
    Mutant(
        "a doubt is a word for its notice only when it is closed",
        4,
        "shared/domain/jobs/runs.py",
        "_WORDS: Final = _LAST | {int(Cell.UNKNOWN)}",
        "_WORDS: Final = _LAST",
        "tests/engine/notices/test_doubts.py::test_a_notifier_hears_of_an_unknown_notice_within_ten_minutes",
    ),
    Mutant(
        "a cancelled doubt is dropped, so that it looks as if it never went out",
        1,
        "shared/engine/notices/words.py",
        "[(run.index, attempt)], Cell.UNKNOWN_CLOSED)",
        "[(run.index, attempt)], Cell.DROPPED)",
        "tests/engine/notices/test_doubts.py::test_an_unknown_notice_is_cancelled_within_ten_minutes",
    ),
    Mutant(
        "hours that summer time skips are hours before",
        6,
        "shared/domain/hours/zones.py",
        "return (change_of_offset(zone, late * SECOND_MS, early * SECOND_MS),)",
        "return (late * SECOND_MS,)",
        "tests/domain/notices/test_times.py::test_summer_time_moves_what_does_not_exist_forward_and_takes_the_first_of_two",
    ),
    Mutant(
        "a late taker writes its checkpoint",
        1,
        STORE,
        '"#payload = :payload AND #record = :record AND #last = :last"',
        '"attribute_exists(pk) OR (#payload = :payload AND #record = :record AND #last = :last)"',
        "tests/contracts/test_notices.py::test_a_step_writes_notices_entries_and_the_checkpoint_or_nothing[dynamo]",
    ),
    Mutant(
        "large payloads that meet at a number replace each other",
        3,
        STORE,
        'name = f"{INBOX_PREFIX}{notifier}/{mark}"',
        'name = f"{INBOX_PREFIX}{notifier}/1"',
        "tests/contracts/test_notices.py::test_a_large_payload_is_kept_in_the_bucket[dynamo]",
    ),
    Mutant(
        "an id twice in a payload is taken in one transaction",
        3,
        TAKE,
        "            if owner.uuid in owners:\n                break\n",
        "",
        "tests/engine/test_notice_intake.py::test_the_same_id_twice_in_a_payload_is_taken_in_order",
    ),
    Mutant(
        "a record that raises holds up its inbox",
        6,
        TAKE,
        "        return rejected(stored, _fault(record), owner, now)\n",
        "        raise\n",
        "tests/engine/test_notice_intake.py::test_a_record_that_raises_is_rejected_and_holds_up_no_other",
    ),
    Mutant(
        "a notice that has changed since its entry was collected goes sooner",
        3,
        "shared/domain/notices/purge.py",
        " or notice.version != collected.version",
        "",
        "tests/engine/notices/test_purge.py::test_a_notice_that_has_changed_since_its_entry_stays",
    ),
    Mutant(
        "a walk shortens the life of a notice that an update has brought back",
        3,
        "shared/adapters/dynamo/notices/notices.py",
        '"version = :version AND #ttl > :until"',
        '"attribute_exists(version) OR version = :version AND #ttl > :until"',
        "tests/contracts/test_notices.py::test_an_ended_notice_is_kept_for_less_time_if_it_is_as_read[dynamo]",
    ),
    Mutant(
        "notices that nobody collected go unrecorded",
        3,
        "shared/engine/notices/purge.py",
        "unread += notice is None or notice",
        "unread += notice is None and notice",
        "tests/engine/notices/test_purge.py::test_what_nobody_collected_is_recorded_when_it_goes",
    ),
    Mutant(
        "a notice whose preferred hours are over waits for its expiry",
        6,
        "shared/domain/notices/times.py",
        "for x in (window, hours.window))",
        "for x in (window, window))",
        "tests/domain/notices/test_notices.py"
        "::test_a_notice_whose_hours_do_not_come_again_before_its_expiry_is_due_in_reasonable_hours",
    ),
    Mutant(
        "a correction takes the remaining attempts of the day away",
        6,
        ACTIONS,
        "find = resumed if tried else first_attempt",
        "find = first_attempt if tried else resumed",
        "tests/domain/notices/test_notices.py::test_an_update_leaves_what_is_left_of_the_day[2]",
    ),
    Mutant(
        "a notice that may go now waits for the next minute",
        6,
        "shared/engine/notices/take.py",
        "notice.due is not None and notice.due <= now:",
        "notice.due is not None and notice.due < 0:",
        "tests/engine/test_notice_intake.py::test_what_is_due_is_begun_once_the_inbox_is_empty",
    ),
    Mutant(
        "a rejection of a record without an action looks like the end of its notice",
        3,
        "shared/domain/notices/updates.py",
        "{} if entry.action is None else",
        "{} if not entry.action else",
        "tests/domain/test_updates.py::test_a_line_has_the_zone_s_time_and_an_action_only_if_it_was_rejected",
    ),
)
