"""The console's menu: sections in groups, as far as the visitor may see them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from functions.console.screen import PageCall

ACCOUNT: Final = "{account}"


@dataclass(frozen=True, slots=True)
class Section:
    """A page that the menu leads to.

    Attributes:
        label: as people read it; its pages' templates set it as `section`.
        path: below the console; `{account}` is the account that is shown.
        operators: only operators see it.
    """

    label: str
    path: str
    operators: bool = False


MENU: Final[tuple[tuple[str, tuple[Section, ...]], ...]] = (
    (
        "See",
        (
            Section("Overview", ACCOUNT),
            Section("Jobs", f"{ACCOUNT}/jobs"),
            Section("Messages", f"{ACCOUNT}/messages"),
        ),
    ),
    ("Account", (Section("Members", f"{ACCOUNT}/members"),)),
)
"""Groups of sections, in their order. A page that lists something has a line here."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the menu. `path`: below the console."""

    label: str
    path: str


@dataclass(frozen=True, slots=True)
class Group:
    """Lines of the menu below one heading."""

    label: str
    entries: Sequence[Entry]


def menu(look: PageCall[Any]) -> list[Group]:
    """Return the menu of a visit; without an account only what needs none. Empty for who has not signed in."""
    if look.visitor is None:
        return []
    account = look.path.get("account", "") if look.role else ""
    operator = look.visitor.person.user.operator
    shown = [
        Group(
            label,
            [
                Entry(s.label, s.path.replace(ACCOUNT, account))
                for s in sections
                if (account or ACCOUNT not in s.path) and (operator or not s.operators)
            ],
        )
        for label, sections in MENU
    ]
    return [group for group in shown if group.entries]
