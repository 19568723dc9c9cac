"""The console's menu: sections in groups, as far as the visitor may see them."""

from collections.abc import Sequence
from typing import Any, Final

from functions.console.screen import PageCall
from shared.domain.accounts import Scope
from shared.frozen import dataclass

ACCOUNT: Final = "{account}"


@dataclass(frozen=True, slots=True)
class Section:
    """A page that the menu leads to.

    Attributes:
        label: as people read it; its pages' templates set it as `section`.
        path: below the console; `{account}` is the account that is shown.
        scope: what the visitor's role must include in the account.
        operators: only operators see it.
        buttons: it is there only where operators have buttons.
    """

    label: str
    path: str
    scope: Scope = Scope.READ
    operators: bool = False
    buttons: bool = False


MENU: Final[tuple[tuple[str, tuple[Section, ...]], ...]] = (
    (
        "See",
        (
            Section("Overview", ACCOUNT),
            Section("Jobs", f"{ACCOUNT}/jobs"),
            Section("Messages", f"{ACCOUNT}/messages"),
            Section("Digests", f"{ACCOUNT}/digests"),
            Section("Notices", f"{ACCOUNT}/notices"),
            Section("Mails", f"{ACCOUNT}/mails"),
        ),
    ),
    (
        "Send",
        (
            Section("Campaigns", f"{ACCOUNT}/campaigns"),
            Section("Approvals", f"{ACCOUNT}/approvals"),
            Section("Templates", f"{ACCOUNT}/templates"),
        ),
    ),
    (
        "Account",
        (
            Section("Suppressions", f"{ACCOUNT}/suppressions"),
            Section("Hooks", f"{ACCOUNT}/hooks"),
            Section("Keys", f"{ACCOUNT}/keys", Scope.ADMIN),
            Section("Senders", f"{ACCOUNT}/senders"),
            Section("Members", f"{ACCOUNT}/members"),
            Section("Audit log", f"{ACCOUNT}/audit", Scope.ADMIN),
            Section("Manage", f"{ACCOUNT}/manage", operators=True, buttons=True),
        ),
    ),
    (
        "Run",
        (
            Section("Credentials", "credentials", operators=True),
            Section("Dead letters", "dead-letters", operators=True),
        ),
    ),
)
"""Groups of sections, in their order. A page that lists something has a line here."""


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """A line of the menu. `path`: below the console."""

    label: str
    path: str


@dataclass(frozen=True, slots=True)
class MenuGroup:
    """Lines of the menu below one heading."""

    label: str
    entries: Sequence[MenuEntry]


def menu(call: PageCall[Any]) -> list[MenuGroup]:
    """Return the menu of a visit; without an account only what needs none. Empty before a sign-in."""
    if call.visitor is None:
        return []
    account = call.path.get("account", "") if call.role else ""
    shown = [
        MenuGroup(
            label,
            [MenuEntry(s.label, s.path.replace(ACCOUNT, account)) for s in sections if _visible(call, s)],
        )
        for label, sections in MENU
    ]
    return [group for group in shown if group.entries]


def _visible(call: PageCall[Any], section: Section) -> bool:
    """Tell whether a visitor may see a section."""
    if section.operators and not call.who.person.user.operator:
        return False
    if section.buttons and call.services.buttons is None:
        return False
    return ACCOUNT not in section.path or call.may(section.scope)
