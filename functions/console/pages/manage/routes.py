"""Operators see to an account: make it, set its limits of a day, suspend it, and let it send again."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from functions.console import lists
from functions.console.call import ConsoleCall
from functions.console.pages.asking import MAX_REASON, Question, ask
from functions.console.pages.offering import offer, offered
from functions.console.pages.pressing import buttons_of, may_press, press
from functions.console.screen import Denial, PageRoute, absent, leave_for, redirect
from shared.domain.accounts import Account, new_account_id
from shared.domain.spending.limits import MEASURES, PRICE
from shared.domain.times import DAY_MS
from shared.web.http import Answer

USE: Final = "posthaste account 1"
SECTION: Final = "Manage"
NONE: Final = "none"
MOST_DAYS: Final = 366
_WHOLE: Final = re.compile(r"[0-9]{1,12}", re.ASCII)
_AMOUNT: Final = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?", re.ASCII)
_COUNTRY: Final = re.compile(r"[A-Z]{2}")


@dataclass(frozen=True, slots=True)
class LimitField:
    """A limit of a day, as its form has it.

    Attributes:
        measure: a channel, `messages` of all channels, or `price`.
        set: as an operator typed it; empty: the deployment's default holds.
        most: that holds; None: there is no limit.
        used: today; None: nothing is counted.
    """

    measure: str
    set: str
    most: float | None
    used: float | None


def ask_to_manage(call: ConsoleCall) -> Answer:
    """Show an account to operators, with its limits in a form."""
    limits = press(call, "GET", "/accounts/limits", {"account": call.account})
    context = {
        "found": _account(call),
        "rows": _fields(limits),
        "countries": " ".join(limits["countries"]),
        "plans": may_press(call, key_admin=True),
    }
    return call.services.pages.page(call, "manage/manage.html", context)


def set_limits(call: ConsoleCall) -> Answer:
    """Set the limits that the form has changed; the others stay, and have no entry in the audit log."""
    before = press(call, "GET", "/accounts/limits", {"account": call.account})
    changes = {
        x.measure: _most(x.measure, call.form[f"limit {x.measure}"].strip())
        for x in _fields(before)
        if call.form.get(f"limit {x.measure}", x.set).strip() != x.set
    }
    countries = _countries(call.form.get("countries", ""))
    more = {"countries": countries} if countries != before["countries"] else {}
    if changes or more:
        press(call, "POST", "/accounts/limits", {"account": call.account, "limits": changes, **more})
    return leave_for(call, "manage")


def ask_to_create(call: ConsoleCall) -> Answer:
    """Ask what a new account is called, and from where it may send."""
    buttons_of(call)
    return call.services.pages.page(call, "manage/new.html", {"offer": offer(call, USE, new_account_id())})


def create(call: ConsoleCall) -> Answer:
    """Make an account; a repeated form makes no second one."""
    senders = call.form.get("senders", "").replace(",", " ").split()
    body = {"name": call.form.get("name", ""), "senders": senders, "account_id": offered(call, USE)}
    call.services.names.begin(empty=lambda: not call.services.accounts.list_accounts())
    made = press(call, "POST", "/accounts/create", body)
    return redirect(f"{call.home}{made['account_id']}/manage")


def ask_to_suspend(call: ConsoleCall) -> Answer:
    """Ask whether an account is to be suspended."""
    found = _account(call)
    what = "It starts nothing more, and what it has accepted waits. Its keys and members can read, stop and delete."
    back = f"{call.account}/manage"
    return ask(call, Question(SECTION, f"Suspend {found.name}?", None, what, "Suspend", back, reason=True))


def suspend(call: ConsoleCall) -> Answer:
    """Suspend an account; one that is suspended keeps its reason."""
    reason = call.form.get("reason", "").strip() or "operator"
    if len(reason) > MAX_REASON:
        raise Denial(422, "This reason is too long", f"Type up to {MAX_REASON} characters.")
    press(call, "POST", "/accounts/suspend", {"account": call.account, "reason": reason})
    return leave_for(call, "manage")


def ask_to_unsuspend(call: ConsoleCall) -> Answer:
    """Ask whether a suspension is to end."""
    found = _account(call)
    what = "What waits is sent, within the rates of its credentials."
    back = f"{call.account}/manage"
    title = f"End the suspension of {found.name}?"
    return ask(call, Question(SECTION, title, None, what, "End the suspension", back, danger=False))


def unsuspend(call: ConsoleCall) -> Answer:
    """End a suspension."""
    press(call, "POST", "/accounts/unsuspend", {"account": call.account})
    return leave_for(call, "manage")


def ask_to_plan(call: ConsoleCall) -> Answer:
    """Ask from when on an account may be deleted."""
    return call.services.pages.page(call, "manage/leave.html", {"found": _account(call), "most": MOST_DAYS})


def plan(call: ConsoleCall) -> Answer:
    """Plan that an account is deleted. The command does it then."""
    days = lists.number(call.form.get("days", ""), len(str(MOST_DAYS)))
    if not days or days > MOST_DAYS:
        raise Denial(422, "This is no number of days", f"Type a whole number from 1 to {MOST_DAYS}.")
    at = call.services.now + days * DAY_MS
    press(call, "POST", "/erase/accounts/plan", {"account": call.account, "at": at})
    return leave_for(call, "manage")


def ask_to_keep(call: ConsoleCall) -> Answer:
    """Ask whether an account is to stay."""
    found = _account(call)
    what = "The plan to delete it is forgotten."
    title = f"Keep {found.name}?"
    return ask(call, Question(SECTION, title, None, what, "Keep it", f"{call.account}/manage", danger=False))


def keep(call: ConsoleCall) -> Answer:
    """Let an account stay whose deletion was planned."""
    press(call, "POST", "/erase/accounts/cancel", {"account": call.account})
    return leave_for(call, "manage")


def _account(call: ConsoleCall) -> Account:
    buttons_of(call)
    found = call.services.accounts.get(call.account)
    if found is None:
        raise absent("account")
    return found


def _fields(limits: Mapping[str, Any]) -> list[LimitField]:
    """Return each measure with its limit. A measure without a limit has no row in the answer, by default or not."""
    rows = {x["limit"]: x for x in limits["items"]}
    own = set(limits["own"])
    return [_field(x, rows.get(x), own=x in own) for x in MEASURES]


def _field(measure: str, row: Mapping[str, Any] | None, *, own: bool) -> LimitField:
    if row is None:
        return LimitField(measure, NONE if own else "", None, None)
    return LimitField(measure, f"{row['most']:.15g}" if own else "", row["most"], row["used"])


def _most(measure: str, text: str) -> float | int | str:
    """Return a limit as the route takes it.

    Raises:
        Denial: it is none.
    """
    if text in ("", NONE):
        return text or "default"
    if measure == PRICE and _AMOUNT.fullmatch(text):
        return float(text)
    if not _WHOLE.fullmatch(text):
        raise Denial(422, f"This is no limit of {measure}", "Type a number, or none, or nothing for the default.")
    return int(text)


def _countries(text: str) -> list[str]:
    found = sorted({x.upper() for x in text.replace(",", " ").split()})
    if wrong := [x for x in found if not _COUNTRY.fullmatch(x)]:
        raise Denial(422, f"{wrong[0]} is no country", "Type two letters of ISO 3166, as in DE AT, or nothing for all.")
    return found


ROUTES: Final = (
    PageRoute("GET", "/console/new-account", "ask to create an account", ask_to_create, operators=True),
    PageRoute("POST", "/console/new-account", "create an account", create, operators=True),
    PageRoute("GET", "/console/{account}/manage", "ask to manage an account", ask_to_manage, operators=True),
    PageRoute("POST", "/console/{account}/manage", "set limits of an account", set_limits, operators=True),
    PageRoute("GET", "/console/{account}/suspend", "ask to suspend an account", ask_to_suspend, operators=True),
    PageRoute("POST", "/console/{account}/suspend", "suspend an account", suspend, operators=True),
    PageRoute("GET", "/console/{account}/unsuspend", "ask to end a suspension", ask_to_unsuspend, operators=True),
    PageRoute("POST", "/console/{account}/unsuspend", "end a suspension", unsuspend, operators=True),
    *(
        PageRoute(method, f"/console/{{account}}/{path}", name, handler, operators=True, key_admins=True)
        for method, path, name, handler in (
            ("GET", "leave", "ask to plan a deletion", ask_to_plan),
            ("POST", "leave", "plan a deletion", plan),
            ("GET", "keep", "ask to keep an account", ask_to_keep),
            ("POST", "keep", "keep an account", keep),
        )
    ),
)
