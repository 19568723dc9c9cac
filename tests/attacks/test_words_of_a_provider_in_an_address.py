"""A client writes to `relay.denied@…` or calls itself "daily message quota": the breaker opens for everybody."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.content.content import Mailbox
from shared.domain.content.smtp import Reply, SmtpStep
from shared.domain.jobs.outcomes import Outcome, Rejected, Throttled
from shared.providers._texts import own_words
from shared.providers.mailgun.send import TEXTS as MAILGUN_TEXTS
from shared.providers.ses.send import TEXTS as SES_TEXTS
from shared.providers.smtp.send import TEXTS as SMTP_TEXTS
from shared.providers.smtp.send import judged
from tests.providers.contract import CONTENT, target

PARTS = (
    "relay",
    "denied",
    "throttle",
    "daily",
    "message",
    "quota",
    "sending",
    "paused",
    "slow",
    "down",
    "rate",
    "limit",
)
WORDS = ("relay.denied", "throttle", "daily-message-quota", "relay denied", "sending paused", "slow down")


def smtp(code: int, text: str, address: str, step: SmtpStep = SmtpStep.RCPT) -> Outcome:
    whom = target(0)
    whom = replace(whom, recipient=replace(whom.recipient, address=address))
    reply = Reply(step, code, text)
    return judged(reply, own_words(text, CONTENT, [whom]))


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize(
    ("code", "text"),
    [
        (450, "4.7.1 <{}>: Recipient address rejected: Greylisted"),
        (550, "No such user <{}>"),
        (550, "No such user {}"),
        (550, "No such user '{}' here"),
        (451, "{}: try later"),
    ],
)
def test_no_recipient_changes_what_a_relay_says(word: str, code: int, text: str) -> None:
    local = f'"{word}"' if " " in word else word
    found = [smtp(code, text.format(a), a) for a in ("ann@example.org", f"{local}@example.org", f"ann@{word}.example")]
    assert found[1] == found[2] == found[0]
    assert not (isinstance(found[0], Rejected) and found[0].provider_down)


def test_what_a_relay_says_itself_is_still_heard() -> None:
    denied = smtp(554, "5.7.1 <ann@example.org>: Relay access denied", "ann@example.org")
    assert denied == Rejected("relay_denied", permanent=False, provider_down=True, by_text=True)
    assert isinstance(smtp(450, "4.7.1 <ann@example.org>: sending rate limit", "ann@example.org"), Throttled)


@pytest.mark.parametrize("name", ["daily message quota", 'x" daily message quota "y', "sending paused"])
def test_no_name_changes_what_ses_says(name: str) -> None:
    content = replace(CONTENT, sender=Mailbox("news@not-verified.example", name))
    for quoted in (f'"{name}" <news@not-verified.example>', f"{name} <news@not-verified.example>"):
        said = own_words(f"Email address is not verified. Identities failed: {quoted}", content, [target(0)])
        assert [r.code for p, r in SES_TEXTS if p.search(said)] == ["identity_not_verified"]


@given(st.lists(st.sampled_from(PARTS), min_size=2))
def test_no_address_or_name_made_of_such_words_changes_a_text(words: list[str]) -> None:
    address, name = f"{'.'.join(words)}@{'-'.join(words)}.example", " ".join(words)
    content = replace(CONTENT, sender=Mailbox(address, name))
    for quoted in (address, f"<{address}>", f'"{name}" <{address}>', f"{name} <{address}>", f"'{name}'"):
        said = own_words(f"Not accepted: {quoted}, sorry", content, [target(0)])
        for texts in (SMTP_TEXTS, SES_TEXTS, MAILGUN_TEXTS):
            assert not any(row[0].search(said) for row in texts)
