"""Texts that recipients send to a credential's own number: STOP ends a channel for them, START begins it again.

Such a text belongs to no attempt. It comes as a `ProviderEvent` whose ref is the number that wrote (`from_number`). Its
detail is the text, and its code is the number that it was written to. Source: docs/adr/0124.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from shared.contracts import Credential, ProviderEvent
from shared.domain.jobs.feedback import CHANNEL_WISHES, ProviderEventKind
from shared.domain.jobs.outcomes import STOPPED
from shared.domain.namespaces import accounts_of
from shared.domain.recipients.suppressions import BY_CHANNEL
from shared.domain.texts import MAX_TEXT, ReceivedText, text_id
from shared.domain.times import Millis
from shared.ports import Records, Texts

ANY: Final = "*"
_WISHES: Final = {x.value for x in CHANNEL_WISHES}
_KINDS: Final = {*_WISHES, ProviderEventKind.WRITTEN.value}


def from_number(word: ProviderEvent) -> bool:
    """Tell whether a word is a number's text: a ref of an attempt never begins with a plus sign."""
    return word.ref.startswith("+") and word.word in _KINDS


def receive(records: Records, texts: Texts, credential: Credential, words: Sequence[ProviderEvent], now: Millis) -> int:
    """Apply the wishes of numbers, store what they wrote, and return the count of numbers whose wish was applied.

    A credential of all accounts changes and stores nothing: it is not known whose message the number answers.

    Args:
        words: of which `from_number` is true.
    """
    if ANY in credential.accounts:
        return 0
    heeded = heed(records, credential, words, now)
    for text in received(credential, words):
        texts.add(text)
    return heeded


def heed(records: Records, credential: Credential, words: Sequence[ProviderEvent], now: Millis) -> int:
    """Change the lists of the credential's accounts and of their team keys; returns the count of numbers changed.

    A credential of all accounts changes none. The provider refuses the next message to the number, which suppresses it
    for the account that sends that message.

    Args:
        words: of which `from_number` is true; the latest wish of a number counts.
    """
    reach = BY_CHANNEL.get(credential.channel)
    if reach is None or ANY in credential.accounts:
        return 0
    latest = {w.ref: w.word for w in sorted(words, key=lambda w: w.at) if w.word in _WISHES}
    for number, wish in latest.items():
        for account in (space for named in credential.accounts for space in accounts_of(named)):
            if wish == ProviderEventKind.STARTED.value:
                records.allow(account, number, reach=reach, reason=STOPPED)
            else:
                records.suppress(account, number, STOPPED, now, reach=reach, channel=credential.channel)
    return len(latest)


def received(credential: Credential, words: Sequence[ProviderEvent]) -> Iterator[ReceivedText]:
    """Yield the texts of the credential's accounts.

    Args:
        words: of which `from_number` is true.
    """
    for word in words:
        name = text_id(credential.id, word.id, word.ref, word.detail)
        for account in credential.accounts:
            yield ReceivedText(
                account=account,
                id=name,
                credential=credential.id,
                channel=credential.channel,
                sender=word.ref,
                to=word.code,
                text=word.detail[:MAX_TEXT],
                at=word.at * 1000,
                wish=word.word if word.word in _WISHES else "",
            )
