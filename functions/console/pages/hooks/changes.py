"""Endpoints are created, paused, enabled, tested and deleted; deliveries are tried and made again."""

from typing import Final

from functions.console import lists
from functions.console.call import ConsoleCall
from functions.console.pages.asking import Question, ask, done
from functions.console.pages.hooks.view import COUNTED, HookRow, counted, named_delivery, named_hook
from functions.console.screen import Denial, PageRoute, leave_for
from shared.domain.accounts import Scope
from shared.domain.hooks.delivery import DeliveryState
from shared.domain.hooks.draft import HookDraft
from shared.domain.hooks.endpoint import EVERY_KIND, HookFormat
from shared.domain.hooks.kinds import ACCOUNT_KINDS
from shared.domain.times import Millis
from shared.web.http import Answer

HOURS: Final = {"the last hour": 1, "the last day": 24, "the last 7 days": 168}
"""Spans of time of a replay."""
ENDED: Final = {"failed": DeliveryState.FAILED, "delivered": DeliveryState.DELIVERED}
HARMLESS: Final = frozenset({"Enable", "Replay"})
"""Buttons that take nothing away."""
HOUR_MS: Final[Millis] = 3_600_000
MAX_URL: Final = 2_000
SECTION: Final = "Hooks"


def add(call: ConsoleCall) -> Answer:
    """Create an endpoint. The command that rotates its secret shows it."""
    form = call.form
    named = tuple(kind for kind in sorted(ACCOUNT_KINDS) if form.get(f"event {kind}"))
    events = (EVERY_KIND,) if form.get("every") else named
    kind = form.get("format", "")
    draft = HookDraft(
        url=form.get("url", "").strip()[:MAX_URL],
        events=events,
        description=form.get("description", "").strip(),
        batch=bool(form.get("batch")),
        format=HookFormat(kind) if kind in set(HookFormat) else HookFormat.STANDARD,
    )
    made = done(call.services.use_cases.hooks().add(lists.space(call), draft, by=call.actor))
    return leave_for(call, f"hooks/{made.id}")


def ask_to_pause(call: ConsoleCall) -> Answer:
    """Ask whether nothing is to be posted to an endpoint."""
    row = named_hook(call)
    count = counted(call, row, DeliveryState.PENDING)
    what = _more(count, "deliveries wait. They wait on, for up to 92 hours, and new events are not kept for it.")
    return _ask(call, row, f"Post nothing to {row.where}?", count, what, "Pause")


def ask_to_enable(call: ConsoleCall) -> Answer:
    """Ask whether an endpoint is to get events again."""
    row = named_hook(call)
    count = counted(call, row, DeliveryState.PENDING)
    what = _more(count, "deliveries that wait are posted, once the endpoint answers a test event with 2xx.")
    return _ask(call, row, f"Enable the endpoint {row.where}?", count, what, "Enable")


def ask_to_delete(call: ConsoleCall) -> Answer:
    """Ask whether an endpoint is to go."""
    row = named_hook(call)
    count = counted(call, row, DeliveryState.PENDING)
    what = _more(count, "deliveries that wait are deleted with it.")
    return _ask(call, row, f"Delete the endpoint {row.where}?", count, what, "Delete")


def ask_to_replay(call: ConsoleCall) -> Answer:
    """Ask which deliveries are to be made again; once that is chosen, whether these are."""
    row, span = named_hook(call), lists.chosen(call, "span", tuple(HOURS))
    state = lists.chosen(call, "state", tuple(ENDED))
    if not span:
        context = {"row": row, "spans": tuple(HOURS), "states": tuple(ENDED)}
        return call.services.pages.page(call, "hooks/replay.html", context)
    since = call.services.now - HOURS[span] * HOUR_MS
    count = counted(call, row, ENDED.get(state), since)
    what = _more(count, f"deliveries of {span} are made again. Each keeps its id, so a receiver can tell repeats.")
    fields = {"since": str(since), "state": state}
    return _ask(call, row, f"Post to {row.where} again?", count, what, "Replay", fields)


def pause(call: ConsoleCall) -> Answer:
    """Disable an endpoint."""
    return _switched(call, disabled=True)


def enable(call: ConsoleCall) -> Answer:
    """Enable an endpoint; it has to answer a test event first."""
    return _switched(call, disabled=False)


def _switched(call: ConsoleCall, *, disabled: bool) -> Answer:
    row = named_hook(call)
    done(call.services.use_cases.hooks().change(row.endpoint, HookDraft(disabled=disabled), by=call.actor))
    return _back(call, row)


def test(call: ConsoleCall) -> Answer:
    """Post a test event."""
    row = named_hook(call)
    done(call.services.use_cases.hooks().test(row.endpoint, by=call.actor))
    return _back(call, row)


def delete(call: ConsoleCall) -> Answer:
    """Delete an endpoint with what waits for it."""
    row = named_hook(call)
    call.services.use_cases.hooks().delete(row.endpoint, by=call.actor)
    return leave_for(call, f"hooks?keys={row.keys}")


def replay(call: ConsoleCall) -> Answer:
    """Make the deliveries of a time again, up to now."""
    row, since = named_hook(call), lists.number(call.form.get("since", ""), lists.TIME_DIGITS)
    if since is None:
        raise Denial(422, "This is no time", "Choose from when on deliveries are made again.")
    state = ENDED.get(call.form.get("state", ""))
    done(call.services.use_cases.hooks().replay(row.endpoint, since, call.services.now, state, by=call.actor))
    return _back(call, row)


def retry(call: ConsoleCall) -> Answer:
    """Try a delivery now."""
    row = named_hook(call)
    tried = named_delivery(call, row)
    done(call.services.use_cases.hooks().retry(row.endpoint, tried, by=call.actor))
    return leave_for(call, f"hooks/{row.endpoint.id}/deliveries/{tried.name}")


def _ask(
    call: ConsoleCall, row: HookRow, title: str, count: int, what: str, label: str, fields: dict[str, str] | None = None
) -> Answer:
    """Ask about an endpoint.

    Args:
        count: of deliveries.
        what: the rest of the sentence.
    """
    back = f"{call.account}/hooks/{row.endpoint.id}"
    return ask(call, Question(SECTION, title, count, what, label, back, fields or {}, danger=label not in HARMLESS))


def _more(count: int, what: str) -> str:
    return f"or more {what}" if count >= COUNTED else what


def _back(call: ConsoleCall, row: HookRow) -> Answer:
    return leave_for(call, f"hooks/{row.endpoint.id}")


_HOOK: Final = "/console/{account}/hooks/{hook}"
ROUTES: Final = (
    PageRoute("POST", "/console/{account}/hooks/add", "create a webhook", add, Scope.ADMIN),
    PageRoute("GET", f"{_HOOK}/pause", "ask to pause a webhook", ask_to_pause, Scope.ADMIN),
    PageRoute("POST", f"{_HOOK}/pause", "pause a webhook", pause, Scope.ADMIN, ends=True),
    PageRoute("GET", f"{_HOOK}/enable", "ask to enable a webhook", ask_to_enable, Scope.ADMIN),
    PageRoute("POST", f"{_HOOK}/enable", "enable a webhook", enable, Scope.ADMIN),
    PageRoute("GET", f"{_HOOK}/delete", "ask to delete a webhook", ask_to_delete, Scope.ADMIN),
    PageRoute("POST", f"{_HOOK}/delete", "delete a webhook", delete, Scope.ADMIN, ends=True),
    PageRoute("POST", f"{_HOOK}/test", "test a webhook", test, Scope.SEND),
    PageRoute("GET", f"{_HOOK}/replay", "ask to replay a webhook", ask_to_replay, Scope.SEND),
    PageRoute("POST", f"{_HOOK}/replay", "replay a webhook", replay, Scope.SEND),
    PageRoute("POST", f"{_HOOK}/deliveries/{{delivery}}/retry", "retry a delivery", retry, Scope.SEND),
)
