"""Endpoints and deliveries as clients see them."""

from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field

from shared.domain.hooks.delivery import DeliveryState, HookDelivery
from shared.domain.hooks.endpoint import Endpoint, EndpointState, HookFormat
from shared.domain.namespaces import TEST
from shared.domain.times import Millis
from shared.web.hooks.requests import CHOICE, FORMATS, TOGETHER
from shared.web.views import Stamp, TextOrNull, Time, View, at, moment, or_none

if TYPE_CHECKING:
    from shared.domain.hooks.work import HookWork


class HookView(View):
    """An endpoint, without its secret."""

    hook_id: str
    id: str = Field(description="The same as `hook_id`.")
    url: str | None = Field(
        description="null: its events are fetched, `GET /hooks/{hook_id}/pending`. Of `slack`, `teams` and `discord` "
        "only the host: the rest is their secret."
    )
    events: list[str] = Field(description=CHOICE)
    description: str
    batch: bool = Field(description=TOGETHER)
    format: HookFormat = Field(description=FORMATS)
    state: EndpointState = Field(
        description="`proving`: it has not answered the `test` event yet, or only seconds ago. `enabled`: no event is "
        "missed from now on. `disabled`: see `reason`."
    )
    test: bool = Field(description="Made with a test key: it gets only events of test keys.")
    created_at: Time
    disabled_at: Time | None
    reason: str | None = Field(
        description="Why it is disabled: `owner`, `failing` (for 5 days it only failed), or `gone` (it answered 410)."
    )
    previous_secret_until: Time | None = Field(description="Until then deliveries have two signatures.")


class ReplayView(View):
    """Deliveries that are made again."""

    since: Stamp
    until: Stamp
    state: DeliveryState | None = Field(description="Only deliveries that ended so; null: all.")
    ordered_at: Stamp = Field(validation_alias="at")


class HookDetails(HookView):
    """An endpoint, and how it does."""

    failing_since: Time | None = Field(description="Since when every delivery failed; null: the last one did not.")
    paused_until: Time | None = Field(
        description="After failures in a row nothing is posted until then; events wait. null: they are posted."
    )
    replay: ReplayView | None = Field(description="The replay that is under way; null: none.")


class HookSecret(HookView):
    """An endpoint with its new secret."""

    secret: str = Field(description="`whsec_…`, which verifies signatures. This answer only has it.")


class HookList(View):
    """The endpoints of the account, oldest first."""

    items: list[HookView]
    next_cursor: str | None = Field(description="Always null: an account has at most 20 endpoints.")


class HookAttemptView(View):
    """A request that was made."""

    at: Stamp
    status: Annotated[int | None, BeforeValidator(or_none)] = Field(description="Of HTTP; null: there was no answer.")
    ms: int = Field(description="Milliseconds until the answer.")
    body: str = Field(validation_alias="answer", description="The first 1,024 characters of the answer.")
    error: TextOrNull = Field(description="Why there was no answer: a code such as `timeout` or `tls`.")


class HookDeliveryView(View):
    """A request to an endpoint, with one event or several of a kind."""

    id: str
    webhook_id: str = Field(description="The `webhook-id` of each attempt: the id of its event, or of its batch.")
    type: str = Field(description="The kind of its events.")
    batch: bool = Field(description="Its body lists events.")
    state: DeliveryState
    created_at: Time
    due_at: Time | None = Field(description="When it is tried next, not before; null once it has its end.")
    attempts: list[HookAttemptView] = Field(description="Oldest first.")


class HookDeliveryPage(View):
    """A page of deliveries: those that wait, soonest first, then the others, newest first."""

    items: list[HookDeliveryView]
    next_cursor: str | None


class OutgoingView(View):
    """A delivery to make: headers and body as they are posted."""

    id: str
    type: str
    headers: dict[str, str]
    body: str


class OutgoingList(View):
    """Deliveries that are due."""

    items: list[OutgoingView]


def hook_view(x: Endpoint, now_ms: int) -> HookView:
    """Return an endpoint as its owner sees it."""
    return HookView(**_fields(x, now_ms))


def details_view(x: Endpoint, work: "HookWork", now_ms: Millis) -> HookDetails:
    """Return an endpoint and how it does."""
    paused = at(work.open_until) if work.open_until > now_ms else None
    replay = ReplayView.model_validate(work.replay) if work.replay is not None else None
    return HookDetails(**_fields(x, now_ms), failing_since=at(work.failing_since), paused_until=paused, replay=replay)


def secret_view(x: Endpoint, secret: str, now_ms: Millis) -> HookSecret:
    """Return an endpoint with the text of its new secret."""
    return HookSecret(**_fields(x, now_ms), secret=secret)


def _fields(x: Endpoint, now_ms: int) -> dict[str, object]:
    return {
        "hook_id": x.id,
        "id": x.id,
        "url": _shown(x) or None,
        "events": list(x.events),
        "description": x.description,
        "batch": x.batch,
        "format": x.format,
        "state": x.state_at(now_ms),
        "test": x.namespace.endswith(TEST),
        "created_at": moment(x.created_at),
        "disabled_at": at(x.disabled_at),
        "reason": x.reason or None,
        "previous_secret_until": at(x.former_until) if x.former_until > now_ms else None,
    }


def _shown(x: Endpoint) -> str:
    """Return a URL without what lets others post to a chat."""
    if not x.url or x.format is HookFormat.STANDARD:
        return x.url
    parts = urlsplit(x.url)
    return f"{parts.scheme}://{parts.netloc}/…"


def delivery_view(x: HookDelivery) -> HookDeliveryView:
    """Return a delivery as the endpoint's owner sees it."""
    return HookDeliveryView(
        id=x.name,
        webhook_id=x.id,
        type=x.kind,
        batch=x.batch,
        state=x.state,
        created_at=moment(x.created_at),
        due_at=moment(x.due) if x.state is DeliveryState.PENDING else None,
        attempts=[HookAttemptView.model_validate(a) for a in x.attempts],
    )
