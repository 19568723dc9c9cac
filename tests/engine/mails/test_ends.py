"""The end of mails: notifications, doubts, and the removal of contents."""

import email
import email.policy

import pytest

from shared.domain.jobs.outcomes import Rejected, Unknown
from shared.domain.jobs.states import Cell
from shared.domain.mails.destination import DestinationState, state_of
from shared.domain.mails.mail import MailState, StoredMail, begin_report
from tests.engine.mails.mail_world import SENDER, MailWorld

NEVER = Rejected("invalid_recipient", permanent=True)
PEOPLE = ("ann@example.org", "bob@example.org", "cem@example.net")


def refused(*who: str) -> MailWorld:
    """Return a world that refuses some addresses for good."""
    world = MailWorld()
    for each in who:
        world.providers["one"].script(each, [NEVER])
    return world


def notifications(world: MailWorld) -> list[tuple[str, str]]:
    """Return to whom the provider was to send notifications, and about whom."""
    handed: list[bytes] = world.providers["one"].messages  # type: ignore[attr-defined]
    found = [email.message_from_bytes(x, policy=email.policy.default) for x in handed if b"report-type" in x]
    return [
        (str(x["To"]), str(part["Final-Recipient"]).partition("; ")[2])
        for x in found
        for part in x.walk()
        if "Final-Recipient" in part
    ]


def other_mails(world: MailWorld, mail: StoredMail) -> list[StoredMail]:
    return [x for x in world.mails.items.values() if x.id != mail.id]  # type: ignore[attr-defined]


def test_the_sender_is_notified_of_a_destination_that_failed() -> None:
    world = refused("bob@example.org")
    mail = world.mail(*PEOPLE)
    world.run()
    assert notifications(world) == [(SENDER, "bob@example.org")]
    (report,) = other_mails(world, mail)
    assert (report.mail_from, report.state, report.account) == ("", MailState.CLEANED, mail.account)
    assert world.stored(mail).state is MailState.CLEANED
    assert world.files.items == {}


def test_a_notification_has_the_words_of_the_server() -> None:
    world = MailWorld()
    said = "550 5.1.1 <recipient>: Recipient unknown"
    world.providers["one"].script("bob@example.org", [Rejected("5.1.1", permanent=True, detail=said)])
    world.mail(*PEOPLE)
    world.run()
    handed: list[bytes] = world.providers["one"].messages  # type: ignore[attr-defined]
    (report,) = (x.decode() for x in handed if b"report-type" in x)
    assert "\r\nStatus: 5.1.1\r\n" in report
    assert "\r\nDiagnostic-Code: smtp; 550 5.1.1 <bob@example.org>: Recipient unknown\r\n" in report


def test_a_notification_is_about_no_other_one() -> None:
    world = refused("ann@example.org", SENDER)
    mail = world.mail("ann@example.org")
    world.run()
    (report,) = other_mails(world, mail)
    assert world.ends_of(report) == [Cell.FAILED]
    assert report.state is MailState.CLEANED
    assert notifications(world) == [(SENDER, "ann@example.org")]


def test_a_mail_without_a_return_path_notifies_nobody() -> None:
    world = refused("ann@example.org")
    mail = world.mail("ann@example.org", mail_from="")
    world.run()
    assert other_mails(world, mail) == []
    assert world.stored(mail).state is MailState.CLEANED


@pytest.mark.slow
def test_a_dropped_destination_is_not_reported() -> None:
    world = MailWorld()
    mail = world.mail("ann@example.org", "bob@example.org")
    world.ledgers.drop(mail.job, 1, [0], Cell.WITHDRAWN)
    world.run()
    assert world.ends_of(mail) == [Cell.RELAYED, Cell.WITHDRAWN]
    assert other_mails(world, mail) == []
    assert world.stored(mail).state is MailState.CLEANED


def test_what_the_stream_lost_is_found_by_the_walk() -> None:
    world = refused("bob@example.org")
    world.deaf = True
    mail = world.mail(*PEOPLE)
    world.settle()
    assert [state_of(x) for x in world.ledgers.read_all(mail.job)] == [DestinationState.CLEANUP] * 3
    world.clock.sleep(120)
    world.look()
    assert [state_of(x) for x in world.ledgers.read_all(mail.job)] == [DestinationState.GONE] * 3
    assert world.stored(mail).state is MailState.CLEANED
    assert list(world.records.mail_jobs(world.clock.ms * 2)) == []
    world.run()
    assert notifications(world) == [(SENDER, "bob@example.org")]


def test_a_doubt_keeps_the_content_until_the_mail_has_expired() -> None:
    world = MailWorld()
    world.providers["one"].script("ann@example.org", [Unknown("timeout")])
    mail = world.mail("ann@example.org")
    world.settle()
    world.clock.sleep(120)
    world.look()
    assert world.ends_of(mail) == [Cell.UNKNOWN]
    assert mail.content in world.files.items
    world.clock.sleep(48 * 3600)
    world.look()
    assert world.ends_of(mail) == [Cell.UNKNOWN_CLOSED]
    assert world.stored(mail).state is MailState.CLEANED
    world.run()
    assert notifications(world) == [(SENDER, "ann@example.org")]


def test_a_doubt_about_one_destination_keeps_the_content_of_all() -> None:
    world = MailWorld()
    world.providers["one"].script("ann@example.org", [Unknown("timeout")])
    mail = world.mail("ann@example.org", "bob@example.org")
    world.settle()
    world.clock.sleep(120)
    world.look()
    assert world.ends_of(mail) == [Cell.UNKNOWN, Cell.RELAYED]
    assert mail.content in world.files.items
    assert world.stored(mail).state is MailState.COMMITTED


def test_a_lost_end_is_found_while_another_destination_is_in_doubt() -> None:
    world = refused("ann@example.org")
    world.providers["one"].script("bob@example.org", [Unknown("timeout")])
    world.deaf = True
    mail = world.mail("ann@example.org", "bob@example.org")
    world.settle()
    world.clock.sleep(120)
    world.look()
    world.run(seconds=60)
    assert notifications(world) == [(SENDER, "ann@example.org")]
    assert world.stored(mail).state is MailState.COMMITTED


def test_a_notification_that_another_process_began_is_finished_first() -> None:
    world = refused("ann@example.org", "bob@example.org")
    world.deaf = True
    mail = world.mail(*PEOPLE)
    world.run()
    begun = begin_report(world.stored(mail), [0])
    assert begun is not None
    assert world.mails.change(world.stored(mail), begun)
    assert world.ends.finish(world.job(mail.job))
    world.run()
    assert notifications(world) == [(SENDER, "ann@example.org"), (SENDER, "bob@example.org")]
    assert world.stored(mail).reports == 2


def test_operators_hear_of_notifications_and_of_those_that_fail() -> None:
    world = refused("ann@example.org", SENDER)
    world.mail("ann@example.org")
    world.run()
    assert world.figures.counts == {"notified": 1, "given_up": 1}


@pytest.mark.parametrize("hours", [2, 4])
def test_operators_hear_of_a_content_that_is_kept_for_hours(hours: int) -> None:
    world = MailWorld()
    remove = world.files.remove

    def refuse(name: str) -> None:
        raise PermissionError(name)

    world.files.remove = refuse  # type: ignore[method-assign]
    world.deaf = True
    mail = world.mail("ann@example.org")
    world.settle()
    for _ in range(hours):
        world.clock.sleep(3600)
        with pytest.raises(PermissionError):
            world.look()
    assert world.stored(mail).state is MailState.COMMITTED
    assert world.figures.counts["late"] == (2 if hours > 2 else 0)
    world.files.remove = remove  # type: ignore[method-assign]
    world.look()
    assert world.stored(mail).state is MailState.CLEANED


def test_a_mail_whose_destinations_have_expired_from_the_store_is_cleaned() -> None:
    world = MailWorld()
    world.deaf = True
    mail = world.mail("ann@example.org")
    world.settle()
    world.ledgers.items.clear()  # type: ignore[attr-defined]
    world.clock.sleep(4 * 3600)
    world.look()
    assert world.figures.counts["late"] == 1
    assert world.stored(mail).state is MailState.CLEANED


@pytest.mark.parametrize("times", [2, 3])
def test_ending_a_mail_again_changes_nothing(times: int) -> None:
    world = refused("bob@example.org")
    mail = world.mail(*PEOPLE)
    for _ in range(times):
        world.run()
        world.ends.finish(world.job(mail.job))
        world.ends.tell(mail.job, world.ledgers.read_all(mail.job))
    world.run()
    assert notifications(world) == [(SENDER, "bob@example.org")]
