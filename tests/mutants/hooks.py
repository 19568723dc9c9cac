"""Sabotages of webhooks to accounts: their queue, their lease, their breaker and their signatures."""

from typing import Final

from tests.mutants.mutant import Mutant

_WORKS: Final = "shared/adapters/dynamo/hooks/works.py"
_CALL: Final = "shared/engine/hooks/call.py"
_TURN: Final = "shared/engine/hooks/turn.py"
_WORK: Final = "shared/domain/hooks/work.py"
_STORE: Final = "tests/contracts/test_hook_queue.py"
_TEST_CALL: Final = "tests/engine/hooks/test_call.py"
_SIDE: Final = "tests/engine/hooks/test_call_side_by_side.py"
_TRIALS: Final = "tests/engine/hooks/test_trials.py"
_TEST_WORK: Final = "tests/domain/hooks/test_work.py"
_TEST_ENDPOINT: Final = "tests/domain/hooks/test_endpoint.py"

HOOKS: Final = (
    Mutant(
        "a lease ends although more was added",
        3,
        _WORKS,
        '"#owner = :owner AND #added = :added"',
        '"#owner = :owner AND #added >= :added"',
        f"{_STORE}::test_a_lease_does_not_end_if_more_was_added[dynamo]",
    ),
    Mutant(
        "what is tried again is removed before it is stored",
        3,
        "shared/adapters/dynamo/hooks/queue.py",
        """self._db.batch_put([(self._table, x) for x in puts])
        self._db.batch_write([*together, *deletes])""",
        """self._db.batch_write([*together, *deletes])
        self._db.batch_put([(self._table, x) for x in puts])""",
        f"{_STORE}::test_a_process_that_dies_while_it_settles_loses_nothing[dynamo-pending]",
    ),
    Mutant(
        "what is put off to the same time is removed",
        3,
        "shared/adapters/dynamo/hooks/queue.py",
        "if _place(old) != _place(new):",
        "if old != new:",
        f"{_STORE}::test_a_delivery_that_is_put_off_waits_for_its_new_time[dynamo]",
    ),
    Mutant(
        "a worker forgets an order to replay that came meanwhile",
        3,
        _WORKS,
        "order=old.replay is not None",
        "order=True",
        f"{_STORE}::test_one_replay_is_ordered_at_a_time[dynamo]",
    ),
    Mutant(
        "what waits longer than a hint is looked at no more",
        3,
        _CALL,
        "stored = self._works.release(replace(turn.work, wake=wake))",
        "stored = self._works.release(replace(turn.work, wake=0))",
        f"{_TEST_CALL}::test_a_delivery_is_tried_ten_times_over_three_days",
    ),
    Mutant(
        "a page behind which more waits counts as all",
        3,
        _CALL,
        "return deque(found), after\n            proofs",
        'return deque(found), ""\n            proofs',
        f"{_TEST_CALL}::test_what_is_due_is_posted_once_and_kept",
    ),
    Mutant(
        "a dead endpoint is probed by several posts",
        6,
        _WORK,
        "return 1 if self.fails >= OPENS_AFTER else min(",
        "return min(",
        f"{_TEST_WORK}::test_an_open_breaker_lets_nothing_through_and_then_one_probe",
    ),
    Mutant(
        "a worker for quick endpoints stays with one that is slow",
        6,
        _TURN,
        " or (self.work.apart and not self.apart)",
        "",
        f"{_TEST_CALL}::test_a_worker_for_quick_endpoints_leaves_one_that_is_slow_to_others",
    ),
    Mutant(
        "posts that were under way when the breaker opened prolong its pause",
        6,
        _TURN,
        "if self.work.open_until <= now:",
        "if self.work.open_until <= now or now:",
        f"{_SIDE}::test_posts_that_were_under_way_when_the_breaker_opened_do_not_prolong_its_pause",
    ),
    Mutant(
        "a fault with one delivery ends as if it were delivered",
        3,
        _TURN,
        "return self._later(attempted(delivery, HookAttempt(now, error=FAULT)), now, draw)",
        "return ended(delivery, DeliveryState.DELIVERED, now)",
        f"{_SIDE}::test_a_delivery_that_cannot_be_posted_by_a_fault_of_ours_holds_up_no_other",
    ),
    Mutant(
        "a fault keeps the lease of an endpoint",
        6,
        _CALL,
        "except Exception:  # whatever it was: another worker may go on",
        "except Retriable:",
        f"{_SIDE}::test_a_fault_that_none_has_foreseen_hands_the_lease_back[endpoints.get]",
    ),
    Mutant(
        "an endpoint gets events before it has proven itself",
        9,
        _CALL,
        "if endpoint.state is EndpointState.ENABLED:",
        "if not endpoint.disabled_at:",
        f"{_TEST_CALL}::test_a_new_endpoint_gets_its_test_event_only_until_it_answers",
    ),
    Mutant(
        "an answer proves a URL that was not asked",
        9,
        _CALL,
        "if not x.proven and x.url == asked else x",
        "if not x.proven else x",
        f"{_TEST_CALL}::test_an_answer_proves_the_url_that_was_asked_and_no_other",
    ),
    Mutant(
        "a worker for quick endpoints waits long for one that it does not know",
        12,
        _TURN,
        "return POST_S if self.apart or self.taken else FIRST_POST_S",
        "return POST_S",
        f"{_SIDE}::test_a_worker_for_quick_endpoints_waits_a_second_for_one_that_it_does_not_know",
    ),
    Mutant(
        "an account with many endpoints has all workers",
        12,
        "shared/adapters/hooks.py",
        "delay=delay, group=namespace)\n\n    def wake",
        "delay=delay)\n\n    def wake",
        "tests/adapters/test_hooks.py::test_each_account_has_its_share_of_the_workers",
    ),
    Mutant(
        "the walk over endpoints always begins with the same shard",
        12,
        _CALL,
        "first = now // MINUTE_MS % SHARDS",
        "first = 0",
        "tests/engine/hooks/test_wake.py::test_each_minute_another_shard_is_the_first",
    ),
    Mutant(
        "a new URL waits for the pause of the one before",
        6,
        _WORK,
        "fails=0, open_until=0, failing_since=0, slow=False)",
        "slow=False)",
        f"{_TRIALS}::test_a_new_url_is_called_without_the_pause_of_the_old_one",
    ),
    Mutant(
        "a first failed test event disables an endpoint that was enabled again",
        6,
        _CALL,
        "if endpoint.proven and turn.work.is_failing(now)",
        "if turn.work.is_failing(now)",
        f"{_TRIALS}::test_an_endpoint_that_is_enabled_again_has_its_own_days_to_fail",
    ),
    Mutant(
        "an answer of the URL before disables an endpoint",
        6,
        _CALL,
        "or old.disabled_at or old.trial != called.trial:",
        "or old.disabled_at:",
        f"{_TRIALS}::test_an_answer_of_the_url_before_disables_no_other[410]",
    ),
    Mutant(
        "a signature does not cover its time",
        9,
        "shared/domain/hooks/signature.py",
        'f"{delivery}.{at}."',
        'f"{delivery}.."',
        f"{_TEST_ENDPOINT}::test_a_signature_is_that_of_the_published_example",
    ),
    Mutant(
        "a former secret signs for ever",
        9,
        "shared/domain/hooks/endpoint.py",
        "if self.former and now < self.former_until else",
        "if self.former else",
        f"{_TEST_ENDPOINT}::test_both_secrets_sign_for_a_day_after_a_rotation",
    ),
)
