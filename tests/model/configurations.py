"""The worlds that are searched whole, and those in which a rule is left out and something must break."""

from dataclasses import replace
from typing import Final

from tests.model.breaker import BROKEN, CIRCUITS, Circuit
from tests.model.digests import configurations as digests
from tests.model.digests.windows import Digests
from tests.model.hooks import configurations as hooks
from tests.model.notices.configurations import LEFT_OUT, NOTICES, NoticeWorld, left_out
from tests.model.notices.configurations import SMALL as SMALL_NOTICES
from tests.model.quotas import configurations as quotas
from tests.model.quotas.spending import Spending
from tests.model.state import Budget
from tests.model.world import World

_CAUGHT_IN_TIME: Final = Budget(crash=1, freeze=1, stop=0, resume=0)

WORLDS: Final[dict[str, World]] = {
    "one chunk, windows of one, stop and resume": World(),
    "one chunk, windows of two, doubts": World(window=2, outcomes="sUN", budget=Budget(crash=2, freeze=1)),
    "three workers": World(workers=3, feedback=False, outcomes="s", budget=Budget(crash=1, freeze=1)),
    "two chunks of one, stop and resume": World(chunks=2, messages=1, feedback=False),
    "two chunks of two": World(chunks=2, feedback=False, stale=False, outcomes="s", budget=Budget(freeze=0, resume=0)),
    "two campaigns, one credential": World(campaigns=(0, 1), messages=1, feedback=False, outcomes="s"),
    "two jobs of a campaign and one of another": World(
        campaigns=(0, 0, 1), messages=1, feedback=False, stale=False, budget=Budget(freeze=0, resume=0)
    ),
    "two campaigns, the account of one is paused": World(
        campaigns=(0, 1), messages=1, feedback=False, outcomes="s", budget=Budget(freeze=0, resume=0, pause=1)
    ),
    "a paused campaign of two chunks gives way": World(
        campaigns=(0, 1),
        chunks=2,
        messages=1,
        workers=1,
        feedback=False,
        stale=False,
        outcomes="s",
        budget=Budget(crash=1, freeze=0, stop=0, resume=0, pause=1),
    ),
    "a campaign whose rest waits gives way": World(
        campaigns=(0, 1),
        messages=1,
        limit=2,
        yields=True,
        feedback=False,
        outcomes="st",
        budget=Budget(crash=1, freeze=1, stop=0, resume=0),
    ),
    "a campaign whose rest waits gives way, stop and resume": World(
        campaigns=(0, 1),
        messages=1,
        limit=2,
        workers=1,
        yields=True,
        feedback=False,
        outcomes="st",
        budget=Budget(crash=1, freeze=0, stop=1, resume=1),
    ),
    "the turn of a campaign ends at any moment": World(
        campaigns=(0, 1),
        messages=1,
        turns=True,
        feedback=False,
        stale=False,
        outcomes="s",
        budget=Budget(crash=1, freeze=1, stop=0, resume=0),
    ),
    "the turn of a campaign of two chunks ends, stop and resume": World(
        campaigns=(0, 1),
        chunks=2,
        messages=1,
        workers=1,
        turns=True,
        feedback=False,
        stale=False,
        outcomes="s",
        budget=Budget(crash=1, freeze=0, stop=1, resume=1),
    ),
    "two tries, every outcome": World(
        limit=2, window=2, exclusive=False, outcomes="sptUNh", feedback=False, budget=_CAUGHT_IN_TIME
    ),
    "two tries, throttled, windows of one": World(
        limit=2, exclusive=False, outcomes="sth", feedback=False, budget=Budget(crash=1, freeze=1)
    ),
    "answers of writes are lost": World(
        limit=2, exclusive=False, outcomes="sth", feedback=False, budget=Budget(stop=0, resume=0, lost=2)
    ),
    "answers of writes are lost, with feedback and stop": World(
        messages=1, limit=2, outcomes="stUh", exclusive=False, budget=Budget(lost=2)
    ),
    "doubts are risked": World(
        limit=2, exclusive=False, fail_over=True, outcomes="stUN", feedback=False, budget=_CAUGHT_IN_TIME
    ),
    "doubts are risked, with feedback": World(
        messages=1,
        limit=2,
        exclusive=False,
        fail_over=True,
        outcomes="stUN",
        budget=Budget(stop=0, resume=0, soft=1, retry=1),
    ),
    "soft words reopen the job": World(
        messages=1, limit=2, exclusive=False, reopens=True, outcomes="stUN", budget=Budget(soft=1)
    ),
    "soft words reopen the job twice": World(
        messages=1, limit=3, exclusive=False, reopens=True, outcomes="s", budget=Budget(soft=2)
    ),
    "soft words reopen one of two": World(
        limit=2, exclusive=False, reopens=True, outcomes="s", budget=Budget(freeze=0, stop=0, resume=0, soft=1)
    ),
    "soft words reopen one of two chunks": World(
        chunks=2,
        messages=1,
        limit=2,
        reopens=True,
        outcomes="s",
        stale=False,
        budget=Budget(freeze=0, stop=0, resume=0, soft=1),
    ),
    "retries": World(outcomes="spt", exclusive=False, budget=Budget(stop=0, resume=0, retry=2), feedback=False),
    "retries with feedback": World(
        messages=1, outcomes="stUN", exclusive=False, budget=Budget(stop=0, resume=0, retry=2, soft=1)
    ),
    "retries that stop and soft words divide": World(
        workers=1,
        outcomes="st",
        exclusive=False,
        stale=False,
        feedback=False,
        budget=Budget(crash=0, freeze=0, stop=1, resume=0, retry=3, soft=1),
    ),
    "two owners retry at once": World(
        chunks=2,
        messages=1,
        workers=1,
        clients=2,
        outcomes="st",
        exclusive=False,
        feedback=False,
        budget=Budget(crash=1, freeze=0, stop=0, resume=0, retry=2),
    ),
    "two owners retry a campaign at once": World(
        chunks=2,
        messages=1,
        workers=1,
        clients=2,
        outcomes="st",
        feedback=False,
        budget=Budget(crash=0, freeze=0, stop=1, resume=0, retry=2),
    ),
}
"""Name to world: in none of them may anything break."""

_SLOW: Final = World(messages=2, slow=1, exclusive=False, feedback=False, outcomes="sU")
_PASSES: Final = World(messages=1, route=2, limit=3, exclusive=False, reopens=True, feedback=False, outcomes="st")
_ASKED: Final = World(messages=1, limit=2, exclusive=False, feedback=False, outcomes="sUN", asking="look")
_RECORDED: Final = World(messages=1, workers=1, exclusive=False, carriers=2, feedback=False, outcomes="st")
_ALONE: Final = Budget(crash=0, freeze=0, stop=0, resume=0)

PASSES: Final = {
    "passes: what failed later, crashes and zombies": replace(
        _PASSES, budget=_ALONE._replace(crash=1, freeze=1, soft=2)
    ),
    "passes: throttled for long, a breaker open for ever": replace(
        _PASSES, outcomes="sth", stale=False, budget=_ALONE._replace(freeze=1, soft=1, shut=1)
    ),
    "passes: two messages that part": replace(
        _PASSES, messages=2, window=2, limit=2, workers=1, stale=False, budget=_ALONE._replace(soft=2, shut=1)
    ),
    "passes: three credentials, one left": replace(
        _PASSES, route=3, outcomes="sth", stale=False, workers=1, budget=_ALONE._replace(soft=2, shut=2)
    ),
    "passes: two messages, three credentials": replace(
        _PASSES, messages=2, window=2, workers=1, route=3, limit=2, budget=_ALONE._replace(freeze=1, soft=1, shut=1)
    ),
    "passes: one credential cannot carry it": replace(
        _PASSES, unable=0b01, budget=_ALONE._replace(crash=1, freeze=1, soft=1, shut=1)
    ),
    "passes: no credential can carry it": replace(
        _PASSES, unable=0b11, stale=False, budget=_ALONE._replace(crash=1, freeze=1, retry=1)
    ),
    "passes: doubts are risked": replace(
        _PASSES, fail_over=True, outcomes="stUN", budget=_ALONE._replace(crash=1, soft=2)
    ),
    "passes: stop, resume and retry": replace(
        _PASSES, limit=2, workers=1, budget=Budget(crash=1, freeze=0, stop=1, resume=1, retry=1, soft=1, shut=1)
    ),
    "a look-up settles doubts": replace(_ASKED, budget=Budget(ask=2)),
    "the same call under its key settles doubts": replace(_ASKED, asking="send", budget=Budget(ask=2)),
    "a look-up among passes": replace(
        _PASSES, asking="look", outcomes="stN", stale=False, budget=_ALONE._replace(freeze=1, soft=1, ask=2)
    ),
    "recorded retries of two chunks": replace(
        _RECORDED, chunks=2, stale=False, budget=_ALONE._replace(stop=1, retry=2)
    ),
    "recorded retries, crash, stop and resume": replace(_RECORDED, budget=Budget(freeze=0, retry=2)),
    "recorded retries that name doubts": replace(
        _RECORDED, names_unknown=True, outcomes="sUN", budget=Budget(freeze=0, retry=2)
    ),
    "recorded retries while soft words reopen": replace(
        _RECORDED, messages=2, carriers=1, limit=2, reopens=True, budget=_ALONE._replace(stop=1, retry=1, soft=1)
    ),
}
"""Name to world, for which job, credential, or who asks is told apart."""
WORLDS.update(PASSES)

_COPIED: Final = World(messages=1, limit=2, exclusive=False, reopens=True, outcomes="stUN", stale=False)
COPIES: Final = {
    "copies: crash, freeze and soft words": replace(
        _COPIED, outcomes="s", budget=_ALONE._replace(crash=1, freeze=1, soft=1, lose=1)
    ),
    "copies: stop, resume and soft words": replace(
        _COPIED, workers=1, budget=Budget(crash=1, freeze=0, stop=1, resume=1, soft=1, lose=1)
    ),
    "copies: two messages in a window, three workers": replace(
        _COPIED,
        messages=2,
        window=2,
        limit=1,
        workers=3,
        feedback=False,
        outcomes="s",
        budget=_ALONE._replace(freeze=1, lose=1),
    ),
    "copies: doubts are asked about": replace(
        _COPIED, asking="look", feedback=False, outcomes="sUN", budget=_ALONE._replace(freeze=1, ask=2, lose=1)
    ),
    "copies: two chunks, each lost": replace(
        _COPIED, chunks=2, limit=1, workers=1, feedback=False, outcomes="s", budget=_ALONE._replace(crash=1, lose=2)
    ),
}
"""Name to world, in which ledgers come back from copies."""
WORLDS.update(COPIES)

SLOW: Final = {
    "slow answers, crash and freeze": replace(_SLOW, budget=Budget(crash=1, freeze=1, resume=0)),
    "slow answers, three messages": replace(
        _SLOW, messages=3, workers=1, stale=False, budget=_ALONE._replace(crash=1, stop=1)
    ),
    "slow answers, every outcome": replace(
        _SLOW, limit=2, outcomes="sptUNh", stale=False, budget=_ALONE._replace(crash=1, freeze=1)
    ),
    "slow answers, and those of writes are lost": replace(
        _SLOW, limit=2, outcomes="sth", stale=False, budget=_ALONE._replace(crash=1, lost=1)
    ),
    "slow answers, with feedback, stop and resume": replace(_SLOW, workers=1, feedback=True, budget=Budget(freeze=1)),
    "slow answers among passes": replace(
        _PASSES, messages=2, slow=1, limit=2, stale=False, budget=_ALONE._replace(crash=1, freeze=1, soft=1)
    ),
    "slow answers, doubts are asked about": replace(
        _ASKED, messages=2, slow=1, stale=False, budget=_ALONE._replace(freeze=1, ask=1)
    ),
}
"""Name to world: a worker claims its next window while slow answers are to come."""
WORLDS.update(SLOW)

_RUN: Final = World(messages=1, limit=2, exclusive=False, outcomes="sUN", asking="look")
RUNS: Final = {
    "runs of notices: withdrawn, closed, asked about": replace(
        _RUN, budget=_ALONE._replace(crash=1, freeze=1, ask=1, drop=1, close=1)
    ),
    "runs of notices: closed and given up": replace(
        _RUN, outcomes="stU", asking="", budget=_ALONE._replace(crash=1, freeze=1, soft=1, drop=1, close=1)
    ),
    "runs of notices: two messages in a window": replace(
        _RUN, messages=2, window=2, outcomes="sN", stale=False, budget=_ALONE._replace(freeze=1, drop=1, close=2)
    ),
    "runs of notices: answers of writes are lost": replace(
        _RUN, outcomes="st", asking="", budget=_ALONE._replace(lost=1, drop=1, close=1)
    ),
}
"""Name to world whose messages have an owner who withdraws and closes them."""
WORLDS.update(RUNS)

_MOVED: Final = World(messages=1, scheduled=True, feedback=False, outcomes="s")
MOVED: Final = {
    "a scheduled job gets another time, stop and resume": replace(_MOVED, budget=Budget(move=2)),
    "two scheduled campaigns, one gets another time": replace(
        _MOVED, campaigns=(0, 1), workers=1, stale=False, budget=Budget(freeze=0, stop=0, resume=0, move=1)
    ),
}
"""Name to world whose jobs wait for a time, which their owner changes."""
WORLDS.update(MOVED)

_FEW: Final = Budget(crash=0, freeze=0, stop=0, resume=0)
_SOFT: Final = World(
    messages=1, limit=2, exclusive=False, reopens=True, outcomes="s", budget=Budget(stop=0, resume=0, soft=1)
)
_PART: Final = replace(_PASSES, messages=2, limit=2, workers=1, outcomes="s", budget=_ALONE._replace(soft=1, shut=1))
_RETRY: Final = replace(WORLDS["two owners retry at once"], budget=Budget(0, 0, 0, 0, retry=2))


_PAUSED: Final = World(campaigns=(0, 1), messages=1, feedback=False, outcomes="s", budget=_FEW._replace(pause=1))


SABOTAGED: Final = {
    "takeover_leaves_unknown": World(messages=1),
    "a_retry_leaves_unknown": World(messages=1, exclusive=False, budget=Budget(stop=0, resume=0, retry=1)),
    "the_job_is_active": World(messages=1),
    "a_stopped_job_waits_for_leases": World(),
    "a_takeover_ends_the_epoch": World(),
    "jobs_share_the_reservation": World(campaigns=(0, 0, 1), messages=1, feedback=False, budget=_FEW),
    "a_plan_checks_the_reservation": World(campaigns=(0, 1), messages=1, feedback=False, budget=_FEW),
    "who_gives_way_has_no_lease": _PAUSED,
    "who_gives_way_is_ready": _PAUSED,
    "who_gives_way_is_as_read": _PAUSED,
    "the_end_gives_the_reservation_back": World(messages=1, feedback=False, budget=_FEW),
    "the_reservation_lasts_until_the_end": replace(_SOFT, exclusive=True),
    "a_fold_is_compared": World(messages=1),
    "a_stopped_job_is_not_reopened": replace(_SOFT, budget=Budget(soft=1)),
    "ones_own_claim_is_known": World(messages=1, outcomes="s", budget=_FEW),
    "the_sweeper": World(messages=1, budget=Budget(stop=0, resume=0)),
    "a_word_names_its_attempt": World(
        messages=1, limit=3, exclusive=False, reopens=True, feedback=False, budget=_FEW._replace(soft=1)
    ),
    "the_finaliser_reads_ledgers": replace(_SOFT, chunks=2),
    "the_finaliser_checks_the_version": _SOFT,
    "a_reopening_takes_the_job_along": _SOFT,
    "given_up_outranks_accepted": replace(_SOFT, reopens=False),
    "the_only_chunk_is_compared": replace(_SOFT, workers=1),
    "late_throttled_stays": World(
        messages=1, exclusive=False, outcomes="sh", budget=Budget(stop=0, resume=0, lost=1), feedback=False
    ),
    "late_not_sent_is_dropped": World(
        messages=1, limit=2, exclusive=False, outcomes="t", budget=Budget(stop=0, resume=0), feedback=False
    ),
    "throttled_have_no_detail": World(messages=1, exclusive=False, outcomes="sh", feedback=False),
    "doubts_on_the_last_try": World(messages=1, exclusive=False, fail_over=True, feedback=False),
    "the_limit_never_shrinks": WORLDS["retries that stop and soft words divide"],
    "an_overtaken_retry_asks_again": replace(_RETRY, without=frozenset({"a_retry_reopens_under_logged"})),
    "a_retry_reopens_under_logged": _RETRY,
    "a_credential_that_failed_it_never_gets_it_again": replace(_PASSES, workers=1, budget=_ALONE._replace(soft=1)),
    "who_cannot_carry_it_never_gets_it_again": replace(_PASSES, unable=0b01, limit=4, workers=1, budget=_ALONE),
    "details_are_read_after_the_ledger": _PART,
    "a_words_detail_comes_first": _PART,
    "without_a_credential_left_it_is_given_up": replace(
        _PASSES, workers=1, fail_over=True, limit=4, outcomes="stU", budget=_ALONE._replace(soft=2)
    ),
    "what_is_queued_leaves_a_lane": replace(_PASSES, workers=1, budget=_ALONE._replace(shut=1)),
    "rounds_come_to_an_end": replace(_PASSES, workers=1, budget=_ALONE._replace(soft=1, shut=1)),
    "a_lease_is_of_its_lane": replace(_PASSES, budget=_ALONE._replace(soft=1)),
    "absent_names_its_attempt": replace(_ASKED, budget=_ALONE._replace(crash=1, freeze=1, ask=2)),
    "absence_is_told_once_no_call_is_left": replace(_ASKED, budget=_ALONE._replace(freeze=1, ask=1)),
    "a_stopped_job_is_not_asked_about": replace(_ASKED, asking="send", budget=Budget(resume=0, ask=1)),
    "slow_answers_are_few": replace(_SLOW, messages=3, workers=1, budget=_ALONE._replace(crash=1)),
    "a_lost_claim_gives_back_its_own_window": replace(_SLOW, workers=1, limit=2, budget=_ALONE._replace(lost=1)),
    "only_what_waits_is_withdrawn": replace(_RUN, budget=_ALONE._replace(drop=1)),
    "what_is_closed_has_no_worker": replace(_RUN, budget=_ALONE._replace(freeze=1, close=1)),
    "what_is_closed_stays_closed": replace(_RUN, budget=_ALONE._replace(freeze=1, ask=1, close=1)),
    "what_waits_in_a_copy_is_in_doubt": replace(_COPIED, workers=1, feedback=False, budget=_ALONE._replace(lose=1)),
    "a_copy_has_no_attempt_left": replace(_COPIED, workers=1, budget=_ALONE._replace(soft=1, lose=1)),
    "a_plan_checks_the_time": replace(_MOVED, budget=_ALONE._replace(move=1)),
    "a_move_is_of_what_waits": replace(_MOVED, budget=_ALONE._replace(move=1)),
    "a_slice_is_written_as_read": PASSES["recorded retries of two chunks"],
    "a_slice_is_of_its_retry": PASSES["recorded retries that name doubts"],
    "a_reopened_job_waits_for_its_retry": PASSES["recorded retries while soft words reopen"],
}
"""A rule to the world in which leaving it out breaks something."""


AnyWorld = World | Circuit | NoticeWorld | Digests | hooks.HookWorld | Spending
TASKS: Final[dict[str, AnyWorld]] = {
    **WORLDS,
    **{f"breaker: {k}": v for k, v in CIRCUITS.items()},
    **{f"notices: {k}": v for k, v in NOTICES.items()},
    **{f"digests: {k}": v for k, v in digests.DIGESTS.items()},
    **{f"hooks: {k}": v for k, v in hooks.HOOKS.items()},
    **{f"quotas: {k}": v for k, v in quotas.QUOTAS.items()},
}
"""All that is searched whole."""
RULES: Final = (*SABOTAGED, *BROKEN, *LEFT_OUT, *digests.LEFT_OUT, *hooks.LEFT_OUT, *quotas.LEFT_OUT)


def sabotaged(rule: str) -> AnyWorld:
    """Return the world in which a rule is left out."""
    if rule in LEFT_OUT:
        return left_out(rule)
    if rule in digests.LEFT_OUT:
        return digests.left_out(rule)
    if rule in hooks.LEFT_OUT:
        return hooks.left_out(rule)
    if rule in quotas.LEFT_OUT:
        return quotas.left_out(rule)
    if rule in BROKEN:
        return replace(BROKEN[rule], without=frozenset({rule}))
    world = SABOTAGED[rule]
    return replace(world, without=world.without | {rule})


SMALL: Final = (
    "three workers",
    "two chunks of two",
    "two campaigns, one credential",
    "a paused campaign of two chunks gives way",
    "passes: what failed later, crashes and zombies",
    "passes: two messages that part",
    "the same call under its key settles doubts",
    "slow answers, crash and freeze",
    "recorded retries, crash, stop and resume",
    "runs of notices: two messages in a window",
    "a scheduled job gets another time, stop and resume",
    "copies: two messages in a window, three workers",
    "breaker: one credential, messages alone",
    *(f"notices: {name}" for name in SMALL_NOTICES),
    *(f"digests: {name}" for name in digests.SMALL),
    *(f"hooks: {name}" for name in hooks.SMALL),
    *(f"quotas: {name}" for name in quotas.SMALL),
)
"""Worlds that all tests search whole."""
QUICK: Final = (
    "three workers",
    "runs of notices: two messages in a window",
    "breaker: one credential, messages alone",
    "notices: one notice, two actions, one run",
    "notices: update log, three writers, one reader",
    "digests: two events, windows of one part, two makers, a crash",
    "hooks: a new endpoint, three folders, three gatherers",
    "hooks: two changes of a cell, a crash",
)
"""A small world of each kind: the first tier searches these."""
DEAR: Final = frozenset({"the_finaliser_reads_ledgers", "the_limit_never_shrinks"}) | digests.DEAR
"""Rules whose worlds take many seconds until something breaks."""
LONG: Final = frozenset(
    {
        "a_closed_cell_stays_closed",
        "a_doubtful_window_is_asked_again",
        "a_lease_is_looked_at_when_it_ends",
        "a_note_ends_its_own_beginning",
        "a_reopened_job_waits_for_its_retry",
        "a_retry_reopens_under_logged",
        "a_stopped_job_is_not_reopened",
        "a_word_is_of_its_run",
        "absent_names_its_attempt",
        "an_end_moves_as_read",
        "an_overtaken_retry_asks_again",
        "delivered_counts_for_its_data",
        "job_and_window_change_together",
        "repeats_are_looked_for_in_earlier_windows",
        "what_is_begun_follows_what_was_read",
        "what_is_closed_stays_closed",
        "what_waits_is_looked_at",
        "without_a_credential_left_it_is_given_up",
    }
)
"""Rules whose worlds take over a quarter of a second until something breaks: the first tier omits the others."""
