"""Sabotages of small jobs, whose ledgers are in their own items."""

from typing import Final

from tests.mutants.mutant import Mutant

_CONTRACT: Final = "tests/contracts/test_small_jobs.py"
_ENGINE: Final = "tests/engine/test_small_jobs.py"
_GROUP: Final = "shared/engine/lane/group.py"
_TRACK: Final = "shared/engine/outcome/track.py"
_RECORDS: Final = "shared/adapters/dynamo/jobs/records.py"

_UNLISTED: Final = "tests/contracts/test_unlisted.py"
_WALKED: Final = "tests/engine/test_unlisted_walk.py"
_WALK: Final = "shared/engine/walks/unlisted.py"
_TRANSITIONS: Final = "shared/adapters/dynamo/jobs/transitions.py"

SMALL: Final = [
    Mutant(
        "a small job is begun whatever its state",
        4,
        "shared/adapters/dynamo/jobs/transitions.py",
        """condition = f"#state IN ({', '.join(f':{x.value}' for x in sorted(ACTIVE))})\"""",
        """condition = "#state <> :ENQUEUED OR attribute_exists(pk)\"""",
        f"{_CONTRACT}::test_a_job_that_is_no_longer_active_is_not_begun[dynamo-stop]",
    ),
    Mutant(
        "a worker takes a small job that another began",
        1,
        _RECORDS,
        "or not stored.held_by(claimed.owner, claimed.epoch)",
        "or stored.epoch != claimed.epoch",
        f"{_CONTRACT}::test_of_two_that_read_the_same_one_begins[dynamo]",
    ),
    Mutant(
        "a worker drops a small job if it missed the answer",
        1,
        _RECORDS,
        "return (codec.job(item), stored) if stored.seq == claimed.seq else None",
        "return None",
        f"{_CONTRACT}::test_a_beginning_whose_answer_was_lost_is_known_again[dynamo]",
    ),
    Mutant(
        "the detail of a second lease replaces that of the first",
        9,
        _RECORDS,
        "x if x.held.epoch == 1 else replace(x, detail=None)",
        "x",
        f"{_CONTRACT}::test_details_of_later_leases_are_beside_that_of_the_first[dynamo]",
    ),
    Mutant(
        "a small job that webhooks hear of ends without their hearing",
        9,
        _GROUP,
        "or lease.unheard_until < self._clock.now()",
        "or False",
        f"{_ENGINE}::test_an_account_with_webhooks_has_its_jobs_ended_by_their_fold",
    ),
    Mutant(
        "a lease that is only foreseen is written as if it were stored",
        1,
        "shared/engine/lane/start.py",
        "return replace(leased, version=UNSTORED)",
        "return leased",
        f"{_ENGINE}::test_a_foreseen_lease_is_never_written",
    ),
    Mutant(
        "a small job ends although a message is to be sent elsewhere",
        3,
        _GROUP,
        "if after.status is not LedgerStatus.DONE:",
        "if False:",
        f"{_ENGINE}::test_a_message_that_goes_to_another_credential_does_not_end_its_job",
    ),
    Mutant(
        "what webhooks are to hear of is folded before it is announced",
        9,
        _TRACK,
        "return self._listeners is not None and not self._listeners.has(job.namespace)",
        "return self._listeners is not None",
        f"{_ENGINE}::test_what_webhooks_are_to_hear_of_is_folded_once_it_is_announced",
    ),
    Mutant(
        "words that cannot be folded together are lost",
        6,
        _TRACK,
        "                        self._join_again(credential, x, total)\n",
        "                        pass\n",
        f"{_ENGINE}::test_words_that_cannot_be_folded_together_are_joined_each_by_itself[before]",
    ),
    Mutant(
        "words that cannot be joined are acknowledged",
        6,
        _TRACK,
        "            total.left += x.words\n",
        "",
        f"{_ENGINE}::test_words_that_cannot_be_joined_are_left",
    ),
    Mutant(
        "bad news about a small job is folded past the guards",
        4,
        _TRACK,
        "if any(kind not in GOOD for _, kind, _ in words):",
        "if False:",
        f"{_ENGINE}::test_bad_news_is_not_folded_at_once",
    ),
    Mutant(
        "small jobs that cannot end together do not end",
        7,
        _GROUP,
        "                results[m.place] = self._told_alone(m)\n",
        "                results[m.place] = PointerResult.SENT\n",
        f"{_ENGINE}::test_what_cannot_end_together_ends_by_itself[before]",
    ),
    Mutant(
        "words about a small job that has moved on are not kept",
        9,
        _TRACK,
        "            self._records.put_feedback(x.detail)\n",
        "",
        f"{_ENGINE}::test_words_that_cannot_be_folded_together_are_joined_each_by_itself[before]",
    ),
    Mutant(
        "words that a small job's item has no room for are dropped",
        9,
        _RECORDS,
        "        self.put_feedback(x.words)\n",
        "",
        f"{_CONTRACT}::test_second_words_are_beside_the_first[dynamo]",
    ),
    Mutant(
        "words in a small job's item are shown twice",
        9,
        _RECORDS,
        'words.setdefault(item["sk"]["S"].removeprefix(keys.FEEDBACK_PREFIX), codec.feedback(item))',
        'words[item["sk"]["S"]] = codec.feedback(item)',
        f"{_CONTRACT}::test_words_are_stored_with_what_they_say[dynamo-250 OK]",
    ),
    Mutant(
        "the words in a small job's item are not erased",
        9,
        "shared/adapters/dynamo/erasure/words.py",
        "((codec.WINDOW, _window), (codec.WORDS, _feedback))",
        "((codec.WINDOW, _window),)",
        "tests/api/test_erasing.py::test_what_a_provider_said_later_in_a_small_job_s_own_item_is_gone",
    ),
    Mutant(
        "a lease that leaves a small job waiting does not put it into the index",
        3,
        "shared/adapters/dynamo/jobs/ledger_writes.py",
        "if is_unlisted(old.job) and old.status is LedgerStatus.BUSY",
        "if not old.job and old.status is LedgerStatus.BUSY",
        f"{_UNLISTED}::test_a_lease_that_leaves_something_waiting_puts_it_there[dynamo]",
    ),
    Mutant(
        "a release moves a job that waits for its hours among the running ones",
        3,
        _TRANSITIONS,
        'f"{x} = if_not_exists({x}, :{x})"',
        'f"{x} = :{x}"',
        f"{_UNLISTED}::test_a_release_leaves_a_job_where_its_hours_put_it[dynamo]",
    ),
    Mutant(
        "a small job that has ended is put into the index",
        3,
        _TRANSITIONS,
        "attribute_not_exists(open_pk) AND #state <> :logged",
        "attribute_not_exists(open_pk) AND attribute_exists(#state) AND :logged = :logged",
        f"{_UNLISTED}::test_what_has_ended_is_walked_no_more_and_never_put_there[dynamo]",
    ),
    Mutant(
        "a minute is walked before its last jobs can be stored",
        3,
        _WALK,
        "return (now - LATE_MS) // MINUTE_MS",
        "return now // MINUTE_MS + 1",
        f"{_WALKED}::test_a_lost_pointer_is_sent_again_once_its_minute_is_walked",
    ),
    Mutant(
        "a part of a minute whose read fails is never read again",
        3,
        _WALK,
        "run.progress.leave(place, 0, run.now)",
        "pass",
        f"{_WALKED}::test_a_part_whose_read_fails_is_read_again_by_the_next_run",
    ),
    Mutant(
        "minutes that could not be read and not be noted are left behind",
        3,
        _WALK,
        "if not run.progress.is_full:",
        "if True:",
        f"{_WALKED}::test_with_too_many_faults_to_note_the_same_minutes_are_walked_again",
    ),
    Mutant(
        "jobs are left out of the index before the sweeper has stored where it begins",
        3,
        _WALK,
        "if run.progress.floor:  # it is stored by an earlier run",
        "if True:",
        f"{_WALKED}::test_no_job_is_left_out_before_a_run_has_stored_where_the_walk_begins",
    ),
    Mutant(
        "a job is left out of the index although no sweeper walks it",
        3,
        "functions/api/services.py",
        "unlists=lambda: deployment.unlisting.begun",
        "unlists=lambda: True",
        "tests/benchmarks/test_counts.py::test_a_small_job_is_in_the_index_until_the_sweeper_walks_it",
    ),
    Mutant(
        "an operator does not see the small jobs of the last minutes",
        9,
        "shared/engine/jobs/stop.py",
        "if not after or after.startswith(_YOUNG_PLACE):",
        "if after.startswith(_YOUNG_PLACE):",
        "tests/engine/test_open_work.py::test_a_small_job_is_among_them_from_the_first_and_once",
    ),
    Mutant(
        "a lease that was begun takes its job as it was read before",
        4,
        "shared/engine/lane/checks.py",
        "for lease in leases if lease.unbegun is not None]",
        "for lease in leases]",
        "tests/engine/test_send.py::test_a_stale_pointer_to_an_inactive_job_makes_no_call[READY-for_slots]",
    ),
]
