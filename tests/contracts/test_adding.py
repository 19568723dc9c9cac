"""An adder over the stores in memory and on DynamoDB: the same requests fill the same windows."""

import random
from collections import Counter

import pytest

from shared.adapters.dynamo.digests.keeping import DynamoWindowRetention
from shared.adapters.dynamo.digests.policies import DynamoDigestPolicies
from shared.adapters.dynamo.digests.windows import DynamoWindows
from shared.domain.audit import SYSTEM, audited
from shared.domain.digests.events import event_id, unpack
from shared.domain.digests.window import DigestWindow, WindowState
from shared.engine.digests.add import DigestAdder, NoPolicy, OtherContent, PostedEvent
from shared.ports import DigestPolicies, WindowRetention, Windows
from tests.domain.digests.examples import ACCOUNT, event, policy
from tests.fakes.clock import FakeClock, FakePool
from tests.fakes.digests.policies import FakeDigestPolicies
from tests.fakes.digests.windows import FakeDigestHints, FakeWindows
from tests.fakes.faults import When
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores

KEYS = ("acme/one", "acme/two")


def adders(stores: Stores, clock: FakeClock, limit: int) -> tuple[list[DigestAdder], Windows]:
    """Return adders of two processes, and what they share."""
    windows: Windows
    keeping: WindowRetention
    policies: DigestPolicies
    if isinstance(stores, FakeStores):
        windows = keeping = FakeWindows(stores.tap)
        policies = FakeDigestPolicies(tap=stores.tap)
    else:
        assert isinstance(stores, MotoStores)
        windows = DynamoWindows(stores.dynamo, records=stores.tables.records)
        keeping = DynamoWindowRetention(stores.dynamo, records=stores.tables.records)
        policies = DynamoDigestPolicies(stores.dynamo, records=stores.tables.records)
    one = policy(window=60, near=10, extend=15, max_age=120, max_events=limit)
    policies.save(None, one, None, event=audited(ACCOUNT, clock.ms, "policy", "digest_policy.created", SYSTEM))
    hints = FakeDigestHints()

    def made() -> DigestAdder:
        return DigestAdder(windows=windows, keeping=keeping, policies=policies, hints=hints, clock=clock, pool=FakePool)

    return [made(), made()], windows


def windows_of(windows: Windows, key: str) -> list[DigestWindow]:
    last = windows.last(ACCOUNT, key)
    assert last is not None
    name = last.id.partition("-")[0]
    found = [windows.get(f"{name}-{n}") for n in range(1, last.number + 1)]
    return [x for x in found if x is not None]


@pytest.mark.slow
@pytest.mark.parametrize("limit", [7, 1000])
@pytest.mark.parametrize("seed", [1, 2])
def test_requests_fill_windows_once_though_answers_are_lost(
    stores: Stores, clock: FakeClock, seed: int, limit: int
) -> None:
    rng = random.Random(seed)  # noqa: S311
    processes, windows = adders(stores, clock, limit)
    posted: Counter[str] = Counter()
    for n in range(25):
        names = [f"{n}.{i}" for i in range(rng.choice((1, 3, 12)))]
        posted.update(names)
        request = [PostedEvent(rng.choice(KEYS), event(0, data={"n": x}, id=event_id(x, "", 0))) for x in names]
        if rng.random() < 0.5:
            stores.tap.arm(rng.randrange(4), When.REPEATED, where=lambda name: "put" in name or "update" in name)
        added = rng.choice(processes).add(ACCOUNT, request, test=False)
        stores.tap.disarm()
        assert not isinstance(added, NoPolicy | OtherContent)
        assert sum(x.accepted for x in added) == len(names)
        clock.advance(rng.choice((0, 0, 3, 20, 70)))
    held: Counter[str] = Counter()
    for key in KEYS:
        there = windows_of(windows, key)
        assert all(x.state is WindowState.CLOSED for x in there[:-1])
        for window in there:
            data = windows.parts(window.parts)
            events = [x for part in window.parts for x in unpack(data[part])]
            assert len(events) == window.events <= limit
            assert window.closes_at <= window.opened_at + 120_000
            held.update(x.data["n"] for x in events)
    assert held == posted
