"""Accounts that move to another cell: packed page by page where they are, unpacked where they go, and opened there.

The command carries the pages in a file. Each call can be repeated. In the old place an account is `moving`, then
`moved`; in the new one `arriving`, and then as any other.
"""

from collections.abc import Callable
from typing import Any, Final

from pydantic import Field

from functions.operate.access.notifiers import notifiers_of
from functions.operate.accounts import AccountBody, AccountChanged, owner_of
from functions.operate.call import Call, OperateBody, OperateView, route
from functions.operate.services import OperateServices
from shared.domain.accounts import Place
from shared.domain.jobs.job import Job
from shared.domain.namespaces import namespaces_of, owner
from shared.web.http import Answer
from shared.web.problems import Problem, invalid
from shared.web.routing import Nothing

MOST_ITEMS: Final = 25
"""Items that a refusal names."""


class NamesInUse(OperateView):
    """How a deployment names addresses: both have to do it by the same keys. `checks`: of the keys."""

    floor: int
    target: int
    checks: list[str]


class MoveRequest(AccountBody):
    """Where an account moves to: the address of the other cell's API."""

    to: str = Field(pattern=r"^https?://\S*[^\s/]$", max_length=300)


class MoveState(OperateView):
    """An account that moves. `ready_at`: from when on it can be packed, Unix milliseconds. `open_jobs`: some ids."""

    account_id: str
    name: str
    place: str
    elsewhere: str
    ready_at: int
    open_jobs: list[str]
    names: NamesInUse


class PackRequest(AccountBody):
    """Which page. `since`: only suppressions and unsubscriptions from then on, Unix milliseconds; 0: all there is."""

    after: str = Field("", max_length=4000)
    since: int = Field(0, ge=0)


class Packed(OperateView):
    """A page. `after`: of the next one; empty: this is the last."""

    items: list[dict[str, Any]]
    after: str


class Arrival(OperateBody):
    """A page of an account that arrives, from the cell at an address."""

    account_id: str = Field(pattern="^acc_[0-9a-z]{12}$")
    origin: str = Field(max_length=300)
    names: dict[str, Any]
    items: list[dict[str, Any]] = Field(max_length=5000)


class Unpacked(OperateView):
    """How many items of the page were not there yet."""

    put: int


def begin_move(call: Call[Nothing, MoveRequest]) -> Answer:
    """Let an account send nothing more here, if no job is open; a repeat returns how far it is."""
    services, whose = call.services, owner_of(call)
    found = services.moving_accounts.get(whose)
    if found is not None and found.place is Place.HERE:
        _refuse_company(services, whose)
        if jobs := _open(services, whose):
            raise invalid("account", f"Jobs of it are open: {', '.join(jobs)}. Let them end, or stop them.")
        if not services.moving_accounts.begin_move(whose, call.body.to, by=call.key.id):
            raise invalid("account", "It is suspended, or leaves: see `posthaste account list`.")
    return _state(services, whose)


def cancel_move(call: Call[Nothing, AccountBody]) -> Answer:
    """Let an account stay that has not left."""
    whose = owner_of(call)
    changed = call.services.moving_accounts.cancel_move(whose, by=call.key.id)
    return AccountChanged(account_id=whose, changed=changed).answer()


def pack_account(call: Call[Nothing, PackRequest]) -> Answer:
    """Return a page of what an account takes along."""
    services, body, whose = call.services, call.body, owner_of(call)
    found = services.moving_accounts.get(whose)
    place = Place.MOVED if body.since else Place.MOVING
    if found is None or found.place is not place:
        raise invalid("account", f"It is not {place.value}.")
    if not body.since and int(services.clock.now() * 1000) < services.moving_accounts.quiet_at(whose):
        raise invalid("account", "Requests of it may still be on their way. Wait a minute.")
    if not body.since and not body.after and (jobs := _open(services, whose)):
        raise invalid("account", f"Jobs of it are open: {', '.join(jobs)}. Cancel the move, and let them end.")
    try:
        items, after = services.packer.pack(whose, body.after, since=body.since)
    except (ValueError, TypeError):
        raise Problem("bad_cursor") from None
    return Packed(items=items, after=after).answer()


def leave_cell(call: Call[Nothing, AccountBody]) -> Answer:
    """Let an account be away. It cannot be undone: the account is in the other cell."""
    whose = owner_of(call)
    if not call.services.moving_accounts.leave(whose, by=call.key.id):
        raise invalid("account", "It does not move: `posthaste account depart` begins that.")
    return AccountChanged(account_id=whose, changed=True).answer()


def unpack_account(call: Call[Nothing, Arrival]) -> Answer:
    """Put a page of an account that arrives. Items that are there stay as they are."""
    services, body = call.services, call.body
    services.begin_names()
    if _names(services).model_dump() != body.names:
        raise invalid("names", "The cells name addresses by other keys. Give both the same secret of addresses first.")
    try:
        put = services.unpacker.unpack(body.account_id, body.origin, body.items)
    except (ValueError, TypeError, KeyError):
        raise invalid("items", "The file has something that is not of this account. Pack the account again.") from None
    return Unpacked(put=put).answer()


def open_arrived(call: Call[Nothing, AccountBody]) -> Answer:
    """Let an account that has arrived send."""
    whose = owner_of(call)
    changed = call.services.moving_accounts.open_arrived(whose, by=call.key.id)
    return AccountChanged(account_id=whose, changed=changed).answer()


def _state(services: OperateServices, account: str) -> Answer:
    found = services.moving_accounts.get(account)
    if found is None:
        raise Problem("not_found")
    return MoveState(
        account_id=account,
        name=found.name,
        place=found.place.value,
        elsewhere=found.elsewhere,
        ready_at=services.moving_accounts.quiet_at(account),
        open_jobs=_open(services, account),
        names=_names(services),
    ).answer()


def _names(services: OperateServices) -> NamesInUse:
    found = services.names.read()
    return NamesInUse(floor=found.floor, target=found.target, checks=[*found.checks])


def _open(services: OperateServices, account: str) -> list[str]:
    def mine(job: Job) -> bool:
        return owner(job.account) == account

    found = [job.id for page in services.open_work.pages(mine) for job in page.jobs]
    return found[:MOST_ITEMS]


def _refuse_company(services: OperateServices, account: str) -> None:
    """Refuse an account with something that does not go along."""
    spaces = namespaces_of(account)
    kinds: dict[str, Callable[[str], bool]] = {
        "notifiers": lambda x: any(not y.deleted for y in notifiers_of(services, x)),
        "endpoints of webhooks": lambda x: bool(list(services.hooking.service.every(x))),
        "digest policies": services.packer.has_policies,
    }
    if left := [kind for kind, there in kinds.items() if any(map(there, spaces))]:
        raise invalid("account", f"It has {' and '.join(left)}, which do not move. Delete them, and make them there.")


ROUTES: Final = (
    route("POST", "/erase/moves/begin", "Begin a move to another cell", begin_move, MoveState, "not_found"),
    route("POST", "/erase/moves/cancel", "Let the account stay", cancel_move, AccountChanged, "not_found"),
    route("POST", "/erase/moves/pack", "Read what goes along", pack_account, Packed, "not_found", "bad_cursor"),
    route("POST", "/erase/moves/leave", "Let it be gone", leave_cell, AccountChanged, "not_found"),
    route("POST", "/erase/moves/unpack", "Put what comes along", unpack_account, Unpacked),
    route("POST", "/erase/moves/open", "Open it in its new cell", open_arrived, AccountChanged, "not_found"),
)
