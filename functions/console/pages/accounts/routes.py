"""The accounts that a person knows, and the one that they can make for themselves, with a key that is shown once.

The key's text is made with the page that offers the account, and is sealed in its form. So a button that is pressed
twice, or an answer that is lost, leads to the same key, for some minutes. Only its hash leaves this function.
"""

from typing import Final

from functions.console import lists
from functions.console.call import ConsoleCall
from functions.console.listing import Asked, Filters, ListFilter, ListRows, answer
from functions.console.pages.asking import Question, ask, turned
from functions.console.pages.offering import SHOWN_MS, offer, offered
from functions.console.pages.pressing import may_press
from functions.console.pages.waiting import waiting
from functions.console.screen import PageRoute, absent, redirect
from shared.domain.accounts import MAX_NAME, Account, key_digest, new_key_text
from shared.domain.lanes.switches import Switch
from shared.domain.namespaces import KeyKind, owner
from shared.domain.people import Newcomer, Role
from shared.web.http import Answer

USE: Final = "posthaste first key 1"

FILTERS: Final[Filters[tuple[Account, Role]]] = (ListFilter("name", "Name or id", most=MAX_NAME),)


def accounts(call: ConsoleCall) -> Answer:
    """Show the accounts, or the only one."""
    known, operator = _known(call), call.who.person.user.operator
    if len(known) == 1 and not operator:
        return redirect(call.home + known[0][0].id)
    filterable = operator or len(known) > lists.PAGE

    def read(at: Asked) -> ListRows[tuple[Account, Role]]:
        rows = [x for x in known if at["name"].lower() in f"{x[0].name} {x[0].id}".lower()]
        buttons = operator and may_press(call)
        more = {"operator": operator, "buttons": buttons, "filterable": filterable, "offer": _offer(call)}
        return ListRows(rows, whole=True, bare=not filterable, more=more)

    return answer(call, "accounts/accounts.html", FILTERS, read)


def ask_to_pause(call: ConsoleCall) -> Answer:
    """Ask an operator whether an account is to send nothing."""
    found = waiting(call, call.services.use_cases.slots, lambda job: owner(job.account) == call.account)
    jobs = "all its open jobs" if found.all else f"its open jobs, among {found.jobs},"
    what = f"messages of {jobs} wait until you resume the account. So does all that it is given meanwhile."
    question = Question("Overview", "Pause this account?", found.messages, what, "Pause", call.account, reason=True)
    return ask(call, question)


def ask_to_resume(call: ConsoleCall) -> Answer:
    """Ask an operator whether an account is to send again."""
    found = waiting(call, call.services.use_cases.slots, lambda job: owner(job.account) == call.account)
    jobs = "all its open jobs" if found.all else f"its open jobs, among {found.jobs},"
    what = f"messages of {jobs} go on, within the rates of their credentials, but for what is paused besides."
    return ask(
        call, Question("Overview", "Resume this account?", found.messages, what, "Resume", call.account, danger=False)
    )


def pause(call: ConsoleCall) -> Answer:
    """Pause an account."""
    switch = Switch(account=call.account)
    return turned(call, lambda by, why: call.services.use_cases.switches.pause(switch, by=by, reason=why), call.account)


def resume(call: ConsoleCall) -> Answer:
    """End an account's pause."""
    switch = Switch(account=call.account)
    return turned(
        call, lambda by, why: call.services.use_cases.switches.resume(switch, by=by, reason=why), call.account
    )


def join(call: ConsoleCall) -> Answer:
    """Make the visitor's own account, and show its key; a repeated form changes nothing."""
    services, user = call.services, call.who.person.user
    first = services.first_accounts
    if first is None:
        raise absent("page")
    key = offered(call, USE)
    digest = key_digest(key)
    services.names.begin(empty=lambda: not services.accounts.list_accounts())
    made = first.make(Newcomer(user.id, (user.name or user.login)[:MAX_NAME], user.actor, digest))
    services.people.settle(user, made.account)
    shown = digest.startswith(made.key) and services.now - made.at < SHOWN_MS
    return services.pages.page(call, "accounts/first.html", {"made": made.account, "key": key if shown else ""})


def _known(call: ConsoleCall) -> list[tuple[Account, Role]]:
    """Return the accounts that the visitor may see, with their role."""
    person, services = call.who.person, call.services
    if person.user.operator:
        return [(found, Role.ADMIN) for found in services.accounts.list_accounts()]
    pairs = [(services.accounts.get(m.account), m.role) for m in person.memberships]
    return [(found, role) for found, role in pairs if found is not None]


def _offer(call: ConsoleCall) -> str:
    """Return a sealed key for an account that the visitor could make; empty: they have made theirs, or may not."""
    user = call.who.person.user
    if call.services.first_accounts is None or user.own:
        return ""
    return offer(call, USE, new_key_text(KeyKind.LIVE))


ROUTES: Final = (
    PageRoute("GET", "/console", "accounts", accounts),
    PageRoute("POST", "/console/join", "make an account", join),
    PageRoute("GET", "/console/{account}/pause", "ask to pause an account", ask_to_pause, operators=True),
    PageRoute("POST", "/console/{account}/pause", "pause an account", pause, operators=True),
    PageRoute("GET", "/console/{account}/resume", "ask to resume an account", ask_to_resume, operators=True),
    PageRoute("POST", "/console/{account}/resume", "resume an account", resume, operators=True),
)
