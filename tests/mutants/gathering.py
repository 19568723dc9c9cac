"""Sabotages of what webhooks hear of: changes of messages, and all other events."""

from typing import Final

from tests.mutants.mutant import Mutant

_FOLD: Final = "shared/engine/outcome/fold.py"
_ANNOUNCER: Final = "shared/engine/outcome/announcer.py"
_GATHER: Final = "shared/engine/hooks/gather.py"
_TOLD: Final = "shared/domain/hooks/announced.py"
_TESTS: Final = "tests/engine/hooks/test_gather.py"
_RULES: Final = "tests/domain/hooks/test_told.py"
_TWICE: Final = "tests/engine/hooks/test_gather_twice.py"
_STORE: Final = "shared/adapters/dynamo/hooks/announcements.py"
_HANDLER: Final = "tests/dispatch/test_gather_hooks.py"
_STREAMS: Final = "tests/adapters/test_domain_events.py"

GATHERING: Final = (
    Mutant(
        "the sweeper folds changes without a hint to webhooks",
        3,
        _FOLD,
        "        self._announce(job, ledgers)\n        return self._add(job, ledgers)",
        "        return self._add(job, ledgers)",
        f"{_TESTS}::test_a_change_during_the_fold_is_announced_before_it_is_folded",
    ),
    Mutant(
        "a change during a fold is folded without a hint to webhooks",
        3,
        _FOLD,
        "self._announce(job, filter(None, moved.values()))",
        "pass",
        f"{_TESTS}::test_a_change_during_the_fold_is_announced_before_it_is_folded",
    ),
    Mutant(
        "changes are folded although the hint to webhooks was not queued",
        3,
        _FOLD,
        "_unannounced if name in silent else partial(",
        "partial(",
        f"{_TESTS}::test_changes_that_cannot_be_announced_are_not_folded",
    ),
    Mutant(
        "a hint for batches that was delivered spares the next one",
        3,
        _ANNOUNCER,
        "-inf) < SPARES_S",
        "-inf) < 60",
        f"{_TWICE}::test_a_hint_that_may_be_delivered_spares_no_other[4]",
    ),
    Mutant(
        "changes of a chunk within moments are handed on twice in batches",
        7,
        _ANNOUNCER,
        "-inf) < SPARES_S",
        "-inf) < 0",
        f"{_TWICE}::test_changes_of_a_chunk_within_moments_are_handed_on_once_in_batches",
    ),
    Mutant(
        "changes count as handed on before their deliveries are stored",
        3,
        _GATHER,
        "            found, stored = self._hand_on(",
        "            self._each(lambda x: self._told.finish(x, pace), list(claims.values()))\n"
        "            found, stored = self._hand_on(",
        f"{_TESTS}::test_a_crash_at_any_call_loses_no_change[before]",
    ),
    Mutant(
        "a new kind of an endpoint brings what was before it",
        7,
        _GATHER,
        "if len(ledger.cells) > 1 or was.begun_at:",
        "if was.begun_at:",
        f"{_TESTS}::test_changes_of_several_messages_are_noted_though_no_endpoint_wants_them",
    ),
    Mutant(
        "a complaint that an endpoint wants is left unnoted as a bounce",
        3,
        _TOLD,
        "return kinds | ({HookKind.MESSAGE_COMPLAINED} if HookKind.MESSAGE_BOUNCED in kinds else set())",
        "return kinds",
        f"{_TESTS}::test_nothing_is_written_of_a_single_message_s_change_that_no_endpoint_wants[now]",
    ),
    Mutant(
        "webhooks hear of jobs of other accounts",
        10,
        _GATHER,
        "if job.namespace == namespace}",
        "if job}",
        f"{_TESTS}::test_jobs_of_others_are_left_out",
    ),
    Mutant(
        "another state of the same kind is a second event",
        7,
        _TOLD,
        "or _kind(old) is not kind",
        "or old != new",
        f"{_RULES}::test_another_state_of_the_same_kind_is_no_second_event",
    ),
    Mutant(
        "a new endpoint hears of what was before it",
        7,
        _TOLD,
        "return job.created_at < since and",
        "return not job.id and",
        f"{_TESTS}::test_a_new_endpoint_hears_nothing_of_what_was_before_it",
    ),
    Mutant(
        "a complaint is told as a bounce",
        5,
        _TOLD,
        "or ProviderEventKind.COMPLAINED not in about",
        "or about",
        f"{_RULES}::test_a_complaint_is_told_from_a_bounce_by_the_words",
    ),
    Mutant(
        "the end of a job is told again with each write of the job",
        7,
        "shared/engine/hooks/domain_events.py",
        "new = [x for x in found if not x.ttl or self._name(namespace, x) not in known]\n"
        "        new = [claimed for x in new if (claimed := self._claimed(namespace, x)) is not None]",
        "new = [self._claimed(namespace, x) or x for x in found]",
        f"{_HANDLER}::test_what_happened_once_is_handed_on_once",
    ),
    Mutant(
        "what happened counts as handed on before its deliveries are stored",
        3,
        "shared/engine/hooks/domain_events.py",
        "        made = sum(",
        "        self._told.note(again, found[0].ttl)\n        made = sum(",
        f"{_HANDLER}::test_what_happened_is_noted_once_it_is_stored",
    ),
    Mutant(
        "a repeated event says what its item shows by now",
        7,
        "shared/engine/hooks/domain_events.py",
        "return replace(x, event=HookEvent(x.event.id, first, at))",
        "return x",
        f"{_HANDLER}::test_an_event_says_the_same_each_time_it_is_handed_on",
    ),
    Mutant(
        "jobs that end together start a function for accounts without endpoints",
        8,
        "shared/adapters/dynamo/jobs/folding.py",
        "heard=self.heard",
        "heard=True",
        "tests/adapters/test_domain_events.py::"
        "test_a_single_message_of_an_account_without_endpoints_ends_unheard[True]",
    ),
    Mutant(
        "a job that was unheard once stays so",
        3,
        "shared/adapters/dynamo/jobs/transitions.py",
        'self.removes.append("unheard")',
        "pass",
        f"{_STREAMS}::test_what_happens_to_an_account_without_endpoints_starts_no_function",
    ),
    Mutant(
        "operators hear of no halt in an account without endpoints",
        3,
        "shared/adapters/dynamo/jobs/records.py",
        "reason == StopReason.BOUNCE_GUARD and self._listeners.has(DEPLOYMENT)",
        "False",
        f"{_STREAMS}::test_operators_hear_of_a_halt_in_an_account_without_endpoints",
    ),
    Mutant(
        "chunks for which a function has no time are forgotten",
        3,
        "functions/dispatch/gather_hooks.py",
        "if gathered.left:",
        "if gathered.left and not gathered.events:",
        f"{_HANDLER}::test_chunks_for_which_there_is_no_time_are_hinted_at_again[True]",
    ),
    Mutant(
        "each account has the whole time of an invocation",
        12,
        "functions/dispatch/gather_hooks.py",
        "gather(namespace, places, pace, until=until)",
        "gather(namespace, places, pace, until=services.deployment().clock.now() + 35)",
        f"{_HANDLER}::test_one_moment_ends_all_hints_of_an_invocation",
    ),
    Mutant(
        "two gatherers at once make batches of the same events",
        7,
        _GATHER,
        "now - told.begun_at < AT_WORK_MS",
        "now - told.begun_at < 0",
        f"{_TWICE}::test_two_gatherers_at_once_say_the_same[later-True]",
    ),
    Mutant(
        "a late note of one gatherer ends what another has begun",
        7,
        _STORE,
        '"ConditionExpression": "begun_at = :at",',
        '"ConditionExpression": "attribute_exists(pk)",',
        "tests/contracts/test_told.py::test_a_note_that_comes_late_leaves_what_another_has_begun[dynamo-now]",
    ),
    Mutant(
        "two gatherers give the same event two times",
        7,
        _STORE,
        "begun_at = if_not_exists(begun_at, :at), ",
        "begun_at = :at, ",
        "tests/contracts/test_told.py::test_all_who_begin_to_hand_on_a_chunk_hand_on_the_same[dynamo-now]",
    ),
    Mutant(
        "what was read before another noted more is handed on",
        7,
        _STORE,
        '"#at = :was" if was.at',
        '"#at >= :was" if was.at',
        "tests/contracts/test_told.py::test_what_was_read_before_another_handed_on_more_is_not_begun[dynamo-now]",
    ),
    Mutant(
        "an event has the time at which its delivery is made",
        7,
        "shared/engine/hooks/outbox.py",
        "events[0].id, events[0].at or now",
        "events[0].id, now",
        "tests/engine/hooks/test_gather_twice.py::test_two_gatherers_at_once_say_the_same[now-False]",
    ),
)
