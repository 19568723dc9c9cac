"""Sabotages of the kill switches, and of leaving who throttles."""

from typing import Final

from tests.mutants.mutant import Mutant

PACER: Final = "shared/adapters/dynamo/credentials/pacer.py"
SWEEP: Final = "shared/engine/walks/pointing.py"
SLOTS: Final = "tests/contracts/test_pacer.py"
TESTS: Final = "tests/engine/test_switches.py"

HOLDS: Final = "tests/contracts/test_pacer_holds.py"

WAYS: Final = "tests/attacks/test_an_account_that_keeps_a_credential.py"

RESTS: Final = "tests/engine/test_giving_way.py"
GIVING_WAY: Final = "shared/engine/jobs/giving_way.py"
LEAKED: Final = "tests/attacks/test_a_job_that_a_leaked_key_scheduled.py"

SWITCHES: Final = (
    Mutant(
        "what no credential can carry is tried round after round",
        3,
        "shared/domain/jobs/passes.py",
        "able = frozenset(r for r, credential in enumerate(route) if credential not in self.barred)",
        "able = frozenset(range(len(route)))",
        "tests/engine/test_cannot_carry.py::test_a_mail_that_cannot_be_carried_is_told_its_sender_at_once",
    ),
    Mutant(
        "what a key has changed outlives it",
        9,
        "cli/keys/traces.py",
        "Act.HOOK_CREATED, Act.HOOK_CHANGED,",
        "Act.HOOK_CREATED,",
        "tests/cli/test_stopping.py::test_an_endpoint_that_a_key_has_changed_is_shown",
    ),
    Mutant(
        "mails of a revoked key wait on",
        9,
        "cli/operating/stopping.py",
        "job.kind == MAIL and wanted(job)",
        "not wanted(job)",
        "tests/cli/test_stopping.py::test_destinations_of_its_mails_that_wait_are_dropped",
    ),
    Mutant(
        "a job starts although its key has been revoked",
        9,
        "shared/engine/suppression/standing.py",
        "if standing.key and standing.sender:",
        "if standing.sender:",
        f"{LEAKED}::test_a_scheduled_job_is_stopped_when_its_key_was_revoked",
    ),
    Mutant(
        "a leaked key that resumes somebody's job stays unseen",
        9,
        "shared/domain/jobs/job.py",
        "return self.resumed_by or self.created_by",
        "return self.created_by",
        f"{LEAKED}::test_stopping_and_resuming_it_first_does_not_hide_the_key[resume]",
    ),
    Mutant(
        "a suspended account's campaign keeps its credential",
        3,
        GIVING_WAY,
        "return not leased and self._records.give_back(stored)",
        "return False",
        f"{WAYS}::test_a_suspended_accounts_campaign_lets_the_next_one_start",
    ),
    Mutant(
        "a job gives its credential back while a window of it is out",
        3,
        GIVING_WAY,
        "return not leased and self._records.give_back(stored)",
        "return self._records.give_back(stored)",
        f"{RESTS}::test_a_window_that_begins_meanwhile_keeps_the_credential",
    ),
    Mutant(
        "a job that was planned again gives its credential back",
        3,
        "shared/adapters/dynamo/jobs/transitions.py",
        '"ConditionExpression": "version = :version",',
        '"ConditionExpression": ":version = :version",',
        "tests/contracts/test_reservation.py::test_one_that_was_written_since_gives_nothing_back[dynamo]",
    ),
    Mutant(
        "what is resumed is sent from a sender that was removed",
        9,
        "shared/engine/jobs/control.py",
        "if self._planner.standing_check.sender_removed(job) else None",
        "if not job else None",
        f"{LEAKED}::test_nothing_is_sent_again_from_a_sender_that_was_removed[begun-unsent]",
    ),
    Mutant(
        "a campaign keeps its credential while its rest waits for another try",
        3,
        GIVING_WAY,
        "return tried and ledger.not_before >= now + LEAST_WAIT_MS",
        "return False",
        f"{RESTS}::test_the_next_one_sends_while_the_rest_of_the_first_waits_for_another_try",
    ),
    Mutant(
        "a campaign loses its turn because its provider asked to wait",
        3,
        GIVING_WAY,
        "return tried and ledger",
        "return ledger",
        f"{RESTS}::test_what_its_provider_asked_to_send_later_is_no_retry",
    ),
    Mutant(
        "slots are given out at a rate that the provider has refused",
        2,
        "shared/domain/lanes/pacing.py",
        "found.rate == self.present and found.lowered.until <= self.lowered.until",
        "found.rate == self.present",
        f"{HOLDS}::test_a_lowered_rate_slows_all_workers_at_their_next_reservation[memory]",
    ),
    Mutant(
        "a refusal by chance lowers the rate",
        2,
        "shared/domain/lanes/refusals.py",
        "if tally.known or since",
        "if since",
        "tests/domain/test_refusals.py::test_a_refusal_among_many_calls_lowers_nothing",
    ),
    Mutant(
        "a new worker does not know what others were refused",
        2,
        "shared/adapters/dynamo/credentials/tallies.py",
        "for name in pace.stretches(now)), NO_CALLS)",
        "for name in ()), NO_CALLS)",
        f"{HOLDS}::test_calls_that_any_worker_tells_are_counted_for_all_until_they_are_old[dynamo]",
    ),
    Mutant(
        "calls go on while the provider has asked all to wait",
        2,
        "shared/engine/lane/slots.py",
        "return self.switches.lowered.until > rate.lowered.until",
        "return self.switches.lowered.until > rate.lowered.until + 10**13",
        "tests/engine/test_lowered.py::test_the_first_refusal_is_the_last_call_until_the_hold_has_ended",
    ),
    Mutant(
        "slots that a wrong clock put hours ahead stay there",
        4,
        "shared/domain/lanes/pacing.py",
        "AHEAD: Final = 60.0\n",
        "AHEAD: Final = 1e9\n",
        f"{HOLDS}::test_slots_that_a_wrong_clock_put_hours_ahead_are_pulled_back[memory-100]",
    ),
    Mutant(
        "a paused credential gives out slots",
        4,
        PACER,
        'f"attribute_not_exists(paused) AND {asked}',
        'f"{asked}',
        f"{SLOTS}::test_a_credential_that_is_paused_gives_no_slots_and_says_so[dynamo]",
    ),
    Mutant(
        "slots are given out at the rate that a worker believes in",
        2,
        PACER,
        'asked = "attribute_not_exists(#rate)"',
        'asked = "(attribute_not_exists(#rate) OR attribute_exists(pk))"',
        f"{SLOTS}::test_no_slot_is_given_out_at_a_rate_that_is_not_the_present_one[dynamo]",
    ),
    Mutant(
        "a present rate above the declared one counts",
        2,
        "shared/domain/lanes/switches.py",
        "return min(ceiling, max(self.rate, MIN_RATE)) if",
        "return max(self.rate, MIN_RATE) if",
        f"{TESTS}::test_no_present_rate_exceeds_the_declared_one[1000000000.0]",
    ),
    Mutant(
        "a present rate that is no number is no pause",
        4,
        "shared/adapters/dynamo/credentials/switches.py",
        'if "N" in attribute else 0.0',
        'if "N" in attribute else 1e9',
        f"{SLOTS}::test_whatever_somebody_writes_by_hand_is_never_faster[stored2-told2]",
    ),
    Mutant(
        "the pointers of a paused lane go round and round",
        3,
        "shared/engine/lane/send.py",
        "if released is not None and not lease.paused:",
        "if released is not None:",
        f"{TESTS}::test_a_paused_credential_sends_the_window_in_flight_and_no_more",
    ),
    Mutant(
        "the sweeper points to what is paused",
        3,
        SWEEP,
        "        if hold.paused:\n            return False\n        last",
        "        if hold.paused and x.owner:\n            return False\n        last",
        f"{TESTS}::test_the_sweeper_points_to_nothing_that_is_paused_and_to_all_of_it_once_it_is_not",
    ),
    Mutant(
        "what was paused in a lane that others keep busy waits for an hour",
        3,
        SWEEP,
        "if last <= hold.resumed_at:",
        "if last < 0:",
        f"{TESTS}::test_in_a_busy_lane_resumed_chunks_get_pointers_after_a_lost_wake",
    ),
    Mutant(
        "a resume wakes nobody",
        3,
        "functions/dispatch/plan.py",
        "for switch in _taken_back(images):",
        "for switch in _taken_back(images[:0]):",
        "tests/dispatch/test_plan.py::test_the_audit_entry_of_a_resume_wakes_what_was_paused[switch0]",
    ),
    Mutant(
        "what a waking has no time for is left",
        3,
        "shared/engine/jobs/wake.py",
        "        if way.link < LINKS:",
        "        if way.link < 1:",
        "tests/engine/test_wake.py::test_a_large_job_is_gone_on_with_in_its_middle",
    ),
    Mutant(
        "a campaign of a paused account takes its credential",
        3,
        "shared/engine/jobs/plan.py",
        "if job is not None and not self._give_way.is_paused(job) else None",
        "if job is not None else None",
        f"{TESTS}::test_a_paused_account_keeps_no_others_campaign_from_its_credential",
    ),
    Mutant(
        "a switch is moved without an audit entry",
        9,
        "shared/adapters/dynamo/credentials/switchboard.py",
        '[{"Update": update}, *audit.puts(self._db, self._records, event)]',
        '[{"Update": update}]',
        "tests/contracts/test_switches.py::test_each_change_is_audited_once_and_a_repeat_changes_nothing[switch2-*-*-acts2]",
    ),
    Mutant(
        "who throttles for ever keeps its chunks",
        3,
        "shared/domain/jobs/passes.py",
        "(row >= THROTTLED or passing",
        "(passing",
        "tests/domain/test_ledger.py::test_a_provider_that_throttles_again_and_again_is_left_without_an_attempt",
    ),
    Mutant(
        "what waits through an outage waits as long again",
        3,
        "shared/engine/lane/recovery.py",
        "PATIENCE: Final = 20\n",
        "PATIENCE: Final = 1\n",
        "tests/engine/test_returns.py::test_after_ten_minutes_all_is_called_within_a_minute_too",
    ),
)
