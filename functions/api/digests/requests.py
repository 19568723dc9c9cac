"""Digest policies and lists of windows as clients ask for them."""

from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field

from functions.api.jobs.hours import SendingHours, hours_of
from functions.api.requests import Channel, Line
from shared.domain.channels.email import EMAIL
from shared.domain.digests.events import MAX_KEY
from shared.domain.digests.policy import (
    MAX_EVENTS,
    MAX_LINES,
    MAX_RETENTION,
    MAX_WINDOW,
    MIN_RETENTION,
    DigestPolicy,
)
from shared.domain.digests.rendering import FRAME, IN_LINES
from shared.domain.digests.window import WindowState
from shared.engine.digests.policies import MAX_LINE, MAX_TEMPLATE
from shared.web.inputs import LINE, Input, Paging

_NAMES: Final = ", ".join(f"`{name}`" for name in sorted(FRAME))
_IN_LINES: Final = ", ".join(f"`{name}`" for name in sorted(IN_LINES))


def _default(name: str) -> Any:
    return DigestPolicy.__dataclass_fields__[name].default


class DigestPolicyBody(Input):
    """A digest policy as a whole. Times are seconds."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"from": "Acme jobs <jobs@example.com>", "window": 300},
                {"channel": "sms", "window": 600, "max_age": 3600},
            ]
        }
    )

    from_: Line | None = Field(
        None, alias="from", description="E-mail: the sender, on the account's list: `a@example.com` or `Name <a@…>`."
    )
    route: Annotated[list[Annotated[str, Field(min_length=1, max_length=64)]], Field(min_length=1, max_length=10)] | (
        None
    ) = Field(None, description="Credentials to use; by default the deployment's.")
    channel: Channel = Field(
        default=EMAIL.name, validate_default=True, description="What digests are sent by. Calls carry none."
    )
    window: int = Field(_default("window"), ge=1, le=MAX_WINDOW, description="From a window's first event to its end.")
    near: int = Field(
        _default("near"),
        ge=0,
        le=MAX_WINDOW,
        description="An event this close to the end moves it; at most `window`, also by default.",
    )
    extend: int = Field(_default("extend"), ge=0, le=MAX_WINDOW, description="How far such an event moves it.")
    max_age: int = Field(
        _default("max_age"),
        ge=1,
        le=MAX_WINDOW,
        description="How long after the first event the end is at the latest; at least `window`, also by default.",
    )
    max_events: int = Field(
        _default("max_events"), ge=1, le=MAX_EVENTS, description="A window with so many events closes."
    )
    max_lines: int = Field(
        _default("max_lines"), ge=1, le=MAX_LINES, description="Events that one message lists. It counts the others."
    )
    subject: Line | None = Field(None, description=f"E-mail: with placeholders: {_NAMES}.")
    template: Annotated[str, Field(min_length=1, max_length=MAX_TEMPLATE)] | None = Field(
        None, description="E-mail: HTML with the same placeholders. By default a table that adapts to dark mode."
    )
    text: Annotated[str, Field(min_length=1, max_length=MAX_TEMPLATE)] | None = Field(
        None,
        description="The text part, by default derived. Of other channels: the message, by default `{{ summary }}`.",
    )
    line: Annotated[str, Field(min_length=1, max_length=MAX_LINE)] | None = Field(
        None, description=f"E-mail: HTML of one event, with {_IN_LINES} and the names of its data."
    )
    line_text: Annotated[str, Field(min_length=1, max_length=MAX_LINE)] | None = Field(
        None, description="The same as text; by default derived from `line`."
    )
    timezone: str = Field(_default("timezone"), min_length=1, max_length=64, description="An IANA name, for times.")
    retention: int = Field(
        _default("retention"),
        ge=MIN_RETENTION,
        le=MAX_RETENTION,
        description="How long windows and events are kept after their digest.",
    )
    unsubscribe: bool = Field(
        False,
        description="E-mail: every message has its recipient's own link to leave the digests of this policy. A call "
        "to the provider then carries one recipient, instead of all who get the same events.",
    )

    hours: SendingHours | None = Field(
        None, description="Digests are sent only within these hours, except those of urgent events."
    )

    @property
    def settings(self) -> dict[str, Any]:
        """All but address and route, by the names of `DigestPolicy`. A field that was left out has its default."""
        given = self.model_dump(exclude={"from_", "route", "hours"})
        if "near" not in self.model_fields_set:
            given["near"] = min(self.near, self.window)
        if "max_age" not in self.model_fields_set:
            given["max_age"] = max(self.max_age, self.window)
        texts = {name: "" if value is None else value for name, value in given.items()}
        return {**texts, "hours": hours_of(self.hours)}


class DigestQuery(Paging):
    """Which windows."""

    state: WindowState | None = Field(
        None, description="Only windows in this state. A page may be short and still carry a cursor."
    )
    batch_key: Annotated[str, Field(min_length=1, max_length=MAX_KEY, pattern=LINE)] | None = Field(
        None, description="Only windows of this batch key."
    )
