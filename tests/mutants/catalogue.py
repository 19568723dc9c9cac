"""The sabotages: each leaves out one rule of the protocol by an exact replacement of shipped text."""

from typing import Final

from tests.mutants.accounts import ACCOUNTS
from tests.mutants.campaigns import CAMPAIGNS
from tests.mutants.lists import LISTS
from tests.mutants.mutant import Mutant
from tests.mutants.operators import OPERATORS
from tests.mutants.providers import PROVIDERS
from tests.mutants.recipients import RECIPIENTS
from tests.mutants.switches import SWITCHES

GATE: Final = "shared/engine/gate.py"
LEASE: Final = "shared/engine/lease.py"
RECORDS: Final = "shared/adapters/dynamo/records.py"
RESERVATION: Final = "shared/adapters/dynamo/reservation.py"
RULES: Final = "shared/domain/ledger.py"
PASSES: Final = "shared/domain/passes.py"
SEND: Final = "shared/engine/send.py"
TRACK: Final = "shared/engine/track.py"
TRANSITIONS: Final = "shared/adapters/dynamo/transitions.py"

MUTANTS: Final = (
    # 1: never handed over again while an attempt's fate is not known
    Mutant(
        "claim without condition",
        1,
        "shared/adapters/dynamo/codec.py",
        '"ConditionExpression": "#version = :version",',
        '"ConditionExpression": "#version = :version OR attribute_exists(pk)",',
        "tests/contracts/test_ledgers.py::test_a_claim_under_a_lost_lease_takes_nothing_and_leaves_its_words[dynamo]",
    ),
    Mutant(
        "a lease is whoever's, as long as there is one",
        1,
        RULES,
        "return self.status is LedgerStatus.BUSY and self.owner == owner and self.epoch == epoch",
        "return self.status is LedgerStatus.BUSY",
        "tests/contracts/test_ledgers.py::test_a_lost_lease_moves_nothing_that_another_holds[memory]",
    ),
    Mutant(
        "a live lease is taken over",
        1,
        RULES,
        "return self.status is LedgerStatus.BUSY and self.until < now",
        "return self.status is LedgerStatus.BUSY",
        "tests/contracts/test_ledgers.py::test_of_two_takeovers_one_wins[memory]",
    ),
    Mutant(
        "a recorded retry queues a ledger that was written since it was read",
        1,
        "shared/engine/retry.py",
        "if new is not None and not self._records.requeue(x, new, job):",
        "again = lambda y: rules.reopen(y, job.retry.states, job.policy.max_attempts)\n"
        "            if self._ledgers._change(x.job, x.chunk, again) is None:",
        "tests/engine/test_retry.py::test_one_who_comes_late_queues_nothing_that_became_unknown_since[4]",
    ),
    Mutant(
        "retry of failed takes unknown along",
        1,
        "shared/engine/control.py",
        '"failed": (Cell.DROPPED,),',
        '"failed": (Cell.DROPPED, Cell.UNKNOWN),',
        "tests/engine/test_control.py::test_retry_takes_what_was_given_up_and_nothing_else",
    ),
    Mutant(
        "takeover queues what was claimed",
        1,
        RULES,
        "lost = [Entry(i, ledger.cells[i] >> 4, Kind.UNKNOWN) for i in ledger.having(Cell.CLAIMED)]",
        "lost = [Entry(i, ledger.cells[i] >> 4, Kind.NOT_SENT) for i in ledger.having(Cell.CLAIMED)]",
        "tests/engine/test_crash.py::"
        "test_a_crash_before_the_detail_leaves_the_window_unknown_and_its_log_names_the_provider",
    ),
    Mutant(
        "throttled entry written into the detail",
        1,
        LEASE,
        "        elif isinstance(outcome, Throttled):\n            self.requeued.append(index)\n",
        "        elif isinstance(outcome, Throttled):\n"
        "            self.requeued.append(index)\n"
        "            self.results.append(Entry(index, attempt, Kind.NOT_SENT))\n",
        "tests/engine/test_send.py::test_what_was_throttled_or_never_begun_uses_its_attempt_again[answer0]",
    ),
    Mutant(
        "a credential that took a message and failed it gets it again",
        1,
        PASSES,
        "closed = self.named if self.failed_later else self.spent",
        "closed = self.named if self.failed_later else frozenset()",
        "tests/engine/test_reopen.py::test_a_credential_that_took_and_failed_it_never_gets_it_again",
    ),
    Mutant(
        "what failed later goes to one that has tried it",
        1,
        PASSES,
        "closed = self.named if self.failed_later else self.spent",
        "closed = self.spent",
        "tests/engine/test_reopen.py::test_what_failed_later_goes_only_to_one_that_never_tried_it",
    ),
    Mutant(
        "feedback reopens whatever has become of the job",
        1,
        TRANSITIONS,
        'expression, "version = :version", values)',
        'expression, "version = :version OR attribute_exists(pk)", values)',
        "tests/contracts/test_reopen.py::test_nothing_moves_if_one_of_them_has_moved_on[dynamo]",
    ),
    Mutant(
        "an attempt that was taken is believed absent",
        1,
        RULES,
        "        if cells[index] == attempt << 4 | Cell.UNKNOWN:\n",
        "        if cells[index] >> 4 == attempt:\n",
        "tests/engine/test_resolve.py::test_what_was_asked_and_accepted_meanwhile_is_not_sent_again",
    ),
    Mutant(
        "a deferral counts at once",
        1,
        TRACK,
        ">= job.policy.deferred_after",
        ">= 0",
        "tests/engine/test_reopen.py::"
        "test_a_message_deferred_for_long_is_tried_elsewhere_if_its_owner_wants_that[3599-ends0]",
    ),
    Mutant(
        "the breaker never opens",
        1,
        GATE,
        "if self._tripped or not self._failures:",
        "if self._tripped or said is not Verdict.FATAL:",
        "tests/engine/test_breaker.py::test_what_had_not_begun_moves_on_without_an_attempt",
    ),
    Mutant(
        "probes without a bound",
        1,
        "shared/domain/breaker.py",
        "PROBES: Final = 3\n",
        "PROBES: Final = 10**6\n",
        "tests/engine/test_probes.py::test_two_probes_close_the_breaker_and_load_comes_back",
    ),
    Mutant(
        "probes of another lease do not count",
        3,
        GATE,
        "self._score = breaker.successes",
        "self._score = 0",
        "tests/engine/test_gate.py::test_probes_of_leases_of_one_message_close_the_breaker_together",
    ),
    Mutant(
        "any failures in a row open the breaker",
        1,
        "shared/domain/health.py",
        "RUN: Final = 10\n",
        "RUN: Final = 5\n",
        "tests/domain/test_health.py::test_one_that_was_alive_is_dead_after_more_in_a_row_or_after_a_while",
    ),
    Mutant(
        "a refused key is not read again",
        1,
        GATE,
        "if said is Verdict.FATAL and self._renewed(ticket):",
        "if said is Verdict.FATAL and False:",
        "tests/engine/test_gate.py::test_a_key_that_was_replaced_opens_nothing",
    ),
    # 2: never above the rate
    Mutant(
        "missed slots are not burned",
        2,
        "shared/domain/pacing.py",
        "LATE: Final = 0.010\n",
        "LATE: Final = 3600.0\n",
        "tests/engine/test_pace.py::test_a_slot_missed_by_more_than_ten_milliseconds_is_burned",
    ),
    Mutant(
        "a thread that starts late calls all the same",
        2,
        "shared/engine/calls.py",
        "            if now > self._latest:\n                return None\n",
        "",
        "tests/engine/test_pace.py::test_a_thread_that_starts_late_makes_no_call",
    ),
    Mutant(
        "a wire begins a call late all the same",
        2,
        "shared/engine/calls.py",
        "        if now > self._latest:\n            self._end(None, ())\n",
        "        if now > self._latest + 60:\n            self._end(None, ())\n",
        "tests/engine/test_wire.py::test_a_call_whose_slot_has_passed_is_not_begun[0]",
    ),
    Mutant(
        "no headroom for a call's size",
        2,
        "shared/domain/pacing.py",
        "return min(HEADROOM * rate, (rate + 1 - most) / _STRETCH) if most > 1 else HEADROOM * rate",
        "return rate if most > 1 else HEADROOM * rate",
        "tests/engine/test_pace.py::test_four_workers_keep_the_rate[1000-150-3000]",
    ),
    Mutant(
        "no headroom for skewed clocks",
        2,
        "shared/domain/pacing.py",
        "HEADROOM: Final = 0.97\n",
        "HEADROOM: Final = 1.0\n",
        "tests/engine/test_pace.py::test_clocks_that_are_five_milliseconds_off_keep_the_rate[10-600]",
    ),
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
        'run.tally.add("pointed", send_pointers(self._lanes, job.id, lost))',
        'run.tally.add("pointed", send_pointers(self._lanes, job.id, lost[:0]))',
        "tests/engine/test_sweep.py::test_a_lost_pointer_is_sent_again",
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
        "each run of the sweeper begins at the start",
        3,
        "shared/engine/sweep.py",
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
        "shared/engine/plan.py",
        "in sorted(waiting.items()):",
        "in sorted(waiting.items(), reverse=True):",
        "tests/engine/test_reservation.py::test_the_oldest_job_starts_and_those_of_its_campaign_with_it",
    ),
    Mutant(
        "what waits for a credential that is declared no more waits for ever",
        3,
        "shared/engine/recover.py",
        "passing = replace(passing, gone=lambda credential: credential not in self._lanes)",
        "passing = replace(passing, gone=lambda credential: False)",
        "tests/engine/test_retired.py::test_what_nobody_else_may_send_ends_and_says_why",
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
        "shared/engine/export.py",
        "columns, start = self.held.columns, self.held.chunk",
        "columns, start = self.held.columns, self.held.chunk + bool(self.held.parts)",
        "tests/engine/test_export.py::test_at_its_time_limit_another_invocation_goes_on_where_it_was",
    ),
    # 4: stop means stop
    Mutant(
        "the bounce guard counts from ten, not from more",
        4,
        "shared/domain/guard.py",
        'counts["bounced"] > ALLOWED and',
        'counts["bounced"] >= ALLOWED and',
        "tests/domain/test_guard.py::test_its_bounds_are_exact[10-50-False-delivered]",
    ),
    Mutant(
        "the bounce guard stops one job of many",
        4,
        "shared/engine/guard.py",
        "        for other in self._others(job):\n            self._stop(other, job)\n",
        "",
        "tests/engine/test_guard.py::test_every_open_job_of_the_campaign_is_stopped_and_no_other",
    ),
    Mutant(
        "stop not looked for between windows",
        4,
        SEND,
        "if not self._may_claim(lease):",
        "if lease.ledger.seq == 0 and not self._may_claim(lease):",
        "tests/engine/test_control.py::test_after_a_stop_at_most_a_window_per_lease_goes_out[10]",
    ),
    Mutant(
        "job not looked at after the lease",
        4,
        SEND,
        "if not self._may_claim(lease):",
        "if lease.ledger.seq > 0 and not self._may_claim(lease):",
        "tests/engine/test_send.py::test_a_stale_pointer_to_a_job_that_is_not_active_calls_nobody[STOPPED-for_slots]",
    ),
    Mutant(
        "slots are taken for a job that was stopped",
        4,
        SEND,
        "if not wanted.count or late or lease.job.state not in ACTIVE or self._leaves(lease):",
        "if not wanted.count or late or self._leaves(lease):",
        "tests/engine/test_send.py::"
        "test_pointers_of_a_stopped_job_take_no_slots_and_no_leases_and_it_goes_on_when_resumed",
    ),
    Mutant(
        "feedback reopens a stopped job",
        4,
        TRACK,
        "if job.stopped or not ref.attempt == attempt",
        "if not ref.attempt == attempt",
        "tests/engine/test_reopen.py::test_a_stopped_job_is_not_reopened",
    ),
    Mutant(
        "a question sends for a stopped job",
        4,
        "shared/engine/resolve.py",
        "(resends and control.job.stopped) or",
        "(resends and False) or",
        "tests/engine/test_resolve.py::test_a_stop_amid_the_questions_ends_them",
    ),
    Mutant(
        "suppressions are not looked at before a claim",
        4,
        RULES,
        "    for i in suppressed:\n",
        "    for i in ():\n",
        "tests/engine/test_suppressed.py::test_who_was_suppressed_since_acceptance_is_skipped",
    ),
    # 5: order and repetition of feedback
    Mutant(
        "a word counts for whatever attempt there is",
        5,
        "shared/domain/feedback.py",
        "    if attempt == cell_attempt:\n",
        "    if attempt <= cell_attempt:\n",
        "tests/engine/test_track.py::test_a_word_about_an_earlier_attempt_counts_only_if_delivered",
    ),
    # 6: one bad row
    Mutant(
        "a chunk that fails leaves no words behind",
        6,
        TRACK,
        "                done.faults.append(fault)\n                done.left += [word for _, _, word in about]",
        "                done.faults.append(fault)",
        "tests/engine/test_track.py::test_a_chunk_that_fails_leaves_its_own_words_only",
    ),
    Mutant(
        "refusals for good open the breaker",
        6,
        "shared/domain/breaker.py",
        "if isinstance(o, Accepted) or (isinstance(o, Rejected) and o.permanent):",
        "if isinstance(o, Accepted):",
        "tests/engine/test_breaker.py::test_what_is_not_the_providers_fault_opens_nothing[answer1]",
    ),
    # 7: repetition changes nothing
    Mutant(
        "an old record folds nothing",
        7,
        "shared/engine/log.py",
        "now = [moved.get(x.chunk, x) for x in some]",
        "now = [x for x in some if x.chunk not in moved]",
        "tests/engine/test_log.py::test_a_record_older_than_its_ledger_folds_the_ledger_as_it_is_now[2]",
    ),
    Mutant(
        "a job is LOGGED by the unknown that is folded",
        7,
        "shared/engine/log.py",
        'self._log(replace(job, counts={**job.counts, "unknown": unknown}))',
        "self._log(job)",
        "tests/engine/test_log.py::test_figures_that_are_not_folded_do_not_keep_a_job_from_its_end[2]",
    ),
    Mutant(
        "fold twice",
        7,
        "shared/adapters/dynamo/folding.py",
        '"ConditionExpression": "version = :old",',
        '"ConditionExpression": "version = :old OR attribute_exists(pk)",',
        "tests/contracts/test_folding.py::test_a_ledger_is_folded_exactly_once[dynamo]",
    ),
    Mutant(
        "idempotency key stored without condition",
        7,
        "shared/adapters/dynamo/once.py",
        '"attribute_not_exists(pk) OR expires < :now"',
        '"attribute_not_exists(pk) OR attribute_exists(pk) OR expires < :now"',
        "tests/contracts/test_records.py::test_a_key_that_is_stored_between_look_up_and_commit_is_found[dynamo]",
    ),
    Mutant(
        "a schedule decides by itself when a job starts",
        7,
        "shared/engine/plan.py",
        "if job.state is not JobState.READY or job.not_before > now:",
        "now = max(now, job.not_before)\n        if job.state is not JobState.READY:",
        "tests/engine/test_schedules.py::test_a_hint_alone_starts_nothing[memory]",
    ),
    # 8: redrive
    Mutant(
        '"not STOPPED" instead of "ENQUEUED or SENDING"',
        8,
        SEND,
        "if job.state not in ACTIVE or control.paused:",
        "if job.state is JobState.STOPPED or control.paused:",
        "tests/engine/test_send.py::test_a_stale_pointer_to_a_job_that_is_not_active_calls_nobody[LOGGED-for_slots]",
    ),
    # 9: everybody's own
    Mutant(
        "any account's job is the caller's",
        9,
        "functions/api/routes/jobs.py",
        "return job.account == call.key.account and (job.test",
        "return bool(job.account) and (job.test",
        "tests/api/test_apart.py::test_another_account_s_resources_do_not_exist[GET /jobs/{id}]",
    ),
    *PROVIDERS,
    *RECIPIENTS,
    *LISTS,
    *OPERATORS,
    *CAMPAIGNS,
    *SWITCHES,
    *ACCOUNTS,
)
