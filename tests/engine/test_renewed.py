"""A key that is rotated and revoked at once costs seconds, by the very parts that serve a lane."""

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from shared import contracts
from shared.adapters.secrets import KEPT, Secrets
from shared.bootstrap.sending import SendingLane
from shared.contracts import Credential
from shared.domain.content.content import Content
from shared.domain.jobs.outcomes import Outcome
from shared.engine.lane import send as engine
from shared.ports import Target
from shared.providers import registry
from tests.engine.failing import UNAUTHORIZED, breaker
from tests.fakes.clock import FakePool
from tests.fakes.links import FakeLinks
from tests.fakes.world import LEASE_MARGIN, World

TIMEOUT = 10.0


class Manager:
    """A Secrets Manager with one secret."""

    def __init__(self) -> None:
        self.key = "first"
        self.reads = 0

    def get_secret_value(self, SecretId: str) -> dict[str, str]:  # noqa: N803 - boto3's name
        self.reads += 1
        if self.key == "denied":
            raise RuntimeError("no right to read it")
        return {"SecretString": json.dumps({"api_key": self.key})}


class Account:
    """A provider's account, which takes one key; `lane` is served by the parts that serve it in a function."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        declared = Credential("one", "sendgrid", "email", 100)
        self.world = world = World(declared)
        self.key = "first"
        self.manager = Manager()
        self.calls: list[str] = []
        deployment: Any = SimpleNamespace(
            records=world.records,
            ledgers=world.ledgers,
            pacer=world.pacer,
            lanes=world.lanes,
            recovery=world.recovery,
            breaker_cache=world.breaker_cache,
            clock=world.clock,
            env={contracts.ENV_LEASE_MARGIN: str(LEASE_MARGIN)},
            links=FakeLinks(),
            expired_of=lambda lanes: world.expired_of(lanes, world.recovery),
            address="",
            secrets=Secrets(self.manager, "dev", world.clock),  # type: ignore[arg-type]
        )
        monkeypatch.setattr(registry, "provider", lambda _name: self.made)
        monkeypatch.setattr(engine, "ThreadPool", lambda: FakePool)
        self.lane = SendingLane(deployment, declared)

    def made(self, needs: registry.Needs) -> Any:
        """Return the provider under a key."""
        real, key = self.world.providers["one"], needs.secret["api_key"]

        def send(content: Content, targets: Sequence[Target], *, deadline: float) -> list[Outcome]:
            self.calls.append(key)
            if key != self.key:
                return [UNAUTHORIZED for _ in targets]
            return real.send(content, targets, deadline=deadline)

        return SimpleNamespace(per_call=1, has_feedback=True, send=send)

    def run(self, seconds: float) -> None:
        """Serve the lane for a while, and sweep."""
        world = self.world
        end = world.clock.now() + seconds
        while world.clock.now() < end:
            world.senders["one"] = self.lane.sender(TIMEOUT)
            if not world.step():
                world.clock.sleep(0.1)


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Account:
    return Account(monkeypatch)


@pytest.mark.promise(1)
def test_a_key_rotated_and_revoked_at_once_costs_seconds(account: Account) -> None:
    world = account.world
    first = world.accept(20)
    account.run(20)
    assert world.counts(first.id) == {"sent": 20}
    account.key = account.manager.key = "second"
    second = world.accept(200)
    began = world.clock.now()
    account.run(20)
    assert world.counts(second.id) == {"sent": 200}
    assert max(t.at for t in world.oracle.taken) - began < 15  # a second round, of those whose calls were refused
    assert breaker(world).version == 0
    assert 1 <= account.calls[20:].count("first") <= 4
    assert account.manager.reads == 2
    world.check()


@pytest.mark.promise(1)
def test_a_key_stored_after_the_old_one_was_revoked_is_found_by_the_next_probe(account: Account) -> None:
    world = account.world
    account.run(1)
    account.key = "second"
    job = world.accept(50)
    account.run(3)
    assert not breaker(world).closed
    account.manager.key = "second"
    account.run(40)
    assert breaker(world).closed
    assert world.counts(job.id)["sent"] >= 49  # one used a try when the breaker opened, and waits for its round
    assert world.clock.now() < breaker(world).since / 1000 + KEPT
    world.check()


def test_a_secret_that_cannot_be_read_opens_the_breaker_and_nothing_else(account: Account) -> None:
    world = account.world
    account.run(1)
    world.clock.sleep(60)
    account.key, account.manager.key = "second", "denied"
    job = world.accept(50)
    account.run(3)
    assert (breaker(world).reason, breaker(world).failures) == ("unauthorized", 1)
    assert world.counts(job.id) == {"queued": 50}
