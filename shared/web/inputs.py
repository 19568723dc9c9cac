"""Requests as clients write them: their base, their times, and the pages of lists."""

from typing import Annotated, Any, Final

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from shared.domain.characters.invisible import ONE_LINE
from shared.domain.times import is_rfc_3339

LINE: Final = ONE_LINE
"""One line: no control character, so that no header can be injected."""


class Input(BaseModel):
    """A body: unknown fields are refused, and JSON types are taken as they are."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True, defer_build=True)


class Query(BaseModel):
    """Query parameters: unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True, defer_build=True)


def rfc_3339(value: Any) -> Any:
    """Return a value that may be a time; ValueError for a text that is none of RFC 3339."""
    if value is not None and not (isinstance(value, str) and is_rfc_3339(value)):
        raise ValueError("Write the time as in RFC 3339, with its offset, for example 2026-11-20T09:00:00Z")
    return value


# Not strict: a validator before it turns JSON into Python, where strict knows no text of a time.
Moment = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(rfc_3339)]


class Paging(Query):
    """A page of a list."""

    limit: int = Field(100, ge=1, le=1000, description="Items of a page.")
    cursor: str | None = Field(None, max_length=400, description="The `next_cursor` of the page before.")
