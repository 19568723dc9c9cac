"""Mails and their changes."""

from shared.domain.mails.mail import LIFE_MS, MailState, begin_report, cleaned, committed, end_report, host_of
from tests.domain.ledgers import NOW
from tests.domain.mails.examples import mail


def test_a_mail_expires_after_two_days_at_the_most() -> None:
    assert mail().expires_at == NOW + LIFE_MS
    assert mail(until=NOW + 1000).expires_at == NOW + 1000
    assert mail(until=NOW + 3 * LIFE_MS).expires_at == NOW + LIFE_MS


def test_a_mail_knows_the_domains_of_its_destinations() -> None:
    assert mail().hosts == ("example.org", "example.org", "example.net")
    assert mail().at_host("example.org") == [0, 1]
    assert host_of('"a@b"@Example.COM') == "example.com"


def test_a_commit_names_job_and_content() -> None:
    new = committed(mail(), job="j", content="mails/x", size=7)
    assert (new.state, new.job, new.content, new.size, new.version) == (MailState.COMMITTED, "j", "mails/x", 7, 2)


def test_one_notification_is_made_at_a_time() -> None:
    first = begin_report(mail(), [2, 0])
    assert first is not None
    assert (first.reporting, first.reports, first.version) == ((0, 2), 1, 2)
    assert begin_report(first, [1]) is None
    assert begin_report(mail(), []) is None
    done = end_report(first)
    assert (done.reporting, done.reports) == ((), 1)
    assert begin_report(done, [1]) is not None


def test_only_a_committed_mail_without_a_notification_in_the_making_is_cleaned() -> None:
    assert cleaned(mail()) is None
    held = committed(mail(), job="j", content="mails/x", size=7)
    reporting = begin_report(held, [0])
    assert reporting is not None
    assert cleaned(reporting) is None
    gone = cleaned(held)
    assert gone is not None
    assert (gone.state, gone.content) == (MailState.CLEANED, "")
    assert cleaned(gone) is None
