import re

import pytest

from shared.domain.hooks.kinds import (
    ACCOUNT_KINDS,
    DEPLOYMENT_KINDS,
    MESSAGE_KINDS,
    HookKind,
    batch_id,
    event_id,
    kind_of,
    message_event_id,
)
from shared.domain.jobs.states import OPEN, Cell, MessageState, message_state

JOB = "01khooks000000000000000000"


def test_every_kind_belongs_to_accounts_or_operators_or_is_the_proof() -> None:
    assert ACCOUNT_KINDS | DEPLOYMENT_KINDS | {HookKind.TEST} == set(HookKind)
    both = {HookKind.CAMPAIGN_HALTED, HookKind.QUOTA_REACHED, HookKind.ACCOUNT_BOUNCING}
    assert both == ACCOUNT_KINDS & DEPLOYMENT_KINDS
    assert MESSAGE_KINDS < ACCOUNT_KINDS


@pytest.mark.parametrize("cell", list(Cell))
def test_a_state_is_an_event_unless_the_message_is_still_open(cell: Cell) -> None:
    kind = kind_of(cell)
    assert (kind is None) == (cell in OPEN)
    if kind is not None and kind is not HookKind.MESSAGE_BOUNCED:
        assert kind.value == f"message.{message_state(cell).value}"
    if kind is HookKind.MESSAGE_BOUNCED:
        assert message_state(cell) is MessageState.FAILED


def test_an_event_of_a_message_is_named_by_its_attempt_and_kind() -> None:
    name = message_event_id(JOB, 3, 12, 2, HookKind.MESSAGE_DELIVERED)
    assert name == f"evt_{JOB}-3-12-2-message-delivered"
    assert name != message_event_id(JOB, 3, 12, 2, HookKind.MESSAGE_BOUNCED)


def test_other_ids_differ_with_each_part_and_show_no_address() -> None:
    names = {
        event_id(HookKind.UNSUBSCRIBED, "acme", "ada@example.com"),
        event_id(HookKind.SUPPRESSION_ADDED, "acme", "ada@example.com"),
        event_id(HookKind.UNSUBSCRIBED, "acmeada@example.com"),
        batch_id("hook_1", 5, ["evt_1", "evt_2"]),
        batch_id("hook_1", 6, ["evt_1", "evt_2"]),
        batch_id("hook_1", 5, ["evt_2", "evt_1"]),
        batch_id("hook_2", 5, ["evt_1", "evt_2"]),
    }
    assert len(names) == 7
    assert all(re.fullmatch(r"evt_[0-9a-f]{32}", name) for name in names)
    assert event_id(HookKind.JOB_LOGGED, JOB, 5) == event_id(HookKind.JOB_LOGGED, JOB, "5")
