"""Events as clients write them."""

from datetime import UTC, datetime
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    RootModel,
    Tag,
    WithJsonSchema,
)

from functions.api.requests import MAX_LINE
from shared.domain.digests.events import MAX_EVENTS, MAX_KEY
from shared.web.inputs import LINE, Input, rfc_3339

MAX_RECIPIENTS: Final = 100
"""Recipients of one event: a window holds 100,000 pairs of an event and a recipient at the most."""
MAX_TYPE: Final = 100
MAX_ID: Final = 200
_FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = datetime(9999, 1, 1, tzinfo=UTC)
"""Milliseconds of our days are refused: they lie behind it."""


def _moment(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return rfc_3339(value)
    if not _FIRST.timestamp() <= value <= _LAST.timestamp():
        raise ValueError("Write a time from 1970 to 9998, in seconds since 1970")
    return datetime.fromtimestamp(value, UTC)


def _near(value: datetime) -> datetime:
    if not _FIRST <= value <= _LAST:
        raise ValueError("Write a time from 1970 to 9998")
    return value


_Moment = Annotated[
    AwareDatetime,
    Field(strict=False),
    BeforeValidator(_moment),
    AfterValidator(_near),
    WithJsonSchema({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "number"}]}),
]


class NewEvent(Input):
    """Something that happened, of which some people are to be informed."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "event_type": "task.failed",
                    "batch_key": "acme/production",
                    "recipients": ["ann@example.org", "ben@example.org"],
                    "timestamp": "2026-11-20T09:00:00Z",
                    "data": {"task": "nightly-import", "reason": "Timed out after 300 s."},
                    "event_id": "run-4711",
                }
            ]
        }
    )

    event_type: str = Field(
        min_length=1, max_length=MAX_TYPE, pattern=LINE, description="Its kind, for example `task.failed`."
    )
    batch_key: str = Field(
        min_length=1,
        max_length=MAX_KEY,
        pattern=LINE,
        description="Events with the same key are collected together; by custom `organisation/environment`.",
    )
    recipients: list[Annotated[str, Field(min_length=1, max_length=MAX_LINE)]] = Field(
        min_length=1,
        max_length=MAX_RECIPIENTS,
        description="Addresses, or numbers, of the people to inform. An invalid or suppressed one is skipped.",
    )
    timestamp: _Moment | None = Field(
        None, description="When it happened, from 1970 on: RFC 3339 with an offset, or Unix seconds. By default now."
    )
    data: dict[str, Any] | None = Field(
        None, description="More about it, for the lines of digests. An underscore joins nested names."
    )
    event_id: str | None = Field(
        None,
        min_length=1,
        max_length=MAX_ID,
        description="The event's own id, of its batch key. A repeat within an hour is accepted and left out of the "
        "digest. Another content under the same id returns 422 `event_id_taken`.",
    )
    urgent: bool = Field(False, description="Send it at once, as a digest of its own.")


class NewEvents(
    RootModel[
        Annotated[
            Annotated[NewEvent, Tag("<one>")]
            | Annotated[list[NewEvent], Field(min_length=1, max_length=MAX_EVENTS), Tag("<many>")],
            Discriminator(lambda given: "<many>" if isinstance(given, list) else "<one>"),
        ]
    ]
):
    """One event or an array of them."""

    model_config = ConfigDict(hide_input_in_errors=True, defer_build=True)

    @property
    def events(self) -> list[NewEvent]:
        """The events, in their order."""
        return self.root if isinstance(self.root, list) else [self.root]

    def field(self, index: int, name: str) -> str:
        """Return the path of a field of an event."""
        return f"{index}.{name}" if isinstance(self.root, list) else name
