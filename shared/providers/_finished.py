"""Shared by the providers that take finished messages."""

from collections.abc import Iterable
from typing import Final

from shared.domain.content.content import Content, Finished
from shared.domain.jobs.outcomes import cannot_carry
from shared.domain.mails.outgoing import Outgoing
from shared.providers.instructing import INSTRUCTING

HEADER_NOT_ALLOWED: Final = cannot_carry("header_not_allowed")
"""Of a field that instructs a vendor's servers: to add recipients, say."""


def envelope_of(content: Content) -> Finished:
    """Return the envelope of a finished message. Raises ValueError if the content is none."""
    if content.finished is None:
        raise ValueError("the content is not a finished message")
    return content.finished


def instructs(message: Outgoing, allowed: Iterable[str] = ()) -> bool:
    """Check whether a header has fields that instruct a vendor's servers. `allowed`: names that it may have."""
    known = frozenset(allowed)
    return any(name.startswith(INSTRUCTING) and name not in known for name in message.names)
