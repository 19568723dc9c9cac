"""Every code that is stored of a message has words: those of mail servers, of providers, and ours."""

import ast
from collections.abc import Iterator

import pytest

from infra.local.paths import ROOT
from shared.domain.jobs.feedback import HARD, SOFT
from shared.domain.jobs.outcomes import CANNOT_CARRY
from shared.domain.lanes.meanings import OURS, STATUSES, in_words, meaning_of
from shared.providers.aws_sms import events as aws_sms
from shared.providers.mailgun import events as mailgun
from shared.providers.postmark import events as postmark
from shared.providers.sendgrid import events as sendgrid
from shared.providers.twilio import events as twilio
from shared.providers.twilio import send as twilio_send

MAKERS = {"ErrorRule", "Rejected", "Unknown", "NotTaken", "cannot_carry", "AnswerLost", "Lost", "NotSent"}
REGISTERED = {0: [0], 1: range(11), 2: range(5), 3: range(7), 4: range(8), 5: range(7), 6: range(10), 7: range(31)}
"""Subject → details of IANA's registry; 6.10 is withdrawn there."""


def spelled() -> Iterator[str]:
    """Yield the codes that adapters make outcomes of, and the reasons of calls without an answer."""
    files = [*(ROOT / "shared/providers").rglob("*.py"), *(ROOT / "shared/adapters").rglob("*.py")]
    for file in files:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS:
                first = node.args[0] if node.args else None
                if isinstance(first, ast.Constant) and isinstance(first.value, str) and first.value:
                    yield first.value


def events() -> Iterator[str]:
    """Yield the codes of events, as adapters store them."""
    yield from (str(kind) for kind in HARD | SOFT)
    yield from (name.lower() for name, kind in aws_sms.EVENTS.items() if kind in HARD | SOFT)
    yield from (name for name, kind in postmark.BOUNCES.items() if kind in HARD | SOFT)
    yield from (name.replace("-", "_") if name.startswith("suppress-") else name for name in mailgun.FAILURES)
    yield from (name.replace(" ", "_") for name in sendgrid.DROPS)
    yield from twilio.CODES
    yield from map(str, twilio_send.REFUSALS)


def test_every_code_of_iana_s_registry_has_words() -> None:
    registered = {f"{subject}.{detail}" for subject, details in REGISTERED.items() for detail in details}
    assert set(STATUSES) == registered


def test_every_code_of_a_call_has_words() -> None:
    found = {*spelled(), *CANNOT_CARRY}
    assert {"sender_not_verified", "read_timeout", "malformed_answer"} <= found
    assert sorted(code for code in found if not meaning_of(code)) == []


def test_every_code_of_an_event_has_words() -> None:
    found = set(events())
    assert {"30005", "text_invalid", "HardBounce", "suppress_bounce"} <= found
    assert sorted(code for code in found if not meaning_of(code)) == []


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("5.1.1", "the mailbox does not exist (5.1.1)"),
        ("4.2.2", "the mailbox is full (4.2.2)"),
        ("HardBounce", "the mailbox does not exist (HardBounce)"),
        ("permanent_general", "the mailbox does not exist (permanent_general)"),
        ("http_503", "the provider answered 503 (http_503)"),
        ("smtp_550", "the server answered 550 (smtp_550)"),
        ("suppressed", "the address is suppressed (suppressed)"),
        ("21610", "the recipient has answered STOP (21610)"),
        ("5.9.99", "5.9.99"),
        ("2.1.5", "2.1.5"),
        ("<script>", "<script>"),
        ("", ""),
    ],
)
def test_a_code_is_said_in_words(code: str, words: str) -> None:
    assert in_words(code) == words


def test_words_are_a_sentence_that_can_stand_anywhere() -> None:
    for words in (*STATUSES.values(), *OURS.values()):
        assert words == words.strip().rstrip(".")
        assert words[0].islower() or words.split()[0].isupper()
