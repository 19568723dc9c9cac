"""The console's function: find the page, know the visitor, check the form's token, answer.

A log line names the page, the user, the account, the ids that it was about, and the outcome. It never has a path, a
query, a form or a cookie. Faults are logged as the API's: their kind and place.
"""

import os
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from functools import cache
from typing import Any
from urllib.parse import quote

from functions.console.call import ConsoleCall
from functions.console.pages.images.multipart import is_multipart, parts_of
from functions.console.pages.personal import note_read
from functions.console.screen import (
    TOP,
    Denial,
    PageCall,
    PageRoute,
    Pause,
    SignedIn,
    absent,
    form_of,
    home_of,
    redirect,
)
from functions.console.screens import ROUTES
from functions.console.services import ConsoleServices, build
from functions.early import early
from shared.adapters import logs
from shared.bootstrap import Deployment
from shared.bootstrap.edge import edge_of
from shared.domain.accounts import Account, Scope, Taker, is_account_id
from shared.domain.ids import is_id
from shared.domain.lanes.switches import Switch
from shared.domain.people import Role, as_of_now
from shared.ports import Retriable
from shared.web import answering, http
from shared.web.access.edge import NO_EDGE, Edge
from shared.web.http import Answer, Request
from shared.web.problems import Problem
from shared.web.routing import find
from shared.web.sessions import FORM_FIELD, digest

logger = logs.lines("console")
LATER = Denial(503, "This did not work just now", "Please try again in a moment.")
FAULT = Denial(500, "Something went wrong", "It is our fault. If it happens again, tell your operator the time.")
BUSY = Denial(429, "Too many changes", "The account's requests are limited, as in the API. Try again in a moment.")
SUSPENDED = Denial(403, "The account is suspended", "Until an operator ends that you can read, stop and delete.")
FORGED = Denial(
    403, "This form is not from your session", "Nothing was changed. Open the page again, and repeat what you did."
)


@cache
def services() -> ConsoleServices:
    """Return the process's services, made by its first request."""
    return build(Deployment())


early(services)


@cache
def edge() -> Edge:
    """Return the edge that requests have to come by."""
    return edge_of(os.environ)


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Answer one event of an HTTP API (payload 2.0)."""
    return respond(event, answering.request_id(event, context), services, edge())


def respond(
    event: Mapping[str, Any], request_id: str, using: Callable[[], ConsoleServices], by: Edge = NO_EDGE
) -> dict[str, Any]:
    """Answer one event; never raises.

    Args:
        event: of an HTTP API, payload 2.0.
        request_id: names the request in the log.
        by: the edge that it has to come by.
    """
    logs.begin(logger, request_id)
    return answering.answered(
        logger, event, request_id, lambda seen: _answer(http.read(http.arrived(by, event), request_id), using(), seen)
    )


def _answer(request: Request, using: ConsoleServices, seen: dict[str, Any]) -> Answer:
    """Return the answer to a request: a page, also if it is not done."""
    call = PageCall(request, using, {})
    try:
        screen, path = _found(request)
        seen["page"] = screen.name
        form, file = _posted(request, screen)
        call = PageCall(request, using, path, form=form, file=file)
        return _shown(call if screen.public else _known(call, screen, seen), screen)
    except _Unknown:
        return _to_sign_in(request)
    except Denial as refusal:
        seen |= {"code": refusal.code} if refusal.code else {}
        return using.pages.refused(call, refusal)
    except Retriable as fault:
        seen |= answering.place_of(fault)
        return using.pages.refused(call, LATER)
    except Exception as fault:  # noqa: BLE001 - a person gets a page that says so, and nothing of it
        seen |= answering.place_of(fault)
        return using.pages.refused(call, FAULT)


def _posted(request: Request, screen: PageRoute) -> tuple[dict[str, str], bytes]:
    """Return the fields that are posted, and the file."""
    if request.method != "POST":
        return {}, b""
    return parts_of(request) if screen.file and is_multipart(request) else (form_of(request), b"")


def _shown(call: ConsoleCall, screen: PageRoute) -> Answer:
    """Return a page; who reads personal data is noted before they get it."""
    answer = screen.handler(call)
    note_read(call, screen)
    return answer


class _Unknown(Exception):
    """There is no session, or it has ended."""


def _found(request: Request) -> tuple[PageRoute, dict[str, str]]:
    try:
        return find(ROUTES, request)
    except Problem as problem:
        if problem.status == absent("").status:
            raise absent("page") from None
        raise Denial(problem.status, "This does not work that way", "Use the console's own pages.") from None


def _known(call: ConsoleCall, screen: PageRoute, seen: dict[str, Any]) -> ConsoleCall:
    """Return a visit with its visitor, who may do what is asked; the account has to be one that they know."""
    asked = _account(call)
    visitor = _visitor(call)
    seen["user"] = visitor.person.user.id
    seen["about"] = [name for name in call.path.values() if is_id(name)]
    _refuse_stranger(screen, visitor)
    _refuse_forged(call, visitor)
    known = PageCall(call.request, call.services, call.path, visitor, None, call.form)
    if "account" not in call.path:
        return known
    role = visitor.person.role_in(call.account)
    account = asked.result() if asked and role else None
    if role is None or account is None:
        raise absent("account")
    seen["account"] = call.account
    allowed = PageCall(
        call.request,
        call.services,
        call.path,
        visitor,
        role,
        call.form,
        account.name,
        _pause(call, account),
        account.leaves_at,
        call.file,
    )
    _refuse_often(allowed, visitor.person.user.id, screen)
    _refuse_role(allowed, role, screen)
    if account.suspended:
        _refuse_suspended(call, screen)
    return allowed


def _refuse_role(call: ConsoleCall, role: Role, screen: PageRoute) -> None:
    """Refuse a member whose role does not include what is asked."""
    if not call.may(screen.scope):
        raise Denial(403, "You may not do this", f"Your role in this account is {role.value}. Ask an admin of it.")


def _refuse_suspended(call: ConsoleCall, screen: PageRoute) -> None:
    """Refuse a suspended account pages that make something, or that let it continue."""
    if call.request.method == "POST" and not (screen.ends or screen.operators):
        raise SUSPENDED


def _pause(call: ConsoleCall, account: Account) -> Pause | None:
    """Return why an account sends nothing; only one that is paused costs a read."""
    if account.suspended:
        return Pause(suspended=True)
    if not account.paused:
        return None
    switch = Switch(account=account.id)
    setting = call.services.use_cases.switches.read(switch)[switch]
    return Pause(suspended=False, reason=setting.reason, since=setting.since)


def _refuse_stranger(screen: PageRoute, visitor: SignedIn) -> None:
    """Refuse who is no operator a page of operators."""
    user = visitor.person.user
    if screen.operators and not user.operator:
        raise absent("page")
    if screen.key_admins and not user.key_admin:
        raise Denial(403, "You may not do this", "It needs the role key-admin in the settings of the console.")


def _refuse_forged(call: ConsoleCall, visitor: SignedIn) -> None:
    """Refuse a form that does not have the token of the visitor's session."""
    if call.request.method == "POST" and not call.services.sessions.holds(visitor.name, call.form.get(FORM_FIELD, "")):
        raise FORGED


def _refuse_often(call: ConsoleCall, user: str, screen: PageRoute) -> None:
    """Refuse a change if its account or its person has no request left."""
    taker = Taker(user, sends=screen.scope is Scope.SEND and call.may(screen.scope))
    if call.request.method == "POST" and call.services.accounts.take(call.account, taker) is not None:
        raise BUSY


def _account(call: ConsoleCall) -> Future[Account | None] | None:
    """Begin to read the account that the path names, while the session is read; None: there cannot be one.

    A cookie that is not ours costs no read.
    """
    account = call.path.get("account", "")
    if not is_account_id(account) or not call.services.sessions.name(call.request):
        return None
    return call.services.reads.submit(call.services.accounts.get, account)


def _visitor(call: ConsoleCall) -> SignedIn:
    name = call.services.sessions.name(call.request)
    found = call.services.people.session(digest(name)) if name else None
    if found is None or not found[0].valid_at(call.services.now, found[1].user):
        raise _Unknown
    person = as_of_now(call.services.console, found[1])
    if person is None:
        raise _Unknown
    return SignedIn(name, person)


def _to_sign_in(request: Request) -> Answer:
    """Send a browser to sign in; afterwards it comes back to the page that it asked for."""
    asked = "/".join(request.segments[1:]) if request.method == "GET" else _page_of_form(request)
    to = f"{home_of(request)}sign-in" + (f"?back={quote(asked)}" if asked else "")
    if "hx-request" in request.headers:
        return Answer(200, "", {"HX-Redirect": to}, "text/html; charset=utf-8")
    return redirect(to)


def _page_of_form(request: Request) -> str:
    """Return the page that a form was on, relative to the console; empty if the browser names none that there is."""
    _, found, page = request.headers.get("referer", "").partition("?")[0].rpartition(f"/{TOP}/")
    try:
        find(ROUTES, replace(request, method="GET", segments=(TOP, *page.split("/"))))
    except Problem:
        return ""
    return page if found else ""
