"""Whatever tells of messages or people has its end: DynamoDB removes it as long after as docs/operations.md says."""

from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from shared.contracts import ProviderEvent
from tests.api.conftest import Api

PLACES: Final = {
    "J": {"JOB": "job", "CONTENT": "content", "C": "chunk", "L": "ledger", "F": "marks"},
    "D": {"W": "window", "F": "feedback"},
    "M": {"CAMPAIGN": "campaign", "U": "upload", "E": "problems"},
    "X": {"EXPORT": "export"},
}
"""First part of a partition, then of a sort key → what an item is; others: see `kind`."""
OF_AN_ACCOUNT: Final = {"AUDIT": "audit", "EVENTS": "event", "DUE": "agenda"}
FOR_EVER: Final = {"campaign", "STATS", "SUP", "SUPLOG", "K", "PROFILE", "KEY", "SENDER", "SUPPRESSED", "ACCOUNTS"} | {
    *(f"STOP{x}{log}" for x in ("SMS", "VOICE", "WHATSAPP") for log in ("", "LOG")),
    "P",
    "SYS",  # the mark that identities have been moved
}


def kind(pk: str, sk: str) -> str:
    """Return what an item is, by its key."""
    (first, *rest), name = pk.split("#"), sk.partition("#")[0]
    if first in PLACES:
        return PLACES[first][name]
    if first == "A":
        return OF_AN_ACCOUNT.get(rest[1], rest[1]) if len(rest) > 1 else name
    return {"I": "idempotency"}.get(first, first)


@pytest.mark.slow
def test_every_kind_of_item_goes_when_it_should(api: Api) -> None:
    """All that is there either has its days or is of a kind that is kept until somebody deletes it."""
    world = api.world
    begun = int(world.clock.now())
    batch = api.accepted([f"{c}@example.org" for c in "abcde"], http={"Idempotency-Key": "invoice"})
    campaign = api.campaign()
    api.listed(campaign, {"recipient": "a@example.org", "name": "Ann"}, {"recipient": "nobody", "name": "N"})
    api.sent(campaign)
    world.settle()
    world.track("one", ProviderEvent(f"{batch}-0-0-1", "bounced", begun, secondary=False))
    api.call("GET", f"/campaigns/{campaign}/export")
    in_a_week = datetime.fromtimestamp(begun, UTC) + timedelta(days=7)
    api.accepted(["b@example.org"], scheduled_at=in_a_week.isoformat())
    found: dict[str, set[int]] = {}
    for item in api.stored():
        days = round((int(item["ttl"]["N"]) - begun) / 86_400) if "ttl" in item else 0
        found.setdefault(kind(item["pk"]["S"], item["sk"]["S"]), set()).add(days)
    batches_and_lists = {30, 30 + 7, 30 + 30}
    assert {name: days for name, days in found.items() if name not in FOR_EVER} == {
        **dict.fromkeys(("job", "chunk", "ledger"), batches_and_lists),
        "content": {30, 30 + 30},
        "window": {30, 30 + 30},
        "feedback": {30},
        "upload": {30 + 30},
        "problems": {30 + 30},
        "export": {8},
        "idempotency": {1},
        "agenda": {8},
        "SCHEDULES": {400},
        "TURNS": {1},
        "FIND": batches_and_lists,
        "marks": {30 + 30},
        "audit": {400},
    }
    assert {name for name, days in found.items() if 0 in days} == FOR_EVER & set(found)
