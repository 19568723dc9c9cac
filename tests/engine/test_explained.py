"""Which entry of a list explains why a message was skipped."""

from dataclasses import replace
from typing import Any, cast

from shared.domain.jobs.states import MessageState, Status
from shared.domain.recipients.suppressions import AnyReach, Reach, Suppression
from shared.engine.reports.explained import explained
from shared.engine.reports.message_log import LogLine
from shared.ports import Records, SuppressionList
from tests.fakes.world import World


class Entries:
    """A list on which each address is that is asked for. `asked`: how often it was read."""

    def __init__(self, reach: AnyReach) -> None:
        self.reach = reach
        self.asked = 0

    def entries(self, namespace: str, address_keys: Any, reaches: Any) -> dict[str, tuple[AnyReach, Suppression]]:
        del namespace, reaches
        self.asked += 1
        return {key: (self.reach, Suppression(key, "bounced", 0, "j")) for key in address_keys}


def lines(*errors: str | None) -> list[LogLine]:
    state = MessageState.SKIPPED
    one = LogLine("0.0", "Ann@example.org", state, next(iter(Status)), {}, (), 0, None)
    return [replace(one, message=f"0.{i}", error=error) for i, error in enumerate(errors)]


def found(entries: Entries, *errors: str | None) -> dict[str, str]:
    job = World().accept(1)
    got = explained(job, lines(*errors), cast(SuppressionList, entries), cast(Records, None))
    return {message: entry.address for message, (_, entry) in got.items()}


def test_an_entry_of_another_list_explains_nothing() -> None:
    assert found(Entries(Reach.ALL), "suppressed", "unsubscribed") == {"0.0": "ann@example.org"}
    assert found(Entries(Reach.CAMPAIGNS), "suppressed", "unsubscribed") == {"0.1": "ann@example.org"}


def test_nothing_is_read_where_no_message_was_skipped_so() -> None:
    entries = Entries(Reach.ALL)
    assert found(entries, None, "5.1.1", "invalid_address") == {}
    assert entries.asked == 0
