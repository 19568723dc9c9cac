"""Channels are asked what they declare; nothing else compares their names."""

import ast
from pathlib import Path
from typing import get_args

import pytest

from shared.contracts import ANY_CHANNEL
from shared.domain.channels.channel import ChannelName
from shared.domain.channels.lookup import CHANNELS, carried, channel_of
from shared.domain.content.templates import TemplateKind
from shared.domain.recipients.reader import RecipientFault
from shared.engine.lane.compose import MAX_MESSAGE

ROOT = Path(__file__).resolve().parents[2]
NAMES = {*get_args(ChannelName)}
STOPS = "shared/domain/recipients/suppressions.py"
ALLOWED = {
    **dict.fromkeys(((STOPS, x) for x in ("sms", "voice", "whatsapp")), "a list of numbers that stopped a channel"),
    ("shared/domain/content/templates.py", "sms"): "a kind of template, stored with nothing",
    ("functions/api/campaigns/requests.py", "email"): "an example in the API document",
    ("functions/api/digests/requests.py", "sms"): "an example in the API document",
    ("functions/api/requests.py", "sms"): "an example in the API document",
    ("functions/api/requests.py", "voice"): "an example in the API document, and a field of a batch",
    **dict.fromkeys((("cli/operating/accounts.py", x) for x in NAMES), "options of a command, one for each channel"),
    ("shared/domain/hooks/fields.py", "email"): "an example in the API document",
    ("cli/sending/running.py", "sms"): "a field of the API's preview",
    **dict.fromkeys(
        ((f"shared/engine/intake/{x}.py", "voice") for x in ("message", "numbers")), "a field of a batch, in a fault"
    ),
    ("cli/sending/batches.py", "voice"): "a field of a batch",
    ("functions/api/campaigns/views.py", "voice"): "a field of speech",
    ("shared/domain/content/content.py", "voice"): "a field of speech, as it is stored",
    ("shared/domain/notices/notifier.py", "sms"): "what a notice may be delivered by, also while a channel is planned",
    **dict.fromkeys(
        ((f"shared/adapters/sign_in/{x}.py", "email") for x in ("claims", "openid")), "a scope and a claim of OpenID"
    ),
    (
        "shared/domain/notices/notifier.py",
        "voice",
    ): "what a notice may be delivered by, also while a channel is planned",
}


def named(path: Path) -> set[str]:
    """Return the channels' names that stand as texts of their own in a module."""
    texts = {n.value for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Constant)}
    return {x for x in texts if isinstance(x, str) and x in NAMES}


@pytest.mark.slow
def test_no_code_outside_the_channels_names_one() -> None:
    found = set()
    for folder in ("shared", "functions", "infra", "cli"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            where = path.relative_to(ROOT).as_posix()
            if not where.startswith(("shared/domain/channels/", "shared/providers/")):
                found |= {(where, name) for name in named(path)}
    assert not found - ALLOWED.keys(), "ask the channel instead of comparing its name"


@pytest.mark.parametrize("name", sorted(CHANNELS))
def test_a_channel_reads_its_example_and_paces_any_text(name: str) -> None:
    channel = channel_of(name)
    assert channel.name == name
    assert name in get_args(ChannelName)
    got = channel.reader()(channel.example)
    assert not isinstance(got, RecipientFault)
    assert got[:2] == (channel.example, channel.example)
    assert channel.slots("") == 1
    assert bool(channel.too_long) == bool(channel.max_text)
    longest = channel.max_text or MAX_MESSAGE
    assert channel.slots("é" * min(longest, 10_000)) <= channel.most_slots
    assert channel.slots("ж" * min(longest, 10_000)) == channel.most_slots


def test_an_email_is_rich_and_a_short_message_is_not() -> None:
    email, sms = channel_of("email"), channel_of("sms")
    assert (email.rich, email.needs_subject, email.text_kind) == (True, True, TemplateKind.TEXT)
    assert (sms.rich, sms.needs_subject, sms.text_kind) == (False, False, TemplateKind.SMS)
    assert email.reader("XX")("a@example.com") == ("a@example.com", "a@example.com", "")
    with pytest.raises(ValueError, match="no region"):
        sms.reader("XX")


def test_a_credential_carries_its_channel_and_that_of_test_keys_all() -> None:
    assert [c.name for c in carried("sms")] == ["sms"]
    assert [c.name for c in carried(ANY_CHANNEL)] == list(CHANNELS)
    assert carried("fax") == ()
    with pytest.raises(ValueError, match="no channel 'fax'"):
        channel_of("fax")
