"""Policies, events, parts and windows for tests."""

from dataclasses import replace
from typing import Any, Final

from shared.domain.digests.events import DigestEvent, pack, raw_size
from shared.domain.digests.policy import DigestPolicy
from shared.domain.digests.window import DigestWindow, EventPart, opened

NOW: Final = 1_790_000_000_000
ACCOUNT: Final = "acc_000000000001"
KEY: Final = "acme/production"
POLICY: Final = DigestPolicy(ACCOUNT, "acme/", 1, NOW, NOW, subject="{{ count }} events")


def policy(**changes: Any) -> DigestPolicy:
    return replace(POLICY, **changes)


def event(n: int = 0, **changes: Any) -> DigestEvent:
    made = DigestEvent("task_failed", (f"p{n % 7}@example.com",), NOW + n, {"task": f"t{n}"}, id=f"e{n}")
    return replace(made, **changes)


def part(n: int = 0, events: int = 1) -> EventPart:
    """Return a part; each n has an id of its own."""
    held = [event(n * 1000 + i) for i in range(events)]
    return EventPart(f"{n:016d}", pack(held), events, sum(map(raw_size, held)), NOW // 1000 + 86_400)


def window(number: int = 1, n: int | None = None, **changes: Any) -> DigestWindow:
    """Return a window that was just opened, with its part in it."""
    held = part(number if n is None else n)
    key = changes.pop("key", KEY)
    test = changes.pop("test", False)
    return replace(opened((ACCOUNT, test), key, number, POLICY, held, NOW), **changes)
