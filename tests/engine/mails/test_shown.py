"""How a destination ended, through whom, and why."""

from dataclasses import replace

import pytest

from shared.domain.jobs.outcomes import Rejected, Unknown
from shared.domain.jobs.states import Cell
from shared.domain.mails.destination import DestinationEnd, DestinationState, MailDestination
from shared.domain.mails.mail import StoredMail
from shared.engine.mails.moves import MailMoves
from tests.engine.mails.mail_world import MailWorld
from tests.fakes.journal import FakeJournal

ANN = "ann@example.org"
LATER = Rejected("smtp_451", permanent=False, about_message=True)
NEVER = Rejected("smtp_550", permanent=True)
LOST = Unknown("timeout")
GONE, INFLIGHT = DestinationState.GONE, DestinationState.INFLIGHT
TWO_DAYS = 50 * 3600


def shown(world: MailWorld, mail: StoredMail) -> list[MailDestination]:
    moves = MailMoves(world.records, world.ledgers, world.recovery, world.logs, FakeJournal(), world.clock)
    return list(moves.show(mail, 0, 100))


def said(world: MailWorld, mail: StoredMail) -> tuple[str, str, str, str]:
    """Return a mail's only destination in short: state, end, provider, error."""
    (x,) = shown(world, mail)
    return x.state.value, x.end.value if x.end else "", x.provider, x.error


@pytest.mark.parametrize(
    ("answers", "seconds", "found"),
    [
        ([], 60, ("gone", "sent", "one", "")),
        ([NEVER], 60, ("gone", "failed", "one", "smtp_550")),
        ([LATER], 60, ("queued", "", "one", "smtp_451")),
        ([LATER], TWO_DAYS, ("gone", "sent", "one", "")),
        ([LATER] * 20, TWO_DAYS, ("gone", "failed", "one", "attempts_exhausted")),
        ([LOST], 60, ("inflight", "unknown", "one", "timeout")),
    ],
)
def test_a_destination_says_how_it_ended(
    answers: list[Rejected | Unknown], seconds: float, found: tuple[str, str, str, str]
) -> None:
    world = MailWorld()
    world.providers["one"].script(ANN, answers)
    mail = world.mail(ANN)
    assert said(world, mail) == ("queued", "", "", "")
    world.run(seconds=seconds)
    assert said(world, mail) == found


def test_a_destination_has_the_words_of_who_refused_it() -> None:
    world = MailWorld()
    world.providers["one"].script(ANN, [replace(NEVER, detail="550 <recipient>: User unknown, not <address>")])
    mail = world.mail(ANN, "bob@example.org")
    world.run()
    assert [x.error_detail for x in shown(world, mail)] == [f"550 <{ANN}>: User unknown, not <address>", ""]


def test_a_destination_that_waits_has_the_words_of_its_last_refusal() -> None:
    world = MailWorld()
    world.providers["one"].script(ANN, [replace(LATER, detail="451 4.7.1 Grey list")])
    mail = world.mail(ANN)
    world.run(seconds=60)
    assert [x.error_detail for x in shown(world, mail)] == ["451 4.7.1 Grey list"]


def test_each_destination_has_an_end_of_its_own() -> None:
    world = MailWorld()
    world.providers["one"].script("bob@example.org", [NEVER])
    mail = world.mail(ANN, "bob@example.org", "cem@example.org")
    world.ledgers.drop(mail.job, 2, [0], Cell.WITHDRAWN)
    world.run()
    assert [(x.end, x.error) for x in shown(world, mail)] == [
        (DestinationEnd.SENT, ""),
        (DestinationEnd.FAILED, "smtp_550"),
        (DestinationEnd.SKIPPED, "withdrawn"),
    ]


@pytest.mark.parametrize(("word", "end", "error"), [("delivered", "delivered", ""), ("bounced", "bounced", "5.1.1")])
def test_an_event_of_the_provider_says_more_later(word: str, end: str, error: str) -> None:
    world = MailWorld()
    world.providers["one"].has_feedback = True
    mail = world.mail(ANN)
    world.run(seconds=60)
    assert said(world, mail) == ("gone", "sent", "one", "")
    world.track("one", world.word(mail.job, 0, word, code=error))
    world.run(seconds=60)
    assert said(world, mail) == ("gone", end, "one", error)


def test_one_that_expires_counts_as_failed() -> None:
    world = MailWorld()
    world.providers["one"].script(ANN, [LATER] * 9)
    mail = world.mail(ANN, until=world.clock.ms + 600_000)
    world.run(seconds=TWO_DAYS)
    assert said(world, mail) == ("gone", "failed", "one", "expired")


def test_an_attempt_costs_one_read_and_a_destination_that_waits_none() -> None:
    world = MailWorld()
    mail = world.mail(ANN, "bob@example.org")
    for details in (0, 2):
        before = len(world.tap.calls)
        shown(world, mail)
        assert world.tap.calls[before:].count("records.details") == details
        world.run()
