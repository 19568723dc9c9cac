"""Pages that list something: each filter is declared once, and one function reads, filters and pages the rows.

A page's template extends `listing.html`, which has all that lists share, and gives the columns and a row's cells.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, Generic, Literal, TypeVar

from functions.console import lists
from functions.console.call import ConsoleCall
from functions.console.screen import PageRoute
from shared.domain.accounts import Scope
from shared.frozen import dataclass
from shared.web.http import Answer

T = TypeVar("T")
TYPED: Final = 400
"""Characters of a typed filter that are read."""


@dataclass(frozen=True, slots=True)
class ListFilter(Generic[T]):
    """A field of the form above a list.

    Attributes:
        name: of the parameter in the page's address.
        label: as people read it.
        options: what may be chosen; None: it is typed.
        every: the choice of everything; empty: there is none.
        of: returns a row's value, which has to be the chosen one; None: who reads the rows filters them.
        kind: of the field that is typed into.
        most: characters that may be typed.
        hint: an example of what is typed.
        default: what is chosen if nothing valid is; such a filter leads to another list, and narrows none.
        value: what it is set to, if another filter decides that.
        folded: it is shown after a click.
    """

    name: str
    label: str
    options: Sequence[str] | None = None
    every: str = ""
    of: Callable[[T], str] | None = None
    kind: Literal["text", "search", "date"] = "text"
    most: int = TYPED
    hint: str = ""
    default: str = ""
    value: str | None = None
    folded: bool = False

    def read(self, call: ConsoleCall) -> str:
        """Return its value; empty: it narrows nothing."""
        if self.value is not None:
            return self.value
        if self.options is not None:
            return lists.chosen(call, self.name, self.options) or self.default
        if self.kind == "date":
            found = lists.day(call, self.name)
            return found.isoformat() if found else ""
        return lists.typed(call, self.name, self.most)


def states(options: Sequence[str], of: Callable[[T], str] | None = None) -> ListFilter[T]:
    """Return the filter by state."""
    return ListFilter("state", "State", options, "every state", of)


KEYS: Final[ListFilter[Any]] = ListFilter("keys", "Keys", lists.KEYS, default=lists.KEYS[0])
"""The kind of keys whose list is shown."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A visit of a list. `values`: filter → its value; empty: it narrows nothing."""

    call: ConsoleCall
    values: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        """Return a filter's value."""
        return self.values[name]

    @property
    def space(self) -> str:
        """The namespace whose list is asked for."""
        return lists.space(self.call)

    @property
    def place(self) -> str:
        """Where the page begins; empty: at the beginning of the list."""
        return lists.place(self.call)


@dataclass(frozen=True, slots=True)
class ListRows(Generic[T]):
    """Rows that were read.

    Attributes:
        after: the place to continue from; empty: the list ends.
        whole: these are all rows, of which a page is cut once they are filtered.
        bare: if no row is shown, no filter is the reason.
        more: what the page's template shows besides.
    """

    rows: Sequence[T]
    after: str = ""
    whole: bool = False
    bare: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)


Filters = Sequence[ListFilter[T]]
Read = Callable[[Asked], ListRows[T]]


def listed(
    path: str,
    name: str,
    template: str,
    filters: Filters[T],
    read: Read[T],
    scope: Scope = Scope.READ,
    *,
    operators: bool = False,
) -> PageRoute:
    """Return the route of a page that is a list.

    Args:
        name: of the visit, in the log.
        filters: in the order of the form.
        read: returns the rows.
        scope: what the visitor's role must include.
        operators: only they see it.
    """
    return PageRoute("GET", path, name, lambda call: answer(call, template, filters, read), scope, operators=operators)


def answer(call: ConsoleCall, template: str, filters: Filters[T], read: Read[T]) -> Answer:
    """Show a page of a list."""
    return call.services.pages.page(call, template, shown(call, filters, read))


def shown(call: ConsoleCall, filters: Filters[T], read: Read[T]) -> dict[str, Any]:
    """Return what the template of a list shows.

    `chosen` has the filters' values. `bare`: nothing is there at all, else a filter or the end is why no row is.
    """
    at = Asked(call, {x.name: x.read(call) for x in filters})
    found = read(at)
    fitting = [row for row in found.rows if _fits(row, filters, at)]
    rows, after = lists.cut(call, fitting) if found.whole else (fitting, found.after)
    paging = lists.paging(call, after, at.values)
    bare = not rows and (found.bare or not _narrowed(filters, at, paging))
    return {"filters": filters, "chosen": at.values, "rows": rows, "bare": bare, "paging": paging, **found.more}


def _fits(row: T, filters: Filters[T], at: Asked) -> bool:
    return all(x.of is None or at[x.name] in ("", x.of(row)) for x in filters)


def _narrowed(filters: Filters[Any], at: Asked, paging: lists.ListPages) -> bool:
    """Tell whether there may be rows besides those that are shown."""
    return bool(paging.first or paging.next) or any(at[x.name] for x in filters if not x.default)
