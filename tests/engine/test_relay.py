"""A job through an SMTP relay, from acceptance to LOGGED: what the server has is what the job says."""

import random
from collections import Counter
from collections.abc import Iterator

import pytest

from shared.adapters.smtp.transport import SmtpClient
from shared.domain.jobs.states import JobState
from shared.providers.smtp.send import SmtpRelay
from tests.fakes.world import World, credential
from tests.providers.relay import PASSWORD, USER, Faults, RelayServer


@pytest.fixture
def server() -> Iterator[RelayServer]:
    with RelayServer(auth=True) as relay:
        yield relay


@pytest.fixture
def world(server: RelayServer) -> Iterator[World]:
    """A world whose first lane relays; the second is a fake."""
    made = World(credential("one"), credential("two"))
    transport = SmtpClient(made.clock)
    secret = {"username": USER, "password": PASSWORD}
    made.providers["one"] = SmtpRelay(  # type: ignore[assignment]
        transport, f"smtp+plain://127.0.0.1:{server.port}", secret, made.clock
    )
    made.reboot()
    yield made
    transport.close()


@pytest.mark.promise(3)
def test_relayed_is_success_at_once(world: World, server: RelayServer) -> None:
    server.faults = Faults(rcpt="550 5.1.1 no such user", only="r3@example.com")
    job = world.accept(12, route=("one",))
    world.settle()
    done = world.job(job.id)
    assert done.state is JobState.LOGGED
    assert {k: v for k, v in done.counts.items() if v} == {"relayed": 11, "failed": 1}
    assert sorted(d.recipients[0] for d in server.deliveries) == sorted(
        f"r{i}@example.com" for i in range(12) if i != 3
    )


@pytest.mark.promise(1)
def test_what_a_relay_surely_has_not_goes_to_the_next_provider(world: World, server: RelayServer) -> None:
    server.faults = Faults(end="451 4.3.0 no disk")
    job = world.accept(6, route=("one", "two"))
    world.settle()
    assert world.job(job.id).counts["sent"] == 6
    assert server.deliveries == []
    assert Counter(t.address for t in world.oracle.taken) == {f"r{i}@example.com": 1 for i in range(6)}


@pytest.mark.promise(1)
@pytest.mark.parametrize("accept", [True, False])
def test_a_lost_reply_stays_unknown_and_no_other_provider_is_called(
    world: World, server: RelayServer, *, accept: bool
) -> None:
    server.faults = Faults(drop="end", accept=accept)
    job = world.accept(4, route=("one",))
    world.settle()
    assert {k: v for k, v in world.job(job.id).counts.items() if v} == {"unknown": 4}
    assert len(server.deliveries) == (4 if accept else 0)
    assert server.transactions == 4


@pytest.mark.promise(1)
@pytest.mark.parametrize("seed", range(5))
def test_faults_at_every_step_lose_and_repeat_nothing(world: World, server: RelayServer, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - which fault comes next
    faults = [
        Faults(),
        *(Faults(drop=step) for step in ("greeting", "mail", "rcpt", "data")),
        Faults(greeting="421 4.3.2 shutting down"),
        *(
            Faults(mail="451 4.3.0 x"),
            Faults(rcpt="452 4.3.1 x"),
            Faults(data="451 4.3.0 x"),
            Faults(end="451 4.3.0 x"),
        ),
        *(Faults(drop="end", accept=True), Faults(drop="end"), Faults(end="x", accept=True)),
    ]
    job = world.accept(20, route=("one",))
    server.choose = lambda: rng.choice(faults)
    for _ in range(2):
        world.run(seconds=60)
    server.choose = Faults
    world.settle()
    counts = world.job(job.id).counts
    arrived = Counter(d.recipients[0] for d in server.deliveries)
    assert server.transactions > 20
    assert sum(counts.values()) == 20
    assert set(arrived.values()) <= {1}
    assert counts["relayed"] <= len(arrived) <= counts["relayed"] + counts["unknown"]
    assert counts["queued"] == counts["sending"] == 0
