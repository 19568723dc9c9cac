"""The deployment as this process sees it, made on the first event and kept while the process lives."""

from functools import cache
from typing import TYPE_CHECKING

from shared.bootstrap import Deployment, SendingLane
from shared.bootstrap import lane as build_lane

if TYPE_CHECKING:
    from shared.bootstrap.hooking import Hooking
    from shared.bootstrap.mailing import Mailing
    from shared.bootstrap.noticing import Noticing
    from shared.ports.people import FirstAccounts


@cache
def deployment() -> Deployment:
    """Return the process's deployment."""
    return Deployment()


def noticing() -> "Noticing":
    """Return what delivers notices."""
    return _noticing(deployment())


@cache
def _noticing(of: Deployment) -> "Noticing":
    from shared.bootstrap.noticing import Noticing  # noqa: PLC0415 - most functions know nothing of notices

    return Noticing(of)


def mailing() -> "Mailing":
    """Return what ends mails."""
    return _mailing(deployment())


@cache
def _mailing(of: Deployment) -> "Mailing":
    from shared.bootstrap.mailing import Mailing  # noqa: PLC0415 - most functions know nothing of mails

    return Mailing(of)


def hooking() -> "Hooking":
    """Return what posts webhooks."""
    return _hooking(deployment())


@cache
def _hooking(of: Deployment) -> "Hooking":
    from shared.bootstrap.hooking import Hooking  # noqa: PLC0415 - most functions know nothing of webhooks

    return Hooking(of)


def first_accounts() -> "FirstAccounts":
    """Return what makes people's first accounts."""
    return _first_accounts(deployment())


@cache
def _first_accounts(of: Deployment) -> "FirstAccounts":
    from shared.bootstrap.joining import first_accounts as build  # noqa: PLC0415 - one function makes accounts

    return build(of)


@cache
def lane() -> SendingLane:
    """Return the lane that this function serves."""
    return build_lane(deployment())


Answer = dict[str, list[dict[str, str]]]
"""A partial answer to SQS: messages in it are delivered again, and in the end reach the dead-letter queue."""
