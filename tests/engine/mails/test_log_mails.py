"""The log function ends mails: notifications, held domains, contents that are removed."""

from types import SimpleNamespace

import pytest

from functions.dispatch import log, services
from shared.domain.jobs.outcomes import Rejected
from shared.domain.jobs.states import Cell
from shared.domain.mails.mail import MailState
from shared.ports import Retriable
from tests.engine.mails.mail_world import MailWorld
from tests.engine.test_retry_handler import event


def served(monkeypatch: pytest.MonkeyPatch) -> MailWorld:
    """Return a world whose ledgers' stream is the log function's."""
    world = MailWorld()
    monkeypatch.setattr(services, "deployment", lambda: world)
    monkeypatch.setattr(world, "mailing", SimpleNamespace(stream=world.released), raising=False)
    assert not hasattr(world, "noticing"), "a mail is no notice"
    world.providers["one"].script("bob@example.org", [Rejected("invalid_recipient", permanent=True)])
    return world


def test_a_batch_of_ledgers_ends_a_mail(monkeypatch: pytest.MonkeyPatch) -> None:
    world = served(monkeypatch)
    mail = world.mail("ann@example.org", "bob@example.org")
    while world.send("one"):
        pass
    records = event(*world.ledgers.read_all(mail.job))
    for _ in range(2):
        assert log.handler(records, None) == {"batchItemFailures": []}
    stored = world.stored(mail)
    assert world.ends_of(mail) == [Cell.RELAYED, Cell.FAILED]
    assert (stored.state, stored.reports) == (MailState.CLEANED, 1)
    assert mail.content not in world.files.items


def test_what_could_not_be_folded_is_not_told_to_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    world = served(monkeypatch)
    mail = world.mail("bob@example.org")
    while world.send("one"):
        pass
    world.tap.arm_at("records.fold", error=lambda: Retriable("busy"))
    records = event(*world.ledgers.read_all(mail.job))
    with pytest.raises(Retriable):
        log.handler(records, None)
    assert world.stored(mail).reports == 0
    assert log.handler(records, None) == {"batchItemFailures": []}
    assert world.stored(mail).reports == 1
