"""What waits of many mails is dropped in a few rounds of calls side by side, and never more than the audit log says."""

from collections.abc import Callable
from typing import Any

import pytest

from shared.domain.audit import Act, Event, Log
from shared.domain.jobs.job import Job
from shared.domain.jobs.states import Cell
from shared.engine.mails.dropping import WIDTH, WaitingMails
from tests.engine.mails.mail_world import MailWorld
from tests.fakes.clock import FakePool
from tests.fakes.faults import Crash, When
from tests.fakes.world import ACCOUNT, credential

REVOKED = {"reason": "key revoked", "key": "key_1"}


@pytest.fixture
def world() -> MailWorld:
    return MailWorld(credential("one"))


class Rounds:
    """Makes pools, and notes how many calls each of them makes."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def __call__(self, size: int) -> FakePool:
        assert size == WIDTH
        self.calls.append(0)
        return _Counting(self.calls)


class _Counting(FakePool):
    def __init__(self, calls: list[int]) -> None:
        super().__init__(WIDTH)
        self._calls = calls

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Any:
        self._calls[-1] += 1
        return super().submit(fn, *args)


def jobs(world: MailWorld, mails: int) -> list[Job]:
    return [world.job(world.mail("a@x.example", "b@x.example", "c@x.example").job) for _ in range(mails)]


def told(world: MailWorld) -> list[Event]:
    return [x for x in world.stores.journal.since(ACCOUNT, Log.AUDIT, 0) if x.kind == Act.MAIL_DROPPED]


def cells(world: MailWorld, job: Job) -> list[Cell]:
    return [x.cell(0)[0] for x in world.ledgers.read_all(job.id)]


def dropping(world: MailWorld, pool: Callable[[int], Any] = FakePool) -> WaitingMails:
    return WaitingMails(ledgers=world.ledgers, journal=world.stores.journal, pool=pool, clock=world.clock)


@pytest.mark.promise(9)
@pytest.mark.parametrize("mails", [1, 20])
def test_any_number_of_mails_takes_three_rounds(world: MailWorld, mails: int) -> None:
    found, rounds = jobs(world, mails), Rounds()
    assert dropping(world, rounds).drop(found, by="operator:1:x", data=REVOKED) == found
    assert rounds.calls == [mails, mails, 3 * mails], "reads, entries, destinations"
    assert all(cells(world, job) == [Cell.WITHDRAWN] * 3 for job in found)
    assert [dict(x.data) for x in told(world)] == [{**REVOKED, "destinations": 3}] * mails


@pytest.mark.promise(9)
def test_a_mail_of_which_nothing_waits_has_no_entry(world: MailWorld) -> None:
    (sent,) = jobs(world, 1)
    world.settle()
    (waits,) = jobs(world, 1)
    assert dropping(world).drop([sent, waits], by="operator:1:x", data=REVOKED) == [waits]
    assert [x.id for x in told(world)] == [waits.name]
    assert dropping(world).drop([sent, waits], by="operator:1:x", data=REVOKED) == []
    assert len(told(world)) == 1


@pytest.mark.promise(9)
def test_a_process_that_dies_has_dropped_nothing_that_no_entry_names(world: MailWorld) -> None:
    found = jobs(world, 2)
    world.tap.arm(0, When.BEFORE, where=lambda name: name == "ledgers.swap")
    with pytest.raises(Crash):
        dropping(world).drop(found, by="operator:1:x", data=REVOKED)
    assert sorted(x.id for x in told(world)) == sorted(job.name for job in found)
    assert dropping(world).drop(found, by="operator:1:x", data=REVOKED) == found
