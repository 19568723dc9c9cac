"""The worlds of notices that are searched whole, and those in which a rule is left out and something must break."""

from dataclasses import replace
from typing import Final

from tests.model.notices.inbox import Inbox
from tests.model.notices.log import Log
from tests.model.notices.purge import Purge
from tests.model.notices.states import Harm, Notices

NoticeWorld = Notices | Log | Inbox | Purge

_FEW: Final = Harm(crash=0, stale=0, late=0)

NOTICES: Final[dict[str, NoticeWorld]] = {
    "one notice, three actions, two runs, a crash, late words": Notices(runs=2),
    "one notice, two actions, three runs": Notices(harm=Harm(act=2)),
    "one notice, four actions, no crash": Notices(runs=2, harm=Harm(act=4, crash=0, late=0)),
    "one notice, two crashes, two late processes": Notices(runs=2, harm=Harm(act=2, crash=2, stale=2)),
    "one notice, two actions, one run": Notices(runs=1, harm=Harm(act=2)),
    "two notices in one job, three actions": Notices(notices=2, runs=1, harm=_FEW),
    "two notices, a crash, late processes": Notices(notices=2, versions=1, runs=1, harm=Harm(late=0)),
    "update log, three writers, one reader": Log(),
    "payloads, two takers": Inbox(),
    "one notice that ends and comes back, a walk of its log": Purge(),
}
"""Name to world: in none of them may anything break."""

_ASKED: Final = Notices(runs=2, harm=Harm(act=2, user=1))
LEFT_OUT: Final[dict[str, NoticeWorld]] = {
    "due_names_the_versions": Notices(),
    "an_action_waits_for_the_run": Notices(),
    "the_same_data_drop_what_is_kept": Notices(),
    "a_word_is_of_its_run": Notices(),
    "delivered_counts_for_its_data": Notices(),
    "unknown_is_never_temporary": Notices(),
    "the_cell_is_closed_first": Notices(),
    "a_closed_cell_stays_closed": Notices(),
    "nothing_is_closed_while_a_worker_may_send": _ASKED,
    "a_lost_worker_is_waited_for": _ASKED,
    "a_cancellation_says_its_doubt": Notices(),
    "a_withdrawn_cell_has_a_word": Notices(runs=1, harm=_FEW),
    "expired_cells_need_no_worker": Notices(runs=1, harm=_FEW._replace(act=1)),
    "owners_stop_no_such_job": Notices(runs=1, harm=_FEW._replace(act=1, user=1)),
    "owners_retry_no_such_job": _ASKED,
    "readers_close_the_log": Log(),
    "a_stamp_is_later_than_the_last": Log(),
    "a_checkpoint_is_compared": Inbox(),
    "only_what_is_collected_goes_sooner": Purge(),
    "a_walk_is_at_the_last_entry": Purge(),
    "a_walk_writes_what_it_read": Purge(),
}
"""A rule to the world in which leaving it out breaks something."""

SMALL: Final = (
    "one notice, two actions, one run",
    "update log, three writers, one reader",
    "payloads, two takers",
    "one notice that ends and comes back, a walk of its log",
)
"""Worlds that are searched with every run of the tests."""


def left_out(rule: str) -> NoticeWorld:
    """Return the world in which a rule is left out."""
    return replace(LEFT_OUT[rule], without=frozenset({rule}))
