"""The sabotages: each leaves out one rule of the protocol by an exact replacement of shipped text."""

from typing import Final

from tests.mutants.accounts import ACCOUNTS
from tests.mutants.approvals import APPROVALS
from tests.mutants.campaigns import CAMPAIGNS
from tests.mutants.cells import CELLS
from tests.mutants.consoles import CONSOLES
from tests.mutants.digests import DIGESTS
from tests.mutants.doors import DOORS
from tests.mutants.endpoints import ENDPOINTS
from tests.mutants.front import FRONT
from tests.mutants.gathering import GATHERING
from tests.mutants.guarded import GUARDED
from tests.mutants.hooks import HOOKS
from tests.mutants.hours import HOURS
from tests.mutants.labels import LABELS
from tests.mutants.lists import LISTS
from tests.mutants.logins import LOGINS
from tests.mutants.losses import LOSSES
from tests.mutants.mails import MAILS
from tests.mutants.mutant import Mutant
from tests.mutants.notices import NOTICES
from tests.mutants.notifiers import NOTIFIERS
from tests.mutants.once import ONCE
from tests.mutants.operators import OPERATORS
from tests.mutants.pictures import PICTURES
from tests.mutants.providers import PROVIDERS
from tests.mutants.recipients import RECIPIENTS
from tests.mutants.relay import RELAY
from tests.mutants.restoring import RESTORING
from tests.mutants.runs import RUNS
from tests.mutants.schedules import SCHEDULES
from tests.mutants.seals import SEALS
from tests.mutants.search import SEARCH
from tests.mutants.small import SMALL
from tests.mutants.spool import SPOOL
from tests.mutants.switches import SWITCHES
from tests.mutants.team import TEAM
from tests.mutants.words import WORDS

RULES: Final = "shared/domain/jobs/ledger.py"
SEND: Final = "shared/engine/lane/send.py"
TRACK: Final = "shared/engine/outcome/track.py"

MUTANTS: Final = (
    Mutant(
        "single mails wait with bulk",
        3,
        "shared/engine/intake/accept.py",
        "express=job.express)",
        "express=False)",
        "tests/engine/test_fairness.py::test_small_jobs_use_the_express_queue_whichever_code_sends_pointers[1-True]",
    ),
    *CELLS,
    *ONCE,
    *RESTORING,
    *SEARCH,
    *SMALL,
    *WORDS,
    *SPOOL,
    *RELAY,
    *MAILS,
    *FRONT,
    *GATHERING,
    *HOOKS,
    *HOURS,
    *SCHEDULES,
    *ENDPOINTS,
    *DOORS,
    *LABELS,
    *GUARDED,
    *NOTICES,
    *LOGINS,
    *LOSSES,
    *TEAM,
    *NOTIFIERS,
    # 4: stop means stop
    Mutant(
        "the bounce guard counts from ten, not from more",
        4,
        "shared/domain/campaigns/bounce_guard.py",
        "return bounced > ALLOWED and",
        "return bounced >= ALLOWED and",
        "tests/domain/test_guard.py::test_its_bounds_are_exact[10-50-False-delivered]",
    ),
    Mutant(
        "the bounce guard counts one list of many",
        4,
        "shared/engine/outcome/bounce_guard.py",
        "{name: x.counts for name, x in found.items()} | {job.id: job.counts}",
        "{job.id: job.counts}",
        "tests/engine/test_bounce_guard.py::test_the_bounces_of_all_lists_of_a_campaign_count_together",
    ),
    Mutant(
        "the bounce guard stops one job of many",
        4,
        "shared/engine/outcome/bounce_guard.py",
        "        for other in self._others(job):\n            self._stop(other, job, counts)\n",
        "",
        "tests/engine/test_bounce_guard.py::test_every_open_job_of_the_campaign_is_stopped_and_no_other",
    ),
    Mutant(
        "the bounce guard lets batches bounce",
        4,
        "shared/domain/campaigns/bounce_guard.py",
        "(bool(job.campaign) or job.kind == BATCH)",
        "bool(job.campaign)",
        "tests/engine/test_bounce_guard.py::test_a_batch_is_stopped_and_says_so_and_no_other",
    ),
    Mutant(
        "single messages that bounce are told of by nobody",
        4,
        "shared/engine/outcome/bounce_guard.py",
        "            self._look_at_day(job)\n",
        "            pass\n",
        "tests/engine/test_bouncing_singles.py::test_the_eleventh_bounce_of_a_day_is_told_once_and_stops_nothing",
    ),
    Mutant(
        "batches that the guard judges count among single messages",
        4,
        "shared/domain/campaigns/bounce_guard.py",
        "job.total <= ALLOWED and not job.test",
        "job.total > 0 and not job.test",
        "tests/engine/test_bouncing_singles.py::test_batches_that_the_guard_judges_by_themselves_do_not_count",
    ),
    Mutant(
        "a day's bounces are told once for each bounce",
        4,
        "shared/adapters/dynamo/jobs/bouncing.py",
        '"ConditionExpression": "attribute_not_exists(pk)"}',
        '"ConditionExpression": "attribute_not_exists(nothing)"}',
        "tests/contracts/test_bouncing.py::test_a_day_is_noted_once[dynamo]",
    ),
    Mutant(
        "stop not looked for between windows",
        4,
        SEND,
        "return self._check.passes(lease, control)",
        "return lease.ledger.seq > 0 or self._check.passes(lease, control)",
        "tests/engine/test_control.py::test_after_a_stop_at_most_a_window_per_lease_goes_out[10]",
    ),
    Mutant(
        "job not looked at after the lease",
        4,
        SEND,
        "return self._check.passes(lease, control)",
        "return lease.ledger.seq == 0 or self._check.passes(lease, control)",
        "tests/engine/test_send.py::test_a_stale_pointer_to_an_inactive_job_makes_no_call[STOPPED-for_slots]",
    ),
    Mutant(
        "slots are taken for a job that was stopped",
        4,
        SEND,
        "return lease.lost or not wanted.count or lease.job.state not in ACTIVE or self._leaves(lease)",
        "return lease.lost or not wanted.count or self._leaves(lease)",
        "tests/engine/test_send.py::"
        "test_pointers_of_a_stopped_job_take_no_slots_and_no_leases_and_it_goes_on_when_resumed",
    ),
    Mutant(
        "feedback reopens a stopped job",
        4,
        "shared/engine/outcome/words.py",
        "if job.stopped or not ref.attempt == attempt",
        "if not ref.attempt == attempt",
        "tests/engine/test_reopen.py::test_a_stopped_job_is_not_reopened",
    ),
    Mutant(
        "a question sends for a stopped job",
        4,
        "shared/engine/outcome/resolve.py",
        "control.job is None or control.job.stopped or",
        "control.job is None or",
        "tests/engine/test_resolve.py::test_a_stop_amid_the_questions_ends_them",
    ),
    Mutant(
        "suppressions are not looked at before a claim",
        4,
        RULES,
        "    for i in suppressed:\n",
        "    for i in ():\n",
        "tests/engine/test_suppressed.py::test_a_recipient_suppressed_after_acceptance_is_skipped",
    ),
    # 5: order and repetition of feedback
    Mutant(
        "a word counts for whatever attempt there is",
        5,
        "shared/domain/jobs/feedback.py",
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
        "shared/domain/lanes/breaker.py",
        "if isinstance(o, Accepted) or (isinstance(o, Rejected) and o.permanent):",
        "if isinstance(o, Accepted):",
        "tests/engine/test_breaker.py::test_what_is_not_the_providers_fault_opens_nothing[answer1]",
    ),
    # 7: repetition changes nothing
    Mutant(
        "an old record folds nothing",
        7,
        "shared/engine/outcome/fold.py",
        "now = [moved.get(x.chunk, x) for x in some]",
        "now = [x for x in some if x.chunk not in moved]",
        "tests/engine/test_fold.py::test_a_record_older_than_its_ledger_folds_the_ledger_as_it_is_now[2]",
    ),
    Mutant(
        "a job is LOGGED by the unknown that is folded",
        7,
        "shared/engine/outcome/fold.py",
        "self._log(replace(finished, counts={**finished.counts, **exact}))",
        "self._log(finished)",
        "tests/engine/test_fold.py::test_figures_that_are_not_folded_do_not_keep_a_job_from_its_end[2]",
    ),
    Mutant(
        "fold twice",
        7,
        "shared/adapters/dynamo/codec.py",
        '"ConditionExpression": "#guard = :guard",',
        '"ConditionExpression": "#guard = :guard OR attribute_exists(pk)",',
        "tests/contracts/test_folding.py::test_a_ledger_is_folded_exactly_once[dynamo]",
    ),
    Mutant(
        "a fold leaves the mark of what is in no stats",
        7,
        "shared/domain/jobs/ledger.py",
        "replace(ledger, folded=now, dirty=False, uncounted=(), version",
        "replace(ledger, folded=now, dirty=False, version",
        "tests/contracts/test_counted_later.py::test_the_first_fold_counts_all_of_it_and_later_ones_what_is_new[dynamo-True]",
    ),
    Mutant(
        "what is in no stats is folded only when it changes",
        7,
        "shared/domain/jobs/ledger.py",
        "if now == ledger.folded and not ledger.dirty and not ledger.uncounted:",
        "if now == ledger.folded and not ledger.dirty:",
        "tests/engine/test_counted_later.py::test_one_that_waits_is_counted_by_the_sweeper_once",
    ),
    Mutant(
        "a stopped job is LOGGED although it is in no stats",
        7,
        "shared/engine/outcome/fold.py",
        "if current.uncounted:",
        "if current.uncounted and current.dirty:",
        "tests/engine/test_counted_later.py::test_one_that_is_stopped_before_its_first_lease_is_counted_before_it_is_logged[False]",
    ),
    Mutant(
        "a job that has moved on keeps others from their end",
        7,
        "shared/adapters/dynamo/jobs/folding.py",
        "left = [x for x in left if x not in gone]",
        "left = []",
        "tests/contracts/test_ends.py::test_one_that_has_moved_on_is_left_as_it_is_and_keeps_no_other[dynamo]",
    ),
    Mutant(
        "a small job's ledger is written whatever its job has become",
        1,
        "shared/adapters/dynamo/jobs/ledger_writes.py",
        """f"{ledger['ConditionExpression']} AND {write['ConditionExpression']}",""",
        """ledger["ConditionExpression"],""",
        "tests/contracts/test_ends.py::test_one_that_has_moved_on_is_left_as_it_is_and_keeps_no_other[small jobs]",
    ),
    Mutant(
        "a small job ends without its state",
        7,
        "shared/adapters/dynamo/jobs/ledger_writes.py",
        """return f"{sets}, {more_sets.removeprefix('SET ')}" +""",
        """return f"{sets}" +""",
        "tests/contracts/test_ends.py::test_jobs_end_together_as_each_would_by_itself[small jobs]",
    ),
    Mutant(
        "the stream of small jobs folds nothing",
        7,
        "shared/adapters/dynamo/codec.py",
        'return "cells" in image or _SMALL + "dirty" in image',
        'return "cells" in image',
        "tests/dispatch/test_plan.py::test_a_small_job_whose_ledger_has_changed_is_folded_and_ended",
    ),
    Mutant(
        "jobs that end together lack their first figures in the stats",
        7,
        "shared/adapters/dynamo/jobs/folding.py",
        "_amounts(x.job, rules.for_stats(x.old, x.delta))",
        "_amounts(x.job, x.delta)",
        "tests/contracts/test_ends.py::test_jobs_end_together_as_each_would_by_itself[dynamo]",
    ),
    Mutant(
        "a fault of one job keeps others of its batch from their end",
        7,
        "shared/engine/outcome/fold.py",
        """in some]})
            return {}""",
        """in some]})
            return {job.id: (x, job) for x, job in some}""",
        "tests/engine/test_ends.py::test_a_fault_of_one_job_keeps_no_other[ValueError]",
    ),
    Mutant(
        "idempotency key stored without condition",
        7,
        "shared/adapters/dynamo/idempotent_writes.py",
        '"attribute_not_exists(pk) OR expires < :now"',
        '"attribute_not_exists(pk) OR attribute_exists(pk) OR expires < :now"',
        "tests/contracts/test_records.py::test_a_key_that_is_stored_between_look_up_and_commit_is_found[dynamo]",
    ),
    Mutant(
        "a schedule decides by itself when a job starts",
        7,
        "shared/engine/jobs/plan.py",
        "if job.state is not JobState.READY or job.due_at > now:",
        "now = max(now, job.due_at)\n        if job.state is not JobState.READY:",
        "tests/engine/test_schedules.py::test_a_hint_alone_starts_nothing[memory]",
    ),
    # 8: redrive
    Mutant(
        '"not STOPPED" instead of "ENQUEUED or SENDING"',
        8,
        "shared/engine/lane/checks.py",
        "if job.state not in ACTIVE or control.paused:",
        "if job.state is JobState.STOPPED or control.paused:",
        "tests/engine/test_send.py::test_a_stale_pointer_to_an_inactive_job_makes_no_call[LOGGED-for_slots]",
    ),
    # 9: everybody's own
    Mutant(
        "any account's job is the caller's",
        9,
        "functions/api/jobs/routes.py",
        "return job.account == call.key.account and (job.test",
        "return bool(job.account) and (job.test",
        "tests/api/test_apart.py::test_another_account_s_resources_do_not_exist[GET /jobs/{id}]",
    ),
    *PICTURES,
    *PROVIDERS,
    *RECIPIENTS,
    *RUNS,
    *DIGESTS,
    *LISTS,
    *OPERATORS,
    *CAMPAIGNS,
    *APPROVALS,
    *SEALS,
    *CONSOLES,
    *SWITCHES,
    *ACCOUNTS,
)
