"""Two mails that are the same to the byte: one that a program repeats, since it lost the answer, or two that it means.

The Message-ID identifies a mail that has one: the same bytes are the same mail. Devices and scripts send mails without
one, and the same alert again is a new alert. Of these, a mail is repeated only until its program has seen the answer.
"""

import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from threading import Lock
from typing import Any, Final

from cli.relay.api import MailAnswer, PostFate
from cli.relay.mail import RelayMail
from shared.domain.ids import is_id, made_at
from shared.domain.times import Millis
from shared.ports import Clock

LATEST_MS: Final[Millis] = 600_000
"""A program that lost the answer sends again within so long."""
MOST: Final = 10_000
"""Mails without a Message-ID that are remembered."""
MOST_BEFORE: Final = 50
"""Equal mails of earlier runs of the relay that are passed over."""


class MailRounds:
    """Tells equal mails without a Message-ID apart. Threads may share it. `clock`: for when a mail is none before."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._rounds: OrderedDict[str, str] = OrderedDict()  # key of a mail → what is added to it
        self._answered: OrderedDict[str, tuple[str, ...]] = OrderedDict()  # reply → keys of its mails

    def keyed(self, mail: RelayMail) -> RelayMail:
        """Return a mail with the key of its round; one with a Message-ID as it is."""
        if mail.has_id:
            return mail
        with self._lock:
            added = self._rounds.get(mail.key, "")
        key = _another(mail.key, added) if added else mail.key
        return replace(mail, key=key, new_since=int(self._clock.now() * 1000) - LATEST_MS)

    def answered(self, reply: str, mails: Sequence[RelayMail]) -> None:
        """Note the reply to an SMTP transaction, which the program may or may not see.

        Args:
            reply: names one of the mails.
            mails: as they were before `keyed`.
        """
        keys = tuple(x.key for x in mails if not x.has_id)
        if keys:
            with self._lock:
                _remember(self._answered, reply, keys)

    def confirmed(self, reply: str) -> None:
        """Note that a program has seen a reply: from now on, the same bytes are another mail."""
        with self._lock:
            for key in self._answered.pop(reply, ()):
                _remember(self._rounds, key, secrets.token_hex(16))


def posted(post: Callable[[RelayMail], MailAnswer], mail: RelayMail) -> MailAnswer:
    """Post a mail. If the API had it before `mail.new_since`, that was another one, so this one gets another key.

    The keys are always the same ones, so that a post that is repeated is still one.
    """
    answer = post(mail)
    for _ in range(MOST_BEFORE):
        if not _is_of_another(answer, mail):
            break
        mail = replace(mail, key=_another(mail.key, "again"))
        answer = post(mail)
    return answer


def _is_of_another(answer: MailAnswer, mail: RelayMail) -> bool:
    taken = answer.fate is PostFate.TAKEN and answer.is_replayed and is_id(answer.says)
    return taken and made_at(answer.says) < mail.new_since


def _another(key: str, added: str) -> str:
    return sha256(f"{key} {added}".encode()).hexdigest()


def _remember(known: OrderedDict[str, Any], name: str, value: str | tuple[str, ...]) -> None:
    """Keep the latest ones."""
    known[name] = value
    known.move_to_end(name)
    if len(known) > MOST:
        known.popitem(last=False)
