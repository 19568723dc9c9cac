"""A provider quotes a person's address whose local part is in quotes: it stays in the words that are kept of it.

Words of providers outlive the erasing of a person. Then: `"john doe"@example.com` was no address there.
"""

from collections.abc import Callable, Sequence
from typing import Final

import pytest

from shared.contracts import ProviderEvent
from shared.providers._common import digest
from shared.providers._texts import redacted, refusal_words
from tests.providers import ses_posts, test_mailgun_events, test_postmark_events, test_sendgrid_events

SPELLINGS = [
    '"john doe"@example.com',
    '\\"john doe\\"@example.com',
    '"john"@example.com',
    '"o\\"john"@example.com',
    '"john,ann"@example.com',
    '"john..x."@docomo.ne.jp',
    "john..x.@docomo.ne.jp",
]


@pytest.mark.promise(9)
@pytest.mark.parametrize("address", SPELLINGS)
@pytest.mark.parametrize("text", ["550 {} is unknown", "550 <{}>: unknown", "{}", 'the "user" {} and "others"'])
def test_no_word_of_an_event_keeps_it(address: str, text: str) -> None:
    kept = redacted(text.format(address))
    assert kept == text.format("<address>")


@pytest.mark.parametrize("given", ['"john doe"@example.com', "john doe@example.com"])
def test_no_word_of_a_refusal_keeps_the_recipient_in_either_spelling(given: str) -> None:
    assert refusal_words(f"550 {given}: no", '"john doe"@example.com') == "550 <recipient>: no"


def test_quotes_without_an_address_stay() -> None:
    assert redacted('"ann" and "ben" at @example') == '"ann" and "ben" at @example'
    assert redacted('say "no" to a@b.example') == 'say "no" to <address>'


@pytest.mark.parametrize("given", ['"John..x"@docomo.ne.jp', "john..x@docomo.ne.jp"])
def test_a_report_about_the_recipient_beside_a_copy_is_heard_in_either_spelling(given: str) -> None:
    assert digest("ref", given) == digest("ref", '"john..x"@docomo.ne.jp')
    assert digest("ref", given) != digest("ref", "copy@docomo.ne.jp")


def ses(address: str, said: str) -> Sequence[ProviderEvent]:
    report = {"emailAddress": address, "status": "5.1.1", "diagnosticCode": said}
    found = {"bounceType": "Permanent", "bounceSubType": "General", "bouncedRecipients": [report]}
    return ses_posts.words(ses_posts.event("Bounce", bounce=found))


def mailgun(address: str, said: str) -> Sequence[ProviderEvent]:
    return test_mailgun_events.words(
        test_mailgun_events.event(recipient=address, **test_mailgun_events.failed("bounce", code=550, message=said))
    )


def postmark(address: str, said: str) -> Sequence[ProviderEvent]:
    body = test_postmark_events.event("Bounce", Type="HardBounce", Email=address, Details=said)
    return test_postmark_events.READER.words({}, body).words


def sendgrid(address: str, said: str) -> Sequence[ProviderEvent]:
    return test_sendgrid_events.words(
        test_sendgrid_events.event(event="bounce", email=address, reason=said, status="5.1.1")
    )


READERS: Final[list[Callable[[str, str], Sequence[ProviderEvent]]]] = [ses, mailgun, postmark, sendgrid]


@pytest.mark.promise(9)
@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("address", ['"john doe"@example.com', "john doe@example.com"])
@pytest.mark.parametrize("said", ["john doe@example.com", "John Doe@example.com", '"john doe"@example.com'])
def test_no_word_of_an_event_keeps_its_person_without_quotes(
    read: Callable[[str, str], Sequence[ProviderEvent]], address: str, said: str
) -> None:
    (word,) = read(address, f"550 user <{said}>, {said} unknown")
    assert word.detail == "550 user <<address>>, <address> unknown"
