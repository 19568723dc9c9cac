"""The worlds of hooks that are searched whole, and those in which a rule is left out and something must break."""

from dataclasses import replace
from typing import Final

from tests.model.hooks.calls import Calls
from tests.model.hooks.enabling import Enabling
from tests.model.hooks.telling import Telling

HookWorld = Telling | Calls | Enabling
HOOKS: Final[dict[str, HookWorld]] = {
    "changes of a cell, two crashes, a hint twice": Telling(),
    "two changes of a cell, a crash": Telling(changes=2, crash=1),
    "quick gatherers: three changes, a crash, a hint twice": Telling(crash=1, quick=True),
    "three changes, a crash, one change that no endpoint wants": Telling(crash=1, unwanted=2),
    "single events: three changes, two crashes, a hint twice": Telling(single=True),
    "single events: two changes, a crash": Telling(changes=2, crash=1, single=True),
    "one delivery, two crashes, two slow workers": Calls(deliveries=1, crash=2, slow=2),
    "two deliveries, a lost hint, a slow worker": Calls(crash=0),
    "two deliveries, a crash": Calls(lost=0, slow=0),
    "three tries, three workers": Calls(deliveries=1, tries=3, workers=3),
    "a new endpoint, three folders, three gatherers": Enabling(processes=3),
}
"""Name to world: in none of them may anything break."""

LEFT_OUT: Final[dict[str, HookWorld]] = {
    "the_hint_is_before_the_fold": Telling(changes=2, crash=1),  # H1.2
    "only_a_hint_that_waits_spares_another": Telling(changes=2, crash=1),  # H1.6
    "an_endpoint_is_enabled_when_its_listing_is_known": Enabling(),  # H1.5
    "an_endpoint_is_enabled_when_its_proof_is_known": Enabling(),  # H2.9
    "a_fold_is_of_the_ledger_as_read": Telling(changes=2, crash=1),  # J2
    "deliveries_are_stored_before_they_are_noted": Telling(changes=2, crash=1),  # H2.2
    "a_note_says_what_was_begun": Telling(changes=2, crash=1),  # H2.3
    "what_is_begun_is_left_to_its_gatherer": Telling(changes=1, crash=0, quick=True),  # H2.6
    "what_is_begun_follows_what_was_read": Telling(changes=2, crash=1, single=True),  # H2.6
    "a_beginning_stays": Telling(changes=2, crash=1, single=True),  # H2.6
    "a_note_ends_its_own_beginning": Telling(changes=2, crash=1, single=True),  # H2.7
    "a_delivery_is_stored_before_it_is_counted": Calls(workers=1, crash=0, slow=0),  # H3.1
    "an_addition_wakes": Calls(deliveries=1),  # H3.2
    "a_lease_is_looked_at_when_it_ends": Calls(deliveries=1),  # H4.2
    "a_release_sees_additions": Calls(workers=1, crash=0, slow=0),  # H4.4
    "what_waits_is_looked_at": Calls(deliveries=1),  # H4.5
    "the_next_is_stored_before_the_old_is_removed": Calls(deliveries=1),  # H4.3
}
"""A rule to the world in which leaving it out breaks something; behind it, its number in docs/protocol.md."""

SMALL: Final = (
    "two changes of a cell, a crash",
    "single events: two changes, a crash",
    "one delivery, two crashes, two slow workers",
    "a new endpoint, three folders, three gatherers",
)
"""Worlds that are searched with every run of the tests."""


def left_out(rule: str) -> HookWorld:
    """Return the world in which a rule is left out."""
    return replace(LEFT_OUT[rule], without=frozenset({rule}))
