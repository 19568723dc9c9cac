"""Answers as clients read them: their base, and their times."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, SerializationInfo

from shared.domain.lanes.meanings import meaning_of
from shared.web.http import Answer


def _rfc_3339(value: datetime, info: SerializationInfo) -> str:
    zone: ZoneInfo | None = (info.context or {}).get("zone")
    if zone is not None:
        return value.astimezone(zone).isoformat(timespec="milliseconds")
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Time = Annotated[
    datetime, PlainSerializer(_rfc_3339, return_type=str), Field(json_schema_extra={"format": "date-time"})
]
"""RFC 3339 with milliseconds: UTC, or with the offset of the notifier that reads it."""


def moment(ms: int) -> datetime:
    """Return a time of Unix milliseconds."""
    return datetime.fromtimestamp(ms / 1000, UTC)


def at(ms: int) -> datetime | None:
    """Return a time of Unix milliseconds, None for 0."""
    return moment(ms) if ms else None


def or_none(value: object) -> object:
    """Return None in place of something empty."""
    return value or None


Stamp = Annotated[Time, BeforeValidator(moment)]
"""A time that is stored as Unix milliseconds."""
StampOrNull = Annotated[Time | None, BeforeValidator(at)]
"""Likewise; 0 becomes null."""
TextOrNull = Annotated[str | None, BeforeValidator(or_none)]
"""A text; an empty one becomes null."""
Meaning = Annotated[str | None, BeforeValidator(lambda code: or_none(meaning_of(code or "")))]
"""A code of a message in words; null if there are none for it."""


class View(BaseModel):
    """Anything that is answered. `model_validate` copies the attributes of a domain object.

    A field is a copy of the attribute that its `validation_alias` names, else of the one with its own name.
    """

    model_config = ConfigDict(extra="forbid", serialize_by_alias=True, defer_build=True, from_attributes=True)

    def answer(
        self, status: int = 200, headers: Mapping[str, str] | None = None, zone: ZoneInfo | None = None
    ) -> Answer:
        """Return it as an answer.

        Args:
            zone: of its times; None: UTC.
        """
        return Answer(status, self.model_dump_json(context={"zone": zone}), headers or {})
