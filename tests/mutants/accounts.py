"""Sabotages of keys, suspensions, the audit log and erasure."""

from typing import Final

from tests.mutants.mutant import Mutant

API_KEYS: Final = "shared/adapters/dynamo/accounts/api_keys.py"
KEYS: Final = "tests/api/test_accounts.py"
MOVING: Final = "tests/api/test_moving.py"
JOBS: Final = "tests/api/test_jobs.py"
AUDIT: Final = "tests/contracts/test_journal.py"
ERASING: Final = "tests/api/test_erasing.py"

SUSPENDED: Final = "tests/attacks/test_a_suspended_account_at_every_door.py"
LIVE: Final = "tests/attacks/test_a_test_key_at_live_data.py"
LOOPS: Final = "tests/attacks/test_a_test_key_in_a_loop.py"
KEY_LOOPS: Final = "tests/attacks/test_a_key_in_a_loop.py"
ALLOWANCES: Final = "tests/api/test_allowances.py"

ACCOUNTS: Final = (
    Mutant(
        "a suspended account makes webhooks",
        9,
        "shared/web/authentication.py",
        "if route.shut and accounts.suspended(key.account):",
        "if False:",
        f"{SUSPENDED}::test_a_suspended_account_ends_things_and_makes_none[createHook]",
    ),
    Mutant(
        "a number that JSON does not have is stored",
        10,
        "shared/web/loose.py",
        ", parse_constant=_no_number)",
        ")",
        "tests/api/test_loose.py::test_a_number_that_json_does_not_have_is_refused_wherever_it_is[mails-NaN]",
    ),
    Mutant(
        "a test key takes live suppressions away",
        9,
        "shared/domain/namespaces.py",
        'return f"{account}{TEST}" if test and not is_team(account) else account',
        "return account",
        f"{LIVE}::test_a_test_key_neither_sees_nor_ends_a_live_suppression[all]",
    ),
    Mutant(
        "a test key's suppressions keep live jobs back, and live ones those of tests",
        9,
        "shared/engine/suppression/suppressed.py",
        "found = self._records.suppressed(job.namespace, keys, reaches) if keys else {}",
        "found = self._records.suppressed(job.account, keys, reaches) if keys else {}",
        "tests/engine/test_suppressed.py::test_a_job_heeds_the_suppressions_of_its_kind_of_key_alone[True]",
    ),
    Mutant(
        "a live campaign says what a test key has stored",
        9,
        "functions/api/campaigns/rules.py",
        "if found is None or found.namespace != call.key.namespace:",
        "if found is None or found.account != call.key.account:",
        f"{LIVE}::test_no_live_campaign_says_what_a_test_key_has_stored",
    ),
    Mutant(
        "a test key reads the live audit log",
        9,
        "functions/api/account/audit.py",
        "whose = namespace(account, test=call.key.test or query.test)",
        "whose = namespace(account, test=query.test)",
        f"{LIVE}::test_a_test_key_reads_only_what_was_done_to_test_keys_things",
    ),
    Mutant(
        "test keys take the requests of live ones",
        9,
        "shared/web/authentication.py",
        "_limit(accounts.take(key.account, taker, test=key.test))",
        "_limit(accounts.take(key.account, taker, test=False))",
        f"{LOOPS}::test_a_test_key_in_a_loop_does_not_keep_live_keys_from_asking",
    ),
    Mutant(
        "reads use up the allowance for calls that send",
        9,
        "shared/domain/accounts.py",
        "return max(1, self.burst - self.kept * claim // 2)",
        "return self.burst",
        f"{ALLOWANCES}::test_calls_that_do_not_send_leave_a_part_to_those_that_do",
    ),
    Mutant(
        "a key that may not send uses what is kept for sending",
        9,
        "shared/web/authentication.py",
        "sends=route.sends and route.scope in key.scopes",
        "sends=route.sends",
        f"{KEY_LOOPS}::test_a_read_key_that_asks_to_send_in_a_loop_does_not_use_what_is_kept_for_it",
    ),
    Mutant(
        "one key uses up the allowance of its account",
        9,
        "shared/adapters/dynamo/accounts/allowances.py",
        "return max(now, held.clocks.get(name, 0)) + _us(held.used[name], of)",
        "return now",
        f"{ALLOWANCES}::test_one_key_leaves_a_part_to_others",
    ),
    Mutant(
        "no process learns what a key did at others",
        9,
        "shared/adapters/dynamo/accounts/allowances.py",
        "moves = {_ACCOUNT: cost} |",
        "moves = {_ACCOUNT: cost} or",
        f"{ALLOWANCES}::test_a_process_learns_what_a_key_did_at_others",
    ),
    Mutant(
        "notifiers use up the allowance of their account",
        9,
        "shared/domain/accounts.py",
        "return Claim.NOTICE if self.notifier else Claim.SEND",
        "return Claim.SEND",
        f"{ALLOWANCES}::test_notifiers_count_in_the_allowance_of_their_account",
    ),
    Mutant(
        "an account makes notifiers without end",
        9,
        "shared/engine/notices/notifiers.py",
        "if self._store.count(made.namespace, MAX_NOTIFIERS) >= MAX_NOTIFIERS:",
        "if False:",
        f"{KEY_LOOPS}::test_an_account_has_a_bounded_number_of_notifiers",
    ),
    Mutant(
        "a large content may go before its job",
        3,
        "shared/adapters/dynamo/jobs/contents.py",
        "days = next((x for x in CONTENT_WAITS if ahead <= x * DAY_MS), CONTENT_WAITS[-1])",
        "days = CONTENT_WAITS[0]",
        "tests/adapters/test_dynamo_stores.py::test_a_large_content_is_stored_where_it_expires_after_its_job",
    ),
    Mutant(
        "a suspended account's jobs go on",
        4,
        "shared/adapters/dynamo/jobs/records.py",
        'paused = paused or "paused" in item or "suspended" in item',
        'paused = paused or "paused" in item',
        f"{JOBS}::test_what_a_suspended_account_has_accepted_waits_for_its_end",
    ),
    Mutant(
        "a suspended account posts events",
        4,
        "shared/engine/intake/intake.py",
        "if self._senders.suspended(account):",
        "if not account:",
        f"{SUSPENDED}::test_a_suspended_account_ends_things_and_makes_none[postEvents]",
    ),
    Mutant(
        "a rotated key lives on longer than it was made to",
        9,
        API_KEYS,
        "ends = min(until, old.expires or until)",
        "ends = until",
        f"{KEYS}::test_a_rotated_key_is_followed_by_one_like_it[apart]",
    ),
    Mutant(
        "noting its use brings a revoked key back",
        9,
        API_KEYS,
        "Key=keys.api_key_use(digest),\n                UpdateExpression",
        "Key=keys.api_key(digest),\n                UpdateExpression",
        f"{KEYS}::test_a_key_s_last_use_is_noted_once_an_hour",
    ),
    Mutant(
        "a key that stands in the old place lets in for ever",
        9,
        "shared/adapters/dynamo/places.py",
        "(() if not left or self.moved() else left)",
        "left",
        f"{MOVING}::test_what_is_written_to_the_old_place_after_the_move_counts_for_nothing",
    ),
    Mutant(
        "a key that is revoked during the move comes back",
        9,
        "shared/adapters/dynamo/accounts/moving.py",
        'TransactItems=[{"ConditionCheck": still}, {"Put": put}]',
        'TransactItems=[{"Put": put}]',
        f"{MOVING}::test_what_is_taken_away_during_the_move_does_not_come_back",
    ),
    Mutant(
        "the webhook function gets what sends",
        9,
        "shared/providers/registry.py",
        "if f.feedback and f.name in secret",
        "if f.name in secret",
        "tests/cli/test_credentials.py::test_what_verifies_webhooks_is_stored_apart_from_what_sends",
    ),
    Mutant(
        "a retry is not told",
        9,
        "shared/adapters/dynamo/jobs/records.py",
        "changed = self._change_with(job, update, audit.puts(self._db, self._records, event))",
        "changed = self._changed(update)",
        f"{AUDIT}::test_a_retry_and_its_event_are_stored_together[dynamo-None]",
    ),
    Mutant(
        "an audit log takes an address",
        9,
        "shared/domain/audit.py",
        'if any("@" in text for text in texts):',
        'if any("@" in text for text in texts[:1]):',
        f"{AUDIT}::test_an_event_with_an_address_cannot_be_made[data]",
    ),
    Mutant(
        "an erased person stays a copy of a large content",
        9,
        "shared/adapters/dynamo/erasure/erasing.py",
        "if stored is None:\n            return\n        if uncopied",
        'if stored is None or "blob" in item:\n            return\n        if uncopied',
        f"{ERASING}::test_a_large_content_loses_its_copies_and_nothing_else",
    ),
    Mutant(
        "who was erased is sent to all the same",
        9,
        "shared/engine/suppression/suppressed.py",
        "for i in waiting if chunk.recipients[i].skip == ERASED}",
        "for i in waiting if chunk.recipients[i].address == 0}",
        f"{ERASING}::test_what_still_waits_for_an_erased_person_is_skipped",
    ),
    Mutant(
        "old versions of a person's files stay",
        9,
        "shared/adapters/s3/versions.py",
        '(*page.get("Versions", ()), *page.get("DeleteMarkers", ()))',
        '(*page.get("Versions", ())[:1], *page.get("DeleteMarkers", ()))',
        f"{ERASING}::test_a_crash_during_erasure_is_completed_by_the_next_run[1]",
    ),
    Mutant(
        "a message to a person alone keeps its content",
        9,
        "shared/adapters/dynamo/erasure/erasing.py",
        'if job is not None and number(job, "total") == 1:',
        'if job is not None and number(job, "total") == 0:',
        f"{ERASING}::test_erasure_finds_all_of_a_persons_data_and_only_that",
    ),
)
