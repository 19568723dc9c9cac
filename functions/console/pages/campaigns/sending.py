"""Campaigns are tried out and sent: a test message, a rate, a time in the owner's zone, a summary to confirm."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from functions.console import lists
from functions.console.call import ConsoleCall
from functions.console.pages.campaigns.drafting import record, shown_mailbox
from functions.console.pages.campaigns.view import ListView, conflict, current, in_the_way, owned
from functions.console.pages.hours import words
from functions.console.pages.moments import MAX_TIME, typed_time
from functions.console.screen import Denial, PageRoute, leave_for
from shared.domain.accounts import Scope
from shared.domain.campaigns.campaign import Campaign
from shared.domain.channels.lookup import channel_of
from shared.domain.lists.header import column_name
from shared.domain.spending import limits
from shared.domain.spending.prices import estimate
from shared.engine.campaigns.campaigns import Reason, Refused, WaitsForApproval
from shared.engine.campaigns.trials import TrialOrder
from shared.engine.intake.declined import Declined
from shared.engine.lists.list_jobs import Order
from shared.frozen import dataclass
from shared.ports import Mismatch, Replay
from shared.web.http import Answer
from shared.web.problems import CODES

MIN_RATE: Final = 0.1
"""Messages per second, as in the API: a slower campaign keeps its credential from others for too long."""
MOVED: Final = "It is not as the summary has shown it. Look at it again."


@dataclass(frozen=True, slots=True)
class SendPlan:
    """How a list is to be sent.

    Attributes:
        rate: messages per second; None: the credential's.
        begin: Unix milliseconds, 0: now.
        zone: in which the time was given.
        local: the time there, to be read; empty: now.
        note: what to know about the time; empty: nothing.
    """

    rate: float | None = None
    begin: int = 0
    zone: str = ""
    local: str = ""
    note: str = ""


def confirm(call: ConsoleCall) -> Answer:
    """Show what is sent to whom, when and how fast, with the button that sends it."""
    found = owned(call)
    if found.jobs and not found.ready:  # a browser's history leads here after the list was sent
        return leave_for(call, f"campaigns/{found.id}")
    view = _unsent(call, found)
    obstacles = list(in_the_way(call, found, view))
    plan = SendPlan()
    try:
        plan = _plan(call.request.query)
        obstacles += _against(call, found, plan)
    except ValueError as fault:
        obstacles.append(str(fault))
    slots = channel_of(found.channel).slots(found.message.body)
    full = _rate(call, found)
    seconds = view.sends * slots / (plan.rate or full) if plan.rate or full else 0
    price = estimate(call.services.settings.prices, found, view.upload)
    context = {
        "campaign": found,
        "list": view,
        "plan": plan,
        "rate": plan.rate or full,
        "seconds": math.ceil(seconds),
        "ends": _end(call, found, view, plan, seconds),
        "slots": slots,
        "price": None if price is None else limits.shown(limits.PRICE, price),
        "sender": shown_mailbox(found.message.sender),
        "hours": words(found.hours),
        "obstacles": obstacles,
    }
    return call.services.pages.page(call, "campaigns/confirm.html", context, status=422 if obstacles else 200)


def _end(call: ConsoleCall, found: Campaign, view: ListView, plan: SendPlan, seconds: float) -> int:
    """Return when the last message of a campaign with hours is sent, not before (Unix ms); 0 if it has none.

    `seconds`: that its messages take.
    """
    if found.hours is None or not seconds:
        return 0
    checkpoint = view.upload.checkpoint
    hours = found.hours.among(checkpoint.zones) if checkpoint is not None else found.hours
    return hours.after(max(plan.begin, call.services.now), math.ceil(1000 * seconds))


def _unsent(call: ConsoleCall, found: Campaign) -> ListView:
    view = current(call, found)
    if view is None or not view.ready:
        raise conflict("no_list")
    return view


def _rate(call: ConsoleCall, found: Campaign) -> float:
    """Return the rate of a campaign's credential; 0 if that is not declared any more."""
    try:
        return call.services.settings.credential(found.credential).rate
    except KeyError:
        return 0.0


def _plan(fields: Mapping[str, str]) -> SendPlan:
    """Read rate and time as typed. Raises ValueError with a sentence."""
    rate = _typed_rate(fields.get("rate", "").strip()[:MAX_TIME])
    if fields.get("when") != "later":
        return SendPlan(rate)
    at = typed_time(fields)
    return SendPlan(rate, at.begin, at.zone, at.local, at.note)


def _typed_rate(text: str) -> float | None:
    try:
        rate = float(text.replace(",", ".")) if text else None
    except ValueError:
        raise ValueError("The rate is no number. Type messages per second, as in 20.") from None
    if rate is not None and not (math.isfinite(rate) and rate >= MIN_RATE):
        raise ValueError(f"The rate is too low. It is at least {MIN_RATE:g} messages per second.")
    return rate


def _against(call: ConsoleCall, found: Campaign, plan: SendPlan) -> list[str]:
    """Return what a rate and a time are refused for."""
    said = []
    full = _rate(call, found)
    if plan.rate is not None and plan.rate > full:
        said.append(f"The rate is too high: the credential sends at most {full:g} messages per second.")
    if plan.begin:
        begin = call.services.campaigns().intake.begin_at(datetime.fromtimestamp(plan.begin / 1000, UTC))
        said += [fault.text for fault in begin.faults] if isinstance(begin, Declined) else []
    return said


def send(call: ConsoleCall) -> Answer:
    """Send the list that the summary has shown, and show its job; pressed twice, it is sent once."""
    found = owned(call)
    upload = call.form.get("upload", "")
    if upload in found.jobs:
        return _to_job(call, upload)
    if (upload, call.form.get("version")) != (found.ready, str(found.version)):
        raise conflict("", MOVED)
    order = Order(_confirmed_rate(call), _confirmed_time(call), by=call.actor, person=call.who.person.user.id)
    declined = call.services.campaigns().intake.sendable(found)
    if isinstance(declined, Declined):
        raise conflict(declined.code, " ".join(fault.text for fault in declined.faults))
    sent = call.services.campaigns().campaigns.control.send(found, order)
    if isinstance(sent, Refused):
        raise conflict(sent.reason.value, _refusal(sent))
    if sent is None or isinstance(sent, Replay | Mismatch):
        raise conflict("", MOVED)
    if isinstance(sent, WaitsForApproval):
        return leave_for(call, f"campaigns/{found.id}")
    return _to_job(call, sent.job.id)


def _refusal(found: Refused) -> str:
    if found.reason is Reason.TOO_LATE:
        return "Choose a time within 30 days of the upload."
    if found.excess is not None:
        return limits.sentence(found.excess)
    return " ".join(text for _, text in found.errors)


def _confirmed_rate(call: ConsoleCall) -> float | None:
    try:
        return _typed_rate(call.form.get("rate", ""))
    except ValueError as fault:
        raise Denial(422, "This cannot be sent", str(fault)) from None


def _confirmed_time(call: ConsoleCall) -> int:
    time = lists.number(call.form.get("begin", "0"), lists.TIME_DIGITS)
    if time is None:
        raise Denial(422, "This cannot be sent", "Choose the time again.")
    if not time:
        return 0
    begin = call.services.campaigns().intake.begin_at(datetime.fromtimestamp(time / 1000, UTC))
    if isinstance(begin, Declined):
        raise Denial(422, "This cannot be sent", " ".join(fault.text for fault in begin.faults))
    return begin


def _to_job(call: ConsoleCall, job: str) -> Answer:
    return leave_for(call, f"jobs/{job}")


def try_out(call: ConsoleCall) -> Answer:
    """Send one message to try a campaign out, with the values of the form, and show its job."""
    found = owned(call)
    service = call.services.campaigns()
    request = service.trials.request(found, service.campaigns.control.content(found), _trial(call, found))
    if isinstance(request, Declined):
        sentence = " ".join(fault.text for fault in request.faults) or CODES[request.code][1]
        raise Denial(422, "The test was not sent", sentence)
    if service.campaigns.trials.take(call.account) is not None:
        raise Denial(429, "The test was not sent", CODES["too_many_tests"][1])
    stored = service.acceptor.accept(request)
    if isinstance(stored, Declined):
        raise Denial(429, "The test was not sent", _said(stored))
    if isinstance(stored, Replay | Mismatch):  # the same form again: its message is under way
        return leave_for(call, f"campaigns/{found.id}")
    return _to_job(call, stored.job.id)


def _said(found: Declined) -> str:
    """Return why a test was not accepted."""
    if found.excess is not None:
        return limits.sentence(found.excess)
    return " ".join(fault.text for fault in found.faults) or CODES[found.code][1]


def _trial(call: ConsoleCall, found: Campaign) -> TrialOrder:
    """Return the test that a form asks for."""
    account = call.services.accounts.get(call.account)
    key = record(call, "")
    return TrialOrder(
        to=call.form.get("to", "").strip(),
        values={column_name(name[2:]): value for name, value in call.form.items() if name.startswith("v.") and value},
        region=account.region if account and channel_of(found.channel).numbers else "",
        idempotency_key=key.key if key else "",
        fingerprint=key.fingerprint if key else "",
        by=call.actor,
    )


_ONE: Final = "/console/{account}/campaigns/{campaign}"
ROUTES: Final = (
    PageRoute("GET", f"{_ONE}/send", "ask to send a campaign", confirm, Scope.SEND),
    PageRoute("POST", f"{_ONE}/send", "send a campaign", send, Scope.SEND),
    PageRoute("POST", f"{_ONE}/test", "send a test", try_out, Scope.SEND),
)
