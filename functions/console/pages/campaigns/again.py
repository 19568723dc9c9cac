"""Lists that are read again from the file that is kept: by another row and column, or for another campaign."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from functions.console import lists
from functions.console.call import ConsoleCall
from functions.console.pages.campaigns.view import conflict, owned
from functions.console.screen import PageRoute, absent, leave_for
from shared.domain.accounts import Scope
from shared.domain.campaigns.campaign import Campaign, Upload
from shared.domain.channels.lookup import channel_of
from shared.domain.ids import is_id, made_at
from shared.domain.lists.csv_rows import first_rows
from shared.domain.lists.header import short
from shared.domain.lists.uploads import ListRules
from shared.engine.lists.kept import is_young, newest, rules_of, why_deleted
from shared.engine.lists.uploading import Refusal
from shared.frozen import dataclass
from shared.ports import FileChanged
from shared.web.http import Answer

SHOWN: Final = 12
"""Rows of a file that are shown."""
CELLS: Final = 8
"""Cells of each that are shown."""
ROW_DIGITS: Final = 4
MAX_COLUMN: Final = 100
"""Characters of a column's name."""


@dataclass(frozen=True, slots=True)
class FirstRow:
    """A row of a file. `number`: as a spreadsheet shows it."""

    number: int
    cells: tuple[str, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """Its first cells, in short."""
        return tuple(short(x.strip()) for x in self.cells[:CELLS])

    @property
    def names(self) -> tuple[str, ...]:
        """Its cells that can be names of columns, each once."""
        return tuple(dict.fromkeys(x for cell in self.cells if 0 < len(x := cell.strip()) <= MAX_COLUMN))


@dataclass(frozen=True, slots=True)
class KeptList:
    """A campaign whose list another one may use."""

    campaign: str
    name: str


def kept_lists(call: ConsoleCall, of: Campaign) -> Sequence[KeptList]:
    """Return the newest other campaigns whose list's file may still be there, newest first.

    None: the campaign has a list already.
    """
    if of.uploading or of.ready:
        return ()
    found, _ = call.services.campaigns().campaigns.campaigns.page(call.account, test=False, after="", limit=lists.PAGE)
    others = [x.campaign for x in found if x.campaign.id != of.id]
    days, now = call.services.settings.uploads_days, call.services.now
    with_list = [(x, x.ready or next(reversed(x.jobs), "")) for x in others]
    return [KeptList(x.id, x.name) for x, name in with_list if name and is_young(made_at(name), now, days)]


def choose(call: ConsoleCall) -> Answer:
    """Show the first rows of a list's file, to choose the one with the names of columns, and the recipients' column."""
    campaign = owned(call)
    found = _list(call, campaign, call.request.query.get("upload", ""))
    rows = _first_rows(call, found)
    read, named = found.heading
    row = lists.number(call.request.query.get("row", ""), ROW_DIGITS) or read or next((x.number for x in rows), 1)
    context = {
        "campaign": campaign,
        "upload": found,
        "rows": rows,
        "row": row,
        "names": next((x.names for x in rows if x.number == row), ()),
        "named": named or found.column,
    }
    return call.services.pages.page(call, "campaigns/heading.html", context)


def _list(call: ConsoleCall, campaign: Campaign, name: str) -> Upload:
    """Return a list of a campaign; without a name the one that is meant."""
    uploads = call.services.campaigns().campaigns.uploads
    if not name:
        meant = newest(uploads.of(campaign.id))
        if meant is None:
            raise conflict("no_list")
        return meant
    found = uploads.get(campaign.id, name) if is_id(name) else None
    if found is None:
        raise absent("list")
    return found


def _first_rows(call: ConsoleCall, found: Upload) -> Sequence[FirstRow]:
    """Return the rows of a file that have something, as it is read."""
    name, etag = found.source
    try:
        block = next(iter(call.services.campaigns().files.read(name, etag=etag, start=0)), b"") if etag else b""
    except FileChanged:
        raise _deleted(call, found) from None
    numbered = enumerate(first_rows(block, SHOWN), 1)
    return [FirstRow(number, tuple(cells)) for number, cells in numbered if any(x.strip() for x in cells)]


def _deleted(call: ConsoleCall, found: Upload) -> Exception:
    text = why_deleted(found, call.services.now, call.services.settings.uploads_days)
    return conflict(Refusal.FILE_DELETED.value, text)


def read(call: ConsoleCall) -> Answer:
    """Read a list again, with the row and the column that were chosen."""
    campaign = owned(call)
    found = _list(call, campaign, call.form.get("upload", ""))
    row = lists.number(call.form.get("row", ""), ROW_DIGITS) or 0
    column = call.form.get("column", "").strip()[:MAX_COLUMN]
    return _reused(call, campaign, found, replace(rules_of(found, campaign.channel), header_row=row, column=column))


def use(call: ConsoleCall) -> Answer:
    """Read the list of another campaign of the account, for this one."""
    campaign = owned(call)
    other = owned(replace(call, path={**call.path, "campaign": call.form.get("list_of", "")}))
    found = _list(call, other, "")
    rules = rules_of(found, campaign.channel)
    if channel_of(campaign.channel).numbers and not rules.region:
        account = call.services.accounts.get(campaign.account)
        rules = replace(rules, region=account.region if account else "")
    return _reused(call, campaign, found, rules)


def _reused(call: ConsoleCall, campaign: Campaign, found: Upload, rules: ListRules) -> Answer:
    uploading, by = call.services.campaigns().campaigns.uploading, call.who.person.user.actor
    taken = uploading.reuse(campaign, found, rules, by=by)
    if taken is None:
        raise absent("campaign")
    if taken is Refusal.FILE_DELETED:
        raise _deleted(call, found)
    if isinstance(taken, Refusal):
        raise conflict(taken.value)
    return leave_for(call, f"campaigns/{campaign.id}")


_ONE: Final = "/console/{account}/campaigns/{campaign}"
ROUTES: Final = (
    PageRoute("GET", f"{_ONE}/header", "choose the row and column of a list", choose, Scope.SEND),
    PageRoute("POST", f"{_ONE}/header", "read a list by a row and column", read, Scope.SEND),
    PageRoute("POST", f"{_ONE}/list-of", "use the list of a campaign", use, Scope.SEND),
)
