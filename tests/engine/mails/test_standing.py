"""Destinations that wait for their time, while their mail's key is revoked or its sender removed."""

from collections.abc import Callable

import pytest

from shared.domain.accounts import AccountStatus
from shared.domain.jobs.outcomes import Rejected, Throttled
from shared.domain.jobs.states import Cell
from shared.domain.mails.mail import MailState, StoredMail
from shared.domain.mails.queue import MailSchedule, NewDestination
from shared.ports import DnsUnanswered
from tests.engine.mails.mail_world import SENDER, MailWorld

KEY = "0123456789abcdef"
FROM = "clinic@example.com"
ANN = "ann@example.org"


def scheduled(world: MailWorld, seconds: float = 110, *, mail_from: str = SENDER) -> StoredMail:
    """Queue a mail that is due so much later."""
    due = MailSchedule(world.clock.ms + int(seconds * 1000))
    return world.mail(NewDestination(ANN, due), mail_from=mail_from, by=KEY)


@pytest.fixture
def world() -> MailWorld:
    return MailWorld()


@pytest.mark.promise(9)
@pytest.mark.parametrize(
    ("take", "code"),
    [
        (lambda world: world.standings.revoked.add(KEY), "key_revoked"),
        (lambda world: world.standings.removed.add(FROM), "sender_removed"),
    ],
    ids=["key_revoked", "sender_removed"],
)
def test_what_waited_is_not_sent_once_its_key_or_sender_has_gone(
    world: MailWorld, take: Callable[[MailWorld], None], code: str
) -> None:
    mail = scheduled(world, mail_from="")
    take(world)
    world.settle()
    assert world.oracle.calls == []
    assert world.ends_of(mail) == [Cell.SKIPPED]
    windows, _ = world.records.details(mail.job, 0)
    assert [e.code for w in windows for e in w.entries] == [code]
    assert world.stored(mail).state is MailState.CLEANED
    world.check()


def test_its_sender_is_notified_with_the_reason(world: MailWorld) -> None:
    scheduled(world)
    world.standings.revoked.add(KEY)
    world.settle()
    [sent] = world.providers["one"].messages  # type: ignore[attr-defined]
    assert b"The key that asked for it has been revoked." in sent


def test_a_notification_that_waits_is_sent_all_the_same(world: MailWorld) -> None:
    provider = world.providers["one"]
    provider.script(ANN, [Rejected("invalid_recipient", permanent=True)])
    provider.script(SENDER, [Throttled(120)])
    world.mail(ANN, by=KEY)
    world.run(seconds=5)
    world.standings.revoked.add(KEY)
    world.run(seconds=3600)
    assert len(world.oracle.calls) == 3
    assert [x.state for x in world.mails.items.values()] == [MailState.CLEANED] * 2  # type: ignore[attr-defined]


@pytest.mark.promise(3)
def test_a_key_that_was_replaced_counts_as_there(world: MailWorld) -> None:
    mail = scheduled(world)
    world.standings.revoked.add(KEY)
    world.standings.heirs[KEY] = "fedcba9876543210"
    world.settle()
    assert world.ends_of(mail) == [Cell.RELAYED]


def test_what_was_tried_before_is_tried_again(world: MailWorld) -> None:
    world.providers["one"].script(ANN, [Rejected("4.2.2", permanent=False, about_message=True)])
    mail = world.mail(ANN, by=KEY)
    world.run(seconds=30)
    world.standings.revoked.add(KEY)
    world.settle()
    assert world.ends_of(mail) == [Cell.RELAYED]


def test_what_is_sent_at_once_costs_no_look(world: MailWorld) -> None:
    mail = world.mail(ANN, by=KEY)
    world.standings.read = lambda *_: pytest.fail("it was looked at just now")  # type: ignore[method-assign]
    world.settle()
    assert world.ends_of(mail) == [Cell.RELAYED]


@pytest.mark.promise(3)
def test_while_dns_does_not_answer_it_waits(world: MailWorld) -> None:
    mail = scheduled(world)
    found, until = world.standings.read, world.clock.now() + 600

    def read(account: str, key: str, sender: str) -> AccountStatus:
        if world.clock.now() < until:
            raise DnsUnanswered("no answer")
        return found(account, key, sender)

    world.standings.read = read  # type: ignore[method-assign]
    world.run(seconds=500)
    assert world.ends_of(mail) == [Cell.QUEUED]
    world.settle()
    assert world.ends_of(mail) == [Cell.RELAYED]
    assert world.clock.now() >= until
    world.check()
