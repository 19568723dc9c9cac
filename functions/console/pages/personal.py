"""Which pages show personal data, and what the audit log says of them: one entry for each hour, person and page."""

from typing import Final

from functions.console.call import ConsoleCall
from functions.console.screen import PageRoute
from shared.domain.audit import Act

PERSONAL: Final = frozenset(
    {
        *("messages", "messages of a job", "message", "recipients", "bad rows", "preview of a campaign"),
        *("suppressions", "ask to lift a suppression", "notices", "notice", "mails", "mail", "delivery", "webhook"),
    }
)
"""Pages with addresses, numbers or values of recipients."""
EXPORTS: Final = {"results of a campaign": "campaign", "results of a job": "job"}
"""Pages that give files with all recipients, and what of the path names the file."""


def note_read(call: ConsoleCall, screen: PageRoute) -> None:
    """Note that a person opens such a page, before they get it; raises Retriable if that is not possible."""
    if screen.name in PERSONAL:
        name = screen.name.replace(" ", "_")
        call.services.use_cases.acceptances.note(call.account, Act.READ, name, call.actor)
    if screen.name in EXPORTS:
        call.services.use_cases.acceptances.note(
            call.account, Act.EXPORTED, call.path[EXPORTS[screen.name]], call.actor
        )
