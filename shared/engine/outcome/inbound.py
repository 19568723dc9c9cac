"""What recipients write to a credential's own number: STOP ends a channel for them, START begins it again.

Such a message belongs to no attempt. It comes as a word whose ref is the number that wrote (`from_number`).
"""

from collections.abc import Sequence
from typing import Final

from shared.contracts import Credential, Word
from shared.domain.jobs.feedback import WordKind
from shared.domain.jobs.outcomes import STOPPED
from shared.domain.recipients.suppressions import BY_CHANNEL
from shared.ports import Records

ANY: Final = "*"
_KINDS: Final = {WordKind.STOPPED.value, WordKind.STARTED.value}


def from_number(word: Word) -> bool:
    """Tell whether a word is a number's wish: a ref of an attempt never begins with a plus sign."""
    return word.ref.startswith("+") and word.word in _KINDS


def heed(records: Records, credential: Credential, words: Sequence[Word], now: int) -> int:
    """Change the lists of the credential's accounts, and return how many numbers were heeded.

    A credential of all accounts changes none: it is not known whose message the number answers. The provider refuses
    the next message to it, which suppresses the number for the account that sends that message.

    Args:
        records: where suppressions are.
        credential: that the numbers wrote to.
        words: of which `from_number` is true; the latest of a number counts.
        now: Unix milliseconds.
    """
    reach = BY_CHANNEL.get(credential.channel)
    if reach is None or ANY in credential.accounts:
        return 0
    latest = {w.ref: w.word for w in sorted(words, key=lambda w: w.at)}
    for number, wish in latest.items():
        for account in credential.accounts:
            if wish == WordKind.STARTED.value:
                records.allow(account, number, reach=reach, reason=STOPPED)
            else:
                records.suppress(account, number, STOPPED, now, reach=reach, channel=credential.channel)
    return len(latest)
