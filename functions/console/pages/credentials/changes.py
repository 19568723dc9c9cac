"""Operators pause, resume and slow a credential, or all of them, and close a breaker."""

from collections.abc import Callable
from typing import Final

from functions.console.call import ConsoleCall
from functions.console.pages.asking import Question, ask, turned
from functions.console.pages.credentials.view import named_lane
from functions.console.pages.waiting import waiting
from functions.console.screen import Denial, PageRoute
from shared.domain.lanes.switches import EVERYTHING, Switch
from shared.web.http import Answer

SECTION: Final = "Credentials"
NO_RATE: Final = Denial(422, "This is no rate", "Type messages per second, as in 20, or 0 for the declared rate.")


def ask_to_pause(call: ConsoleCall) -> Answer:
    """Ask whether nothing is to be sent through a credential."""
    what = (
        "that may be sent through it wait, or take another credential of their route. What is in flight still goes out"
    )
    return _ask_about(call, "Pause {}?", what, "Pause", danger=True)


def ask_to_pause_all(call: ConsoleCall) -> Answer:
    """Ask whether the whole deployment is to send nothing."""
    found = waiting(call, call.services.use_cases.slots, lambda _: True)
    what = f"messages of {found.jobs} wait until you resume. So does all that any account hands over meanwhile."
    title = "Pause the whole deployment?"
    return ask(call, Question(SECTION, title, found.messages, what, "Pause all", "credentials", reason=True))


def ask_to_resume(call: ConsoleCall) -> Answer:
    """Ask whether a credential is to send again."""
    return _ask_about(call, "Resume {}?", "may be sent through it again, at its rate", "Resume")


def ask_to_close(call: ConsoleCall) -> Answer:
    """Ask whether a credential that is avoided is to be called again."""
    return _ask_about(
        call, "Call {} again?", "may be sent through it at once, before its provider is tried", "Call again"
    )


def _ask_about(call: ConsoleCall, title: str, what: str, label: str, *, danger: bool = False) -> Answer:
    """Ask whether a credential is to send, with the messages that may go through it.

    Args:
        title: the question, with a place for the credential.
        danger: it takes something away, so the form also asks why.
    """
    name = named_lane(call).declared.id
    found = waiting(call, call.services.use_cases.slots.serving(name), lambda job: name in job.route)
    said = f"messages of {found.jobs} {what}."
    title = title.format(name)
    return ask(call, Question(SECTION, title, found.messages, said, label, "credentials", danger=danger, reason=danger))


def ask_to_resume_all(call: ConsoleCall) -> Answer:
    """Ask whether the deployment is to send again."""
    found = waiting(call, call.services.use_cases.slots, lambda _: True)
    what = f"messages of {found.jobs} go on, but for what is paused by itself."
    title = "Resume the whole deployment?"
    return ask(call, Question(SECTION, title, found.messages, what, "Resume all", "credentials", danger=False))


def ask_for_rate(call: ConsoleCall) -> Answer:
    """Ask for a credential's present rate."""
    return call.services.pages.page(call, "credentials/rate.html", {"row": named_lane(call)})


def pause(call: ConsoleCall) -> Answer:
    """Pause a credential."""
    switch = Switch(credential=named_lane(call).declared.id)
    return _turned(call, lambda by, why: call.services.use_cases.switches.pause(switch, by=by, reason=why))


def resume(call: ConsoleCall) -> Answer:
    """End a credential's pause."""
    switch = Switch(credential=named_lane(call).declared.id)
    return _turned(call, lambda by, why: call.services.use_cases.switches.resume(switch, by=by, reason=why))


def close_breaker(call: ConsoleCall) -> Answer:
    """Have a credential that is avoided called again."""
    name = named_lane(call).declared.id
    return _turned(call, lambda by, why: call.services.use_cases.switches.close_breaker(name, by=by, reason=why))


def set_rate(call: ConsoleCall) -> Answer:
    """Set a credential's present rate, up to the declared one."""
    declared = named_lane(call).declared
    try:
        rate = float(call.form.get("rate", ""))
    except ValueError:
        raise NO_RATE from None
    board = call.services.use_cases.switches
    return _turned(call, lambda by, why: board.set_rate(declared.id, rate, ceiling=declared.rate, by=by, reason=why))


def pause_all(call: ConsoleCall) -> Answer:
    """Pause everything."""
    return _turned(call, lambda by, why: call.services.use_cases.switches.pause(EVERYTHING, by=by, reason=why))


def resume_all(call: ConsoleCall) -> Answer:
    """End the pause of everything."""
    return _turned(call, lambda by, why: call.services.use_cases.switches.resume(EVERYTHING, by=by, reason=why))


def _turned(call: ConsoleCall, change: Callable[[str, str], bool]) -> Answer:
    """Turn a switch in the visitor's name, and show the credentials."""
    return turned(call, change, "credentials")


_ONE: Final = "/console/credentials/{credential}"
ROUTES: Final = tuple(
    PageRoute(method, path, name, handler, operators=True)
    for method, path, name, handler in (
        ("GET", "/console/credentials/all/pause", "ask to pause all", ask_to_pause_all),
        ("POST", "/console/credentials/all/pause", "pause all", pause_all),
        ("GET", "/console/credentials/all/resume", "ask to resume all", ask_to_resume_all),
        ("POST", "/console/credentials/all/resume", "resume all", resume_all),
        ("GET", f"{_ONE}/pause", "ask to pause a credential", ask_to_pause),
        ("POST", f"{_ONE}/pause", "pause a credential", pause),
        ("GET", f"{_ONE}/resume", "ask to resume a credential", ask_to_resume),
        ("POST", f"{_ONE}/resume", "resume a credential", resume),
        ("GET", f"{_ONE}/rate", "ask for a rate", ask_for_rate),
        ("POST", f"{_ONE}/rate", "set a rate", set_rate),
        ("GET", f"{_ONE}/close", "ask to close a breaker", ask_to_close),
        ("POST", f"{_ONE}/close", "close a breaker", close_breaker),
    )
)
