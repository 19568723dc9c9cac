"""Sabotages of promises 1 and 2: each message once, and never above a rate."""

from typing import Final

from tests.mutants.mutant import Mutant

GATE: Final = "shared/engine/lane/admission.py"
LEASE: Final = "shared/engine/lane/lease.py"
RULES: Final = "shared/domain/jobs/ledger.py"
PASSES: Final = "shared/domain/jobs/passes.py"
TRACK: Final = "shared/engine/outcome/track.py"
TRANSITIONS: Final = "shared/adapters/dynamo/jobs/transitions.py"

_QUOTAS: Final = "tests/domain/test_quotas.py"
_COUNTED: Final = "tests/contracts/test_pacer_quotas.py"

ONCE: Final = (
    # 2: no period exceeds its quota
    Mutant(
        "a quota is counted and not checked",
        2,
        "shared/adapters/dynamo/credentials/quotas.py",
        "OR {at} <= {self._value(n(units))})",
        "OR {self._value(n(units))} = {self._value(n(units))} OR {at} >= {at})",
        f"{_COUNTED}::test_no_more_than_the_quota_is_reserved[dynamo-quotas0]",
    ),
    Mutant(
        "a day of a warm-up takes the full quota",
        2,
        "shared/domain/lanes/periods.py",
        "quota.messages if quota.warmup is None else quota.most(local_day(quota.zone, at))",
        "quota.messages",
        f"{_COUNTED}::test_a_day_of_a_warmup_has_its_own_size[dynamo]",
    ),
    Mutant(
        "a credential sends before its warm-up begins",
        2,
        "shared/contracts/quotas.py",
        "if day < 1:\n            return 0",
        "if day < 1:\n            return None",
        "tests/engine/test_quotas.py::test_nothing_is_sent_before_a_warmup_begins",
    ),
    Mutant(
        "units beside midnight count against the size of one day",
        2,
        "shared/domain/lanes/quotas.py",
        "named = {_counter(quota, at): most(quota, at) for at in moments}",
        "named = {_counter(quota, at): most(quota, moments[-1]) for at in moments}",
        f"{_QUOTAS}::test_beside_midnight_units_count_in_both_days_of_a_warmup",
    ),
    Mutant(
        "units count in the period of this clock only",
        2,
        "shared/domain/lanes/quotas.py",
        "moments = _moments(begin - GUARD, end + GUARD)\n    for quota in spend.quotas:\n        if",
        "moments = _moments(begin, end)\n    for quota in spend.quotas:\n        if",
        f"{_QUOTAS}::test_units_beside_the_end_of_a_period_count_in_both",
    ),
    Mutant(
        "the units of a later sum are given back",
        2,
        "shared/domain/lanes/quotas.py",
        'if not x.startswith(_sliding("")) or sliding]',
        "if x]",
        f"{_QUOTAS}::test_units_of_a_later_sum_are_not_given_back",
    ),
    Mutant(
        "the units of calls that were not begun stay counted",
        2,
        "shared/engine/lane/send.py",
        "        self._slot_client.give_back(lease.unused)\n        self._release(lease)\n",
        "        self._release(lease)\n",
        "tests/engine/test_quotas.py::test_units_of_messages_that_were_stopped_come_back",
    ),
    Mutant(
        "the units of small jobs that others begin stay counted",
        2,
        "shared/engine/lane/group.py",
        "            self._slot_client.give_back(unused)\n",
        "",
        "tests/engine/test_quotas.py::test_units_of_small_jobs_that_are_not_begun_come_back",
    ),
    Mutant(
        "the units of messages that a small job leaves out stay counted",
        2,
        "shared/engine/lane/group.py",
        "                self._slot_client.give_back(m.lease.unused)\n",
        "",
        "tests/engine/test_quotas.py::test_units_of_what_a_small_job_leaves_out_come_back",
    ),
    # 1: never handed over again while an attempt's fate is not known
    Mutant(
        "claim without condition",
        1,
        "shared/adapters/dynamo/codec.py",
        '"ConditionExpression": "#guard = :guard",',
        '"ConditionExpression": "#guard = :guard OR attribute_exists(pk)",',
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
        "shared/engine/jobs/retry.py",
        "if new is not None and not self._records.requeue(x, new, job):",
        "again = lambda y: retries.reopen(y, tuple(states), job.policy.max_attempts)\n"
        "        if self._ledgers._change(x.job, x.chunk, again) is None:",
        "tests/engine/test_retry.py::test_a_late_retry_queues_nothing_that_became_unknown[4]",
    ),
    Mutant(
        "retry of failed takes unknown along",
        1,
        "shared/engine/jobs/control.py",
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
        "tests/contracts/test_ledgers.py::test_a_release_under_a_lost_lease_leaves_its_words[memory]",
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
        "shared/engine/outcome/words.py",
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
        "messages probe a provider that answers nothing",
        1,
        GATE,
        "if self._breaker.probed_by(owner) and self._breaker.asks_first(",
        "if self._breaker.probed_by(owner) and not self._breaker.asks_first(",
        "tests/engine/test_questions.py::test_messages_probe_only_after_an_answer",
    ),
    Mutant(
        "no question follows a call that failed",
        1,
        GATE,
        "self._doubted = True\n",
        "self._doubted = False\n",
        "tests/engine/test_questions.py::"
        "test_a_first_call_that_fails_and_questions_without_an_answer_open_the_breaker[failed1]",
    ),
    Mutant(
        "a question without an answer keeps a credential out of use for ever",
        3,
        "shared/domain/lanes/breaker.py",
        "TRY_ANYWAY: Final = 3_600_000",
        "TRY_ANYWAY: Final = 10**15",
        "tests/domain/test_breaker.py::"
        "test_a_message_probes_in_the_end_whatever_the_question_says_and_ever_more_seldom",
    ),
    Mutant(
        "a refused question is taken for silence",
        3,
        "shared/providers/_vendor.py",
        "if answer.status >= _BROKEN else",
        "if answer.status >= 400 else",
        "tests/providers/test_contract.py::"
        "test_only_a_question_without_an_answer_says_that_the_provider_is_not_there[resend-unauthorized]",
    ),
    Mutant(
        "probes without a bound",
        1,
        "shared/domain/lanes/breaker.py",
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
        "tests/engine/test_admission_probes.py::test_probes_of_leases_of_one_message_close_the_breaker_together",
    ),
    Mutant(
        "any failures in a row open the breaker",
        1,
        "shared/domain/lanes/health.py",
        "RUN: Final = 10\n",
        "RUN: Final = 5\n",
        "tests/domain/test_health.py::test_one_that_was_alive_is_dead_after_more_in_a_row_or_after_a_while",
    ),
    Mutant(
        "ten failures in a row open the breaker, however many calls fail",
        1,
        "shared/domain/lanes/health.py",
        "row >= RUN and self._share_before() ** row < CHANCE",
        "row >= RUN",
        "tests/domain/test_health.py::"
        "test_where_calls_fail_by_chance_more_of_them_in_a_row_show_a_provider_dead[0.2-13]",
    ),
    Mutant(
        "a new process opens the breaker though others find the provider alive",
        1,
        "shared/engine/lane/admission.py",
        "works=self._works()",
        "works=False",
        "tests/engine/test_admission.py::test_failures_in_a_row_shut_the_gate_and_open_the_breaker_once[False-True-10]",
    ),
    Mutant(
        "a refused key is not read again",
        1,
        GATE,
        "if said is Verdict.FATAL and self._renewed(ticket):",
        "if said is Verdict.FATAL and False:",
        "tests/engine/test_admission.py::test_a_key_that_was_replaced_opens_nothing",
    ),
    # 2: never above the rate
    Mutant(
        "missed slots are not burned",
        2,
        "shared/domain/lanes/pacing.py",
        "LATE: Final = 0.010\n",
        "LATE: Final = 3600.0\n",
        "tests/engine/test_pace.py::test_a_slot_missed_by_more_than_ten_milliseconds_is_burned",
    ),
    Mutant(
        "a thread that starts late calls all the same",
        2,
        "shared/engine/lane/calls.py",
        "                if now > self._latest:\n                    return None\n",
        "",
        "tests/engine/test_pace.py::test_a_thread_that_starts_late_makes_no_call",
    ),
    Mutant(
        "a slot is judged before a finished message is read",
        2,
        "shared/engine/lane/calls.py",
        "                now = self._calls.clock.now()\n                if now > self._latest:",
        "                now = self._latest\n                if now > self._latest:",
        "tests/engine/test_finished.py::test_a_slow_bucket_makes_the_call_miss_its_slot",
    ),
    Mutant(
        "a wire begins a call late all the same",
        2,
        "shared/engine/lane/calls.py",
        "        if now > self._latest:\n            self._end(None, ())\n",
        "        if now > self._latest + 60:\n            self._end(None, ())\n",
        "tests/engine/test_wire.py::test_a_call_whose_slot_has_passed_is_not_begun[0]",
    ),
    Mutant(
        "no headroom for a call's size",
        2,
        "shared/domain/lanes/pacing.py",
        "return min(HEADROOM * rate, (rate + 1 - most) / _STRETCH) if most > 1 else HEADROOM * rate",
        "return rate if most > 1 else HEADROOM * rate",
        "tests/engine/test_pace.py::test_four_workers_keep_the_rate[1000-150-3000]",
    ),
    Mutant(
        "no headroom for skewed clocks",
        2,
        "shared/domain/lanes/pacing.py",
        "HEADROOM: Final = 0.97\n",
        "HEADROOM: Final = 1.0\n",
        "tests/engine/test_pace.py::test_clocks_that_are_five_milliseconds_off_keep_the_rate[10-600]",
    ),
)
