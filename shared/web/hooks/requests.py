"""Endpoints of webhooks as clients write them."""

from typing import Annotated, Final, Literal, Self

from pydantic import ConfigDict, Field, WithJsonSchema, model_validator

from shared.domain.hooks.delivery import MAX_ANSWER, DeliveryState
from shared.domain.hooks.draft import HookDraft
from shared.domain.hooks.endpoint import EVERY_KIND, HookFormat
from shared.domain.hooks.kinds import ACCOUNT_KINDS
from shared.web.inputs import LINE, Input, Moment, Paging, Query

MAX_URL: Final = 2_000
FORMATS: Final = (
    "Of the body. `slack`, `teams` and `discord` post a readable text to an incoming webhook of theirs, unsigned."
)
CHOICE: Final = "Kinds of events; `*` for all, those of later versions included."
TOGETHER: Final = "Up to 100 events of one kind in a request, collected for up to 5 seconds."

Kind = Annotated[
    str,
    Field(min_length=1, max_length=64),
    WithJsonSchema({"type": "string", "enum": [EVERY_KIND, *sorted(ACCOUNT_KINDS)]}),
]
Kinds = Annotated[list[Kind], Field(min_length=1, max_length=len(ACCOUNT_KINDS) + 1)]
Url = Annotated[str, Field(min_length=1, max_length=MAX_URL, pattern=r"^[!-~]+$")]
Description = Annotated[str, Field(max_length=200, pattern=rf"^$|{LINE}")]


class NewHook(Input):
    """An endpoint that receives events."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"url": "https://shop.example.com/posthaste", "events": ["message.delivered", "message.failed"]}
            ]
        }
    )

    url: Url = Field(description="Where events are posted: https, port 443 or 8443, at a public address.")
    events: Kinds = Field(description=CHOICE)
    description: Description = Field("", description="For people.")
    batch: bool = Field(False, description=TOGETHER)
    format: Annotated[HookFormat, Field(strict=False)] = Field(HookFormat.STANDARD, description=FORMATS)

    @property
    def draft(self) -> HookDraft:
        """The same, as the use case takes it."""
        return HookDraft(self.url, tuple(self.events), self.description, batch=self.batch, format=self.format)


class HookChange(Input):
    """Changes of an endpoint. Fields that are omitted or null stay unchanged."""

    url: Url | None = Field(None, description="A new URL has to answer a `test` event first, as a new endpoint does.")
    events: Kinds | None = Field(None, description=CHOICE)
    description: Description | None = None
    batch: bool | None = Field(None, description=TOGETHER)
    format: Annotated[HookFormat, Field(strict=False)] | None = Field(None, description=FORMATS)
    disabled: bool | None = Field(
        None,
        description="true: nothing is posted. false: the endpoint has to answer a `test` event, then it is enabled.",
    )

    @property
    def draft(self) -> HookDraft:
        """The same, as the use case takes it."""
        events = None if self.events is None else tuple(self.events)
        return HookDraft(
            self.url, events, self.description, batch=self.batch, format=self.format, disabled=self.disabled
        )


class NewListener(Input):
    """An endpoint without a URL, whose events are fetched."""

    events: Kinds = Field(default_factory=lambda: [EVERY_KIND], description=CHOICE)


class DeliveriesQuery(Paging):
    """Which deliveries."""

    state: DeliveryState | None = Field(
        None, description="Only deliveries in this state. A page may be short and still carry a cursor."
    )


class PendingQuery(Query):
    """How many deliveries."""

    limit: int = Field(20, ge=1, le=100, description="Deliveries of an answer.")


class NewReplay(Input):
    """Which deliveries are made again."""

    since: Moment = Field(description="Deliveries created from then on. They are kept for 7 days.")
    until: Moment | None = Field(None, description="Deliveries created before then; by default now.")
    state: Literal["delivered", "failed"] | None = Field(
        None, description="Only those that ended so; by default both, so the receiver gets some events again."
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.until is not None and self.until <= self.since:
            raise ValueError("`until` is after `since`")
        return self


class Received(Input):
    """The outcome of a fetched delivery."""

    status: int = Field(ge=0, le=599, description="The HTTP status; 0: no answer. 2xx: delivered, else failed.")
    ms: int = Field(0, ge=0, le=86_400_000, description="How long it took, in milliseconds.")
    answer: str = Field("", max_length=MAX_ANSWER, description="The beginning of the answer's body.")
