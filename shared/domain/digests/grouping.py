"""Groups of a window's recipients: those with the same events form a group, whose message is made once."""

from collections.abc import Sequence

from shared.domain.digests.events import DigestEvent
from shared.frozen import dataclass


@dataclass(frozen=True, slots=True)
class DigestGroup:
    """Recipients who get the same events.

    Attributes:
        recipients: in the order in which the events first name them.
        events: positions in `GroupedEvents.events`, ascending; at least one.
    """

    recipients: tuple[str, ...]
    events: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GroupedEvents:
    """The events of a window by recipient.

    Attributes:
        events: by their time, those of the same time in the order of their arrival.
        groups: each recipient is in exactly one.
    """

    events: tuple[DigestEvent, ...]
    groups: tuple[DigestGroup, ...]


def group(events: Sequence[DigestEvent]) -> GroupedEvents:
    """Order events and group their recipients. Equal input gives equal output.

    Args:
        events: in the order of their arrival.
    """
    ordered = tuple(sorted(events, key=lambda event: event.at))
    lists: dict[str, list[int]] = {}
    for number, event in enumerate(ordered):
        for recipient in event.recipients:
            numbers = lists.setdefault(recipient, [])
            if not numbers or numbers[-1] != number:  # an event may name a recipient twice
                numbers.append(number)
    groups: dict[tuple[int, ...], list[str]] = {}
    for recipient, numbers in lists.items():
        groups.setdefault(tuple(numbers), []).append(recipient)
    return GroupedEvents(ordered, tuple(DigestGroup(tuple(who), which) for which, who in groups.items()))
