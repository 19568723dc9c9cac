"""Signing in by the deployment's provider of identities, and out. Nothing is stored of those who may not."""

import re
from typing import Final

from functions.console.call import ConsoleCall
from functions.console.pages.sign_in.access import admitted
from functions.console.screen import Denial, PageRoute, redirect
from shared.contracts.console import OPENID
from shared.ports.people import NotSignedIn
from shared.web.http import Answer
from shared.web.sessions import digest

_BACK: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,80}(?:/[A-Za-z0-9][A-Za-z0-9_.-]{0,80}){0,6}")
"""Pages of the console that a sign-in leads back to: never another site, nor a folder above."""
GIVEN: Final = "your name and your organizations"
GIVEN_BY_OPENID: Final = "your name, your e-mail address and your groups"
CANCELLED: Final = Denial(403, "You did not sign in", "You, or your provider, refused it. You can try again.")
LATE: Final = Denial(
    400,
    "This sign-in is not yours, or too old",
    "A sign-in has to end in the browser that began it, within ten minutes.",
)


def ask(call: ConsoleCall) -> Answer:
    """Show by whom one signs in."""
    given = GIVEN_BY_OPENID if call.services.console.provider == OPENID else GIVEN
    back = _back(call.request.query.get("back", ""))
    context = {"provider": call.services.provider, "given": given, "back": back}
    return call.services.pages.page(call, "sign_in/sign_in.html", context)


def begin(call: ConsoleCall) -> Answer:
    """Send the browser to the provider."""
    step, cookie = call.services.sessions.step(_back(call.request.query.get("back", "")), call.services.now)
    try:
        address = call.services.sign_in.address(step.state, step.verifier)
    except NotSignedIn as refused:
        raise _unsure(call, refused) from None
    return redirect(address, cookie)


def end(call: ConsoleCall) -> Answer:
    """Take the browser back from the provider, and begin a session if the person may have one."""
    services, query = call.services, call.request.query
    step = services.sessions.taken(call.request, call.services.now)
    if step is None:
        raise LATE
    if "code" not in query:
        raise CANCELLED
    services.limits.check(call.request, step.state)
    try:
        identity = services.sign_in.identity(query["code"], step.verifier, query.get("iss", ""))
    except NotSignedIn as refused:
        raise _unsure(call, refused) from None
    user = admitted(call, identity)
    session, cookie = services.sessions.begin(user.id, call.services.now)
    services.people.begin(session)
    return redirect(call.home + step.back if step.back else call.top, cookie, services.sessions.forgotten())


def out(call: ConsoleCall) -> Answer:
    """End the session."""
    call.services.people.end(digest(call.who.name))
    return redirect(f"{call.home}sign-in", call.services.sessions.over())


def out_everywhere(call: ConsoleCall) -> Answer:
    """End all sessions of the visitor."""
    call.services.people.end_all(call.who.person.user.id)
    return redirect(f"{call.home}sign-in", call.services.sessions.over())


def _unsure(call: ConsoleCall, refused: NotSignedIn) -> Denial:
    """Return what a person reads if their provider does not vouch for them."""
    said = f"{call.services.provider} did not say who you are ({refused}). Try again."
    return Denial(502, "You could not be signed in", said, str(refused))


def _back(asked: str) -> str:
    return asked if _BACK.fullmatch(asked) else ""


ROUTES: Final = (
    PageRoute("GET", "/console/sign-in", "sign in", ask, public=True),
    PageRoute("GET", "/console/begin", "begin a sign-in", begin, public=True),
    PageRoute("GET", "/console/signed-in", "end a sign-in", end, public=True),
    PageRoute("POST", "/console/sign-out", "sign out", out),
    PageRoute("POST", "/console/sign-out-everywhere", "sign out everywhere", out_everywhere),
)
