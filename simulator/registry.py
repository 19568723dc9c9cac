"""The providers: one line each."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from simulator.mailgun import Mailgun
from simulator.model import Provider
from simulator.sendgrid import SendGrid

PROVIDERS: Final[dict[str, Callable[[Path | None], Provider]]] = {
    SendGrid.name: SendGrid,
    Mailgun.name: Mailgun,
}
"""Name → constructor; its argument is the file of the provider's signing key, or None to make one up."""
