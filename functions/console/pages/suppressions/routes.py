"""Addresses that the account does not send to: listed, looked up, added, and lifted after a question."""

import re
from typing import Final
from urllib.parse import urlencode

from functions.console import lists
from functions.console.call import ConsoleCall
from functions.console.listing import KEYS, Asked, Filters, ListFilter, ListRows, listed
from functions.console.pages.asking import SURE, Question, ask
from functions.console.screen import Denial, PageRoute, absent, leave_for
from shared.domain.accounts import Scope
from shared.domain.recipients import addresses, reader
from shared.domain.recipients.suppressions import AnyReach, DigestsOf, Reach, Suppression
from shared.frozen import dataclass
from shared.web.http import Answer

LISTS: Final = tuple(reach.value for reach in Reach)
SINGLE: Final = tuple(reach for reach in Reach if reach is not Reach.DIGESTS)
"""Lists on which an address is at most once; that of digests has an entry for each policy."""
MAX_REASON: Final = 100
MAX_POLICY: Final = 200
_REASON: Final = re.compile(rf"[^\x00-\x1f\x7f-\x9f\u2028\u2029]{{1,{MAX_REASON}}}")
NO_ADDRESS: Final = Denial(
    422, "This is no address", "Type an e-mail address, or a telephone number with its country code, as in +61 2 …"
)
NO_REASON: Final = Denial(422, "This is no reason", f"Type up to {MAX_REASON} characters, in one line.")


@dataclass(frozen=True, slots=True)
class ListEntry:
    """An address on a list. `reach`: the list."""

    found: Suppression
    reach: str

    @property
    def query(self) -> str:
        """The entry's identification in the query of a page's address."""
        named = {"address": self.found.address, "list": self.reach, "policy": self.found.policy}
        return urlencode({name: value for name, value in named.items() if value})


FILTERS: Final[Filters[ListEntry]] = (
    ListFilter("address", "Address"),
    ListFilter("list", "List", tuple(Reach), default=Reach.ALL),
    KEYS,
)


def _suppressions(at: Asked) -> ListRows[ListEntry]:
    """Return a page of a list, newest first, or the entries of one address."""
    more = {"reaches": SINGLE, "kinds": lists.KEYS}
    if at["address"]:
        return ListRows(_of_address(at.call, at["address"]), more=more)
    store, reach = at.call.services.use_cases.suppressions, at["list"]
    found, after = store.page(at.space, after=at.place, limit=lists.PAGE, reach=Reach(reach))
    return ListRows([ListEntry(x, reach) for x in found], after, more=more)


def _of_address(call: ConsoleCall, typed: str) -> list[ListEntry]:
    """Return the entries of an address on all lists but that of digests."""
    key = _key(typed)
    if not key:
        return []
    store = call.services.use_cases.suppressions
    found = ((store.get(lists.space(call), key, reach=reach), reach.value) for reach in SINGLE)
    return [ListEntry(entry, reach) for entry, reach in found if entry is not None]


def add(call: ConsoleCall) -> Answer:
    """Put an address on a list."""
    key, reach = _key(call.form.get("address", "")), call.form.get("list", "")
    reason = call.form.get("reason", "").strip() or "manual"
    if not key:
        raise NO_ADDRESS
    if reach not in LISTS or Reach(reach) not in SINGLE:
        raise Denial(422, "There is no such list", "Choose one of the lists.")
    if _REASON.fullmatch(reason) is None:
        raise NO_REASON
    if not call.form.get(SURE):
        return _ask_to_add(call, key, reach, reason)
    by = call.actor
    call.services.use_cases.suppressions.put(lists.space(call), key, reason, reach=Reach(reach), by=by)
    return _back(call, reach)


def _ask_to_add(call: ConsoleCall, key: str, reach: str, reason: str) -> Answer:
    """Ask whether an address gets nothing more; the form of the question says that it was answered."""
    keys = lists.kind_of_keys(call)
    question = Question(
        section="Suppressions",
        title=f"Send nothing more to {key}?",
        count=1,
        what=f"address is put on the list “{reach}” of {keys} keys. Messages that wait for it are skipped, too.",
        label="Suppress the address",
        back=f"{call.account}/suppressions?{urlencode({'list': reach, 'keys': keys})}",
        fields={"address": key, "list": reach, "reason": reason, "keys": keys, SURE: "1"},
    )
    return ask(call, question)


def ask_to_lift(call: ConsoleCall) -> Answer:
    """Ask whether an address may be sent to again."""
    named = {name: call.request.query.get(name, "") for name in ("address", "list", "policy")}
    key, reach = _named(named["address"], named["list"], named["policy"])
    found = call.services.use_cases.suppressions.get(lists.space(call), key, reach=reach)
    if found is None:
        raise absent("suppression")
    keys = lists.kind_of_keys(call)
    question = Question(
        section="Suppressions",
        title=f"Send to {found.address} again?",
        count=1,
        what=f"address leaves the list “{reach.kind.value}”. It was put there for this reason: {found.reason}.",
        label="Lift the suppression",
        back=f"{call.account}/suppressions?{urlencode({'list': reach.kind.value, 'keys': keys})}",
        fields={**named, "keys": keys},
    )
    return ask(call, question)


def lift(call: ConsoleCall) -> Answer:
    """Take an address off a list; one that is not on it is no fault."""
    key, reach = _named(*(call.form.get(name, "") for name in ("address", "list", "policy")))
    by = call.actor
    call.services.use_cases.suppressions.delete(lists.space(call), key, reach=reach, by=by)
    return _back(call, reach.kind.value)


def _named(address: str, reach: str, policy: str) -> tuple[str, AnyReach]:
    """Return the key of an address, and the list that is meant.

    Args:
        policy: prefix of a digest policy; empty unless the list is that of digests.
    """
    key = _key(address)
    if not key or reach not in LISTS or (reach == Reach.DIGESTS) is not bool(policy) or len(policy) > MAX_POLICY:
        raise absent("suppression")
    return key, DigestsOf(policy) if policy else Reach(reach)


def _key(typed: str) -> str:
    """Return the normalised key of an address or number; empty: it is none."""
    text = typed.strip()
    if text.startswith("+") and "@" not in text:
        found = reader.number_reader()(text)
        return "" if isinstance(found, reader.RecipientFault) else found[1]
    parsed = addresses.parse(text)
    return parsed.key if isinstance(parsed, addresses.Address) else ""


def _back(call: ConsoleCall, reach: str) -> Answer:
    query = urlencode({"list": reach, "keys": lists.kind_of_keys(call)})
    return leave_for(call, f"suppressions?{query}")


_PATH: Final = "/console/{account}/suppressions"
ROUTES: Final = (
    listed(_PATH, "suppressions", "suppressions/suppressions.html", FILTERS, _suppressions),
    PageRoute("POST", f"{_PATH}/add", "suppress an address", add, Scope.ADMIN, ends=True),
    PageRoute("GET", f"{_PATH}/lift", "ask to lift a suppression", ask_to_lift, Scope.ADMIN),
    PageRoute("POST", f"{_PATH}/lift", "lift a suppression", lift, Scope.ADMIN),
)
