"""Sabotages of other times for jobs that wait."""

from typing import Final

from tests.mutants.mutant import Mutant

MOVE: Final = "shared/engine/jobs/rescheduling.py"
WRITES: Final = "shared/adapters/dynamo/jobs/transitions.py"
TESTS: Final = "tests/engine/test_rescheduling.py"

SCHEDULES: Final = (
    Mutant(
        "a job that was put off is planned by who read its old time",
        1,
        WRITES,
        'for begin in ("not_before", "rests_until"):',
        'for begin in ("rests_until",):',
        f"{TESTS}::test_who_plans_a_job_that_is_put_off_meanwhile_does_not_start_it[dynamo]",
    ),
    Mutant(
        "a job that has begun gets another time",
        1,
        WRITES,
        'f"#state = :ready AND not_before = :seen AND {planned}"',
        '"(#state = :ready OR version > :one) AND not_before = :seen"',
        f"{TESTS}::test_a_job_that_starts_meanwhile_goes_on[dynamo-3600]",
    ),
    Mutant(
        "of two who change a time at once the second wins",
        7,
        WRITES,
        'f"#state = :ready AND not_before = :seen AND {planned}"',
        'f"#state = :ready AND (not_before = :seen OR version >= :one) AND {planned}"',
        f"{TESTS}::test_of_two_who_change_it_at_once_the_second_is_told[dynamo]",
    ),
    Mutant(
        "what is put off for long is deleted before its time",
        3,
        MOVE,
        "        self._keep(job, moved.not_before)\n",
        "",
        f"{TESTS}::test_what_is_put_off_for_long_is_kept_until_then_and_longer[memory]",
    ),
    Mutant(
        "a schedule of the old time stays",
        7,
        "shared/engine/intake/schedules.py",
        "            self.cancel(before)\n",
        "            pass\n",
        f"{TESTS}::test_a_job_is_sent_now_once_and_its_old_hint_sends_nothing_again[memory]",
    ),
    Mutant(
        "what gets another time has no hint for it",
        3,
        "shared/engine/intake/schedules.py",
        "            self.cancel(before)\n        self.hint(job)\n",
        "            self.cancel(before)\n",
        f"{TESTS}::test_both_sides_of_the_quarter_of_an_hour_have_their_hint[memory-60-3600]",
    ),
    Mutant(
        "one person gives an approved list another time",
        14,
        MOVE,
        "        if self._is_approved(job):",
        "        if not job.id:",
        "tests/api/test_approvals.py::test_a_list_that_was_approved_keeps_its_time",
    ),
    Mutant(
        "a list that an older version has sent is moved although it was approved",
        14,
        MOVE,
        "        return job.approved or last\n",
        "        return job.approved\n",
        "tests/api/test_approvals.py::test_of_a_list_that_an_older_version_has_sent_the_campaign_says_that_it_was_approved",
    ),
    Mutant(
        "a job that is resumed in closed hours forgets its time",
        1,
        WRITES,
        "made.wait(job.opens(max(now, job.not_before)), max(now, job.not_before))",
        "made.wait(job.opens(now), now)",
        f"{TESTS}::test_a_scheduled_job_that_is_resumed_in_closed_hours_waits_for_its_time[dynamo]",
    ),
)
