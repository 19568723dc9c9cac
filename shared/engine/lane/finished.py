"""A finished message on its way to the provider: its bytes are at hand before the call's slot is judged."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

from shared.domain.content.content import Content
from shared.domain.content.streams import Stream
from shared.domain.jobs.outcomes import NotStarted, Outcome, Rejected, cannot_carry
from shared.domain.times import Seconds
from shared.ports import FileChanged, FinishedMessages, FinishedSender, Provider, Target

_LOG: Final = logging.getLogger(__name__)
GONE: Final = Rejected("content_gone", permanent=True)
NOT_READ: Final = Rejected("content_not_read", permanent=False, about_message=True)
NOT_SUPPORTED: Final = cannot_carry("finished_not_supported")
TOO_LARGE: Final = cannot_carry("too_large")
"""For this provider: another one of the route may take it."""


@contextmanager
def message_of(messages: FinishedMessages | None, content: Content) -> Iterator[Stream | Rejected | None]:
    """Return the bytes of a finished message, for a `with`.

    Args:
        messages: where the bytes are; None: nothing serves them here.

    Returns:
        Why nothing can be sent, if the bytes are out of reach. None for a content that is made into messages.
    """
    with ExitStack() as stack:
        yield _opened(stack, messages, content)


def _opened(stack: ExitStack, messages: FinishedMessages | None, content: Content) -> Stream | Rejected | None:
    if content.finished is None:
        return None
    if messages is None:
        return NOT_SUPPORTED
    try:
        return stack.enter_context(messages.open(content.finished))
    except FileChanged:
        return GONE
    except Exception as fault:  # noqa: BLE001 - any fault, such as a full disk: no provider was called
        _LOG.warning("finished message not read", extra={"file": content.finished.name, "fault": type(fault).__name__})
        return NOT_READ


def send(
    provider: Provider,
    content: Content,
    message: Stream | Rejected | None,
    targets: Sequence[Target],
    *,
    deadline: Seconds,
) -> list[Outcome]:
    """Call the provider once, as `Provider.send` does.

    Args:
        provider: is called.
        message: what `message_of` returned for the content.
        targets: the recipients; only the first if the message is finished.
        deadline: Unix seconds by which the answer must have come.
    """
    if message is None:
        return provider.send(content, targets, deadline=deadline)
    if isinstance(message, Rejected):
        return [message] * len(targets)
    if not isinstance(provider, FinishedSender):
        return [NOT_SUPPORTED] * len(targets)
    if message.size > provider.finished_bytes:
        return [TOO_LARGE] * len(targets)
    first, *others = targets
    outcome = provider.send_finished(content, message, first, deadline=deadline)
    return [outcome, *(NotStarted() for _ in others)]
