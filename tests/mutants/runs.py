"""Sabotages of the rules of runs: what is withdrawn, expired or closed is never sent (N)."""

from typing import Final

from tests.mutants.mutant import Mutant

_RULES: Final = "shared/domain/jobs/runs.py"

RUNS: Final = (
    Mutant(
        "a recipient is called for after its time",
        1,
        "shared/engine/lane/lease.py",
        "if 0 < not_after < end]",
        "if 0 < not_after < 0]",
        "tests/engine/test_runs.py::test_who_has_expired_is_not_called_for",
    ),
    Mutant(
        "a claimed recipient is withdrawn",
        1,
        _RULES,
        "if cells[i] & 15 in (Cell.QUEUED, Cell.RETRY):",
        "if cells[i] & 15 in (Cell.QUEUED, Cell.RETRY, Cell.CLAIMED):",
        "tests/domain/test_runs.py::test_only_what_waits_is_taken_out[2-13]",
    ),
    Mutant(
        "a late refusal reopens a closed recipient",
        1,
        "shared/domain/jobs/states.py",
        "Cell.UNKNOWN_CLOSED: 5,",
        "Cell.UNKNOWN_CLOSED: 1,",
        "tests/domain/test_runs.py::test_nothing_but_a_delivery_or_a_bounce_changes_a_closed_cell[dropped-12]",
    ),
    Mutant(
        "an owner stops a run",
        4,
        "shared/engine/jobs/stop.py",
        "if job is None or job.owned:",
        "if job is None:",
        "tests/engine/test_runs.py::test_nobody_stops_resumes_or_retries_a_run",
    ),
    Mutant(
        "a run takes notices that have changed",
        1,
        "shared/engine/notices/due.py",
        "left = [x for x in left if x.notice.uuid not in changed]",
        "left = []",
        "tests/engine/notices/test_due.py::test_a_notice_that_changes_meanwhile_is_left_out_of_the_job",
    ),
    Mutant(
        "a number that is suppressed gets a run",
        7,
        "shared/engine/notices/due.py",
        "numbers = {x.recipient.key for x in planned}",
        "numbers: set[str] = set()",
        "tests/engine/notices/test_due.py::test_a_suppressed_number_ends_the_notice_without_a_call",
    ),
    Mutant(
        "a notice is sent outside of its hours",
        1,
        "shared/engine/notices/due.py",
        "not_after=run_end(notifier.hours, now, notice.expires_at),",
        "not_after=0,",
        "tests/engine/notices/test_due.py::test_a_run_ends_with_its_hours",
    ),
    Mutant(
        "a run has more text than its only chunk holds",
        3,
        "shared/engine/notices/due.py",
        "for part in chunking.split([x.recipient for x in planned], size):",
        "for part in (planned[i : i + size] for i in range(0, len(planned), size)):",
        "tests/engine/notices/test_due.py::test_a_run_takes_no_more_text_than_its_only_chunk_holds",
    ),
    Mutant(
        "a run that was reopened is not looked at again",
        3,
        "shared/engine/notices/look.py",
        "None if cells.settled(current) else self._next(job, now)",
        "self._next(job, now) if current.having(Cell.SENT, Cell.UNKNOWN) else None",
        "tests/engine/notices/test_words.py::test_a_run_that_was_reopened_meanwhile_is_looked_at_again",
    ),
    Mutant(
        "a run's items expire before its notices end",
        3,
        "shared/engine/notices/look.py",
        " or job.ttl * 1000 - now < LAST_MS",
        "",
        "tests/engine/notices/test_words.py::test_a_run_is_closed_before_its_items_expire",
    ),
    Mutant(
        "a message is closed while its worker may send it",
        1,
        "shared/engine/notices/look.py",
        "if not waiting or age < SAFE_MS:",
        "if not waiting:",
        "tests/engine/notices/test_words.py::test_nothing_is_closed_within_an_hour_of_its_run",
    ),
    Mutant(
        "a late delivery leaves the next run on its way",
        1,
        "shared/engine/notices/words.py",
        "if change.withdraw is not None:",
        "if change.withdraw is not None and not change.entries:",
        "tests/engine/notices/test_words.py::test_a_late_delivery_of_the_same_data_counts_and_withdraws_the_next_run",
    ),
    Mutant(
        "a word that was not written counts as told",
        5,
        "shared/engine/notices/words.py",
        'raise Retriable("others write the notice all the time")',
        "return",
        "tests/engine/notices/test_words.py::test_others_that_write_all_the_time_are_waited_for",
    ),
    Mutant(
        "words that were not written together count as told",
        5,
        "shared/engine/notices/words.py",
        "return [index for index, _, _ in batch] if done else ()",
        "return [index for index, _, _ in batch]",
        "tests/engine/notices/test_words.py::test_a_notice_that_has_moved_on_keeps_no_other_from_its_word",
    ),
)
