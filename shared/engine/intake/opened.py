"""Which channels an account may use at all: those without senders are closed to accounts that people made themselves.

A message by e-mail names its sender, which an operator granted or DNS proves. Texts and calls name none: without this
rule the first key of a stranger would send them at the deployment's cost.
"""

from typing import Final, Protocol

from shared.domain.channels.lookup import channel_of
from shared.engine.intake.declined import Decline, FieldFault

CODE: Final = "channel_not_open"


class Opened(Protocol):
    """Reads whether a channel is open: `ports.Senders` and `ports.AccountStatuses`."""

    def opened(self, account: str, channel: str) -> bool:
        """Return whether an account may send by a channel whose messages name no sender."""


def is_open(of: Opened, account: str, channel: str, *, test: bool) -> bool:
    """Return whether an account may send by a channel.

    Args:
        account: the account's id, or its team space.
        test: made with a test key, which reaches no provider.
    """
    return test or channel_of(channel).names_sender or of.opened(account, channel)


def check_open(of: Opened, account: str, channel: str, *, test: bool) -> None:
    """Check that an account may send by a channel, as `is_open` says.

    Args:
        account: the account's id, or its team space.
        test: made with a test key, which reaches no provider.

    Raises:
        Decline: it may not.
    """
    if not is_open(of, account, channel, test=test):
        said = f"The account may not send by {channel}. Ask an operator to open it: posthaste account open."
        raise Decline(CODE, FieldFault("channel", said))
