"""Does what operators press in the console: routes of operators, in the name of the person who pressed.

Only the console may call this function, directly. It does not believe the console who asks: it looks at the session and
at the settings itself. A log line names the operation, the person and the outcome, and never a body.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final
from urllib.parse import urlencode

from functions.early import early
from functions.operate.call import ROOT
from functions.operate.operations import ROUTES
from functions.operate.services import PressedServices
from shared.adapters import logs
from shared.domain.accounts import ALL_SCOPES, ApiKey
from shared.domain.audit import EVERYONE
from shared.domain.people import User, as_of_now
from shared.web import answering, http
from shared.web.http import Answer, Request
from shared.web.problems import Problem
from shared.web.routing import Principal, find
from shared.web.sessions import digest

logger = logs.lines("buttons")
KEY_ADMINS: Final = frozenset({"create_key", "expire_key", "restrict_key", "rotate_key", "revoke_key"}) | {
    *("plan_leaving", "cancel_leaving"),
}
"""Names of routes that change what lets somebody in, or plan that an account goes: for key admins."""
OPERATORS: Final = frozenset({"letters", "redrive", "show_limits", "set_limits"}) | {
    *("create_account", "suspend_account", "unsuspend_account"),
}
"""Routes for every operator."""


@cache
def services() -> PressedServices:
    """Return the process's services, made by its first request."""
    return PressedServices()


early(services, lambda: services().accounts)


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Answer one call of the console: status and body."""
    return respond(event, logs.invocation(context), services)


def respond(event: Mapping[str, Any], request_id: str, using: Callable[[], PressedServices]) -> dict[str, Any]:
    """Answer one call; never raises.

    Args:
        event: session, method, path and body, as `ports.Buttons.press` has them.
        request_id: names the call in the log.
    """
    logs.begin(logger, request_id)
    written = answering.answered(logger, {}, request_id, lambda seen: _answer(event, request_id, using(), seen))
    return {"status": written["statusCode"], "body": json.loads(written["body"])}


def _answer(event: Mapping[str, Any], request_id: str, using: PressedServices, seen: dict[str, Any]) -> Answer:
    user = _who(str(event["session"]), using)
    seen["operator"] = user.id
    request = _request(event, request_id)
    route, path = find(ROUTES, request)
    seen["operation"] = route.name
    if route.name not in (KEY_ADMINS | OPERATORS if user.key_admin else OPERATORS):
        raise Problem("missing_scope", "This needs the role key-admin, or a command.")
    key = ApiKey(user.actor, EVERYONE, test=False, scopes=ALL_SCOPES, name="", created_at=0)
    return route.answer(request, using, Principal(key), path)


def _who(session: str, using: PressedServices) -> User:
    """Return the operator whose session it is.

    Raises:
        Problem: unauthorized: it is none, has ended, or is of somebody who is no operator by the settings of now.
    """
    found = using.people.session(digest(session))
    person = as_of_now(using.console, found[1]) if found else None
    now = int(using.clock.now() * 1000)
    if found is None or person is None or not person.user.operator or not found[0].valid_at(now, found[1].user):
        raise Problem("unauthorized", "Sign in as an operator.")
    return person.user


def _request(event: Mapping[str, Any], request_id: str) -> Request:
    method, body = str(event["method"]), event["body"]
    looks = method == "GET"
    inner = {
        "rawPath": f"{ROOT}{event['path']}",
        "rawQueryString": urlencode(body) if looks else "",
        "headers": {"content-type": "application/json"},
        "requestContext": {"http": {"method": method}},
        "body": "" if looks else json.dumps(body),
    }
    return http.read(inner, request_id)
