"""Sabotages of promise 3: nothing is lost."""

from typing import Final

from tests.mutants.mutant import Mutant

RESERVATION: Final = "shared/adapters/dynamo/jobs/reservation.py"
EXPIRED: Final = "shared/engine/sweeper/expired.py"
PASSES: Final = "shared/domain/jobs/passes.py"
TRANSITIONS: Final = "shared/adapters/dynamo/jobs/transitions.py"

LOSSES: Final = (
    # 3: nothing is lost
    Mutant(
        "takeover without a new epoch",
        3,
        PASSES,
        "return replace(release(merged, passing), epoch=ledger.epoch + 1)",
        "return release(merged, passing)",
        "tests/engine/test_crash.py::test_late_words_of_a_zombie_are_kept",
    ),
    Mutant(
        "a lost pointer stays lost",
        3,
        "shared/engine/walks/jobs.py",
        "        return lost + unserved\n",
        "        return lost[:0]\n",
        "tests/engine/test_sweep.py::test_a_lost_pointer_is_sent_again",
    ),
    Mutant(
        "each message that waits in a slow lane gets a second pointer",
        3,
        "shared/engine/walks/pointing.py",
        "if depth.waiting <= FEW or",
        "if depth.waiting >= 0 or",
        "tests/engine/test_pointers.py::test_a_lane_that_takes_nothing_gets_a_pointer_a_minute_beside_those_of_each_hour",
    ),
    Mutant(
        "a lost pointer waits for an hour behind others' messages",
        3,
        "shared/engine/walks/pointing.py",
        "                self._keep(job, lane, silent_ones)\n",
        "                pass\n",
        "tests/engine/test_pointers.py::test_a_lost_pointer_of_an_account_with_few_messages_comes_again_after_two_minutes_behind_another_s_many",
    ),
    Mutant(
        "a walk with too short a share gets none of the time that others leave",
        3,
        "shared/engine/sweeper/sweep.py",
        "            run.deadline = deadline\n",
        "",
        "tests/engine/test_sweep_scale.py::test_time_that_a_walk_leaves_goes_to_those_that_had_too_little_the_first_ones_first",
    ),
    Mutant(
        "pointers that a dead worker had received wait for their visibility",
        3,
        EXPIRED,
        "if 0 < len(waiting) <= IN_HAND:",
        "if 0 > len(waiting):",
        "tests/engine/test_expired.py::test_pointers_that_a_dead_worker_had_received_without_a_lease_come_again_with_its_leases",
    ),
    Mutant(
        "each look that takes a lease over sends the pointers of its job again",
        3,
        EXPIRED,
        "now - job.pointed_at < NOT_AGAIN_MS\n",
        "now < job.pointed_at\n",
        "tests/engine/test_expired.py::test_they_come_again_once_an_hour_at_the_most",
    ),
    Mutant(
        "a pointer of a slow lane is sent again in each run",
        3,
        "shared/engine/walks/pointing.py",
        "if hours > 0 and since < last + hours * LOST_AFTER_MS:",
        "if hours > 0:",
        "tests/engine/test_sweep_scale.py::test_a_lost_pointer_of_a_single_message_costs_two_minutes_in_a_lane_that_is_never_empty",
    ),
    Mutant(
        "the chunks of a job that waits for longer than its retention go",
        3,
        "shared/engine/walks/keeping.py",
        "            if x.ttl < until:",
        "            if x.ttl > until:",
        "tests/engine/test_keeping.py::test_what_is_paused_for_months_is_sent_in_the_end",
    ),
    Mutant(
        "each run of the sweeper begins at the start",
        3,
        "shared/engine/sweeper/sweep.py",
        "looks = walk.looks(run, run.progress.after)",
        'looks = walk.looks(run, "")',
        "tests/engine/test_sweep_scale.py::test_a_walk_that_fails_takes_nothing_from_the_others_and_goes_on_where_it_was",
    ),
    Mutant(
        "a job whose look has failed waits for the next hour",
        3,
        "shared/engine/walks/jobs.py",
        "                run.progress.leave(entry.job, 0, since)\n            raise",
        "                pass\n            raise",
        "tests/engine/test_sweep_scale.py::test_what_could_not_be_looked_at_comes_first_in_the_next_run_with_nothing_missed",
    ),
    Mutant(
        "a finaliser does not see that feedback has reopened",
        3,
        TRANSITIONS,
        'values: Item = {":one": n(1), ":version": n(job.version), ":to": s(target.value)}',
        'values: Item = {":one": n(int(target is not job.state)), ":version": n(job.version), ":to": s(target.value)}',
        "tests/contracts/test_reopen.py::test_ledger_and_job_move_together[dynamo-SENDING-SENDING]",
    ),
    Mutant(
        "a plan does not ask who holds the credential",
        3,
        RESERVATION,
        '"attribute_not_exists(jobs) OR holder = :campaign"',
        '"attribute_not_exists(jobs) OR holder = :campaign OR attribute_exists(jobs)"',
        "tests/contracts/test_reservation.py::test_a_credential_serves_one_campaign_at_a_time[dynamo]",
    ),
    Mutant(
        "a job that has ended keeps its credential",
        3,
        RESERVATION,
        "if not job.exclusive or change not in (Change.PLAN, Change.LOG):",
        "if not job.exclusive or change is not Change.PLAN:",
        "tests/contracts/test_reservation.py::test_jobs_of_one_campaign_share_it_until_the_last_is_logged[dynamo]",
    ),
    Mutant(
        "the youngest campaign goes first",
        3,
        "shared/engine/jobs/plan.py",
        "in sorted(waiting.items()):",
        "in sorted(waiting.items(), reverse=True):",
        "tests/engine/test_reservation.py::test_the_oldest_job_starts_and_those_of_its_campaign_with_it",
    ),
    Mutant(
        "what waits for a credential that is declared no more waits for ever",
        3,
        "shared/engine/lane/recovery.py",
        "passing = replace(passing, gone=lambda credential: credential not in self._lanes)",
        "passing = replace(passing, gone=lambda credential: False)",
        "tests/engine/test_retired.py::test_messages_without_another_provider_end_with_a_reason",
    ),
    Mutant(
        "a sweeper of the former version gives up what waits for a new credential",
        3,
        "shared/engine/walks/pointing.py",
        "return self._now - last > LOST_AFTER_MS and not self.hold(job.account, x.lane).paused",
        "return not self.hold(job.account, x.lane).paused",
        "tests/engine/test_retired.py::test_nothing_is_moved_while_a_deployment_may_be_under_way",
    ),
    Mutant(
        "an export goes on a chunk too far after its checkpoint",
        3,
        "shared/engine/reports/export.py",
        "        start = self.held.chunk\n",
        "        start = self.held.chunk + bool(self.held.parts)\n",
        "tests/engine/test_export.py::test_at_its_time_limit_another_invocation_goes_on_where_it_was",
    ),
    Mutant(
        "a row of an export has the time of another attempt",
        3,
        "shared/engine/reports/message_log.py",
        "max((a.at_ms for a in self.attempts if AttemptFate.ACCEPTED in a.fates), default=0)",
        "max((a.at_ms + 1 for a in self.attempts if AttemptFate.ACCEPTED in a.fates), default=0)",
        "tests/engine/test_export.py::test_a_row_ends_with_its_times_and_what_the_provider_wrote",
    ),
)
