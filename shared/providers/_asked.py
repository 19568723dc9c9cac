"""Fields that the requests of several vendors have, for models of doors."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag

from shared.domain.content.content import checked_base64
from shared.domain.content.posting import PostedBox
from shared.domain.recipients.addresses import split_list
from shared.providers.doors import DoorFault, Uncarried

MAX_LINE: Final = 998
"""Characters of a header line: RFC 5322 2.1.1."""
MAX_PEOPLE: Final = 1000
"""Addresses of a field."""
MAX_ARGS: Final = 10_000
"""Bytes of the owner's data of a message."""
LINE: Final = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]+$"
TEXT: Final = r"^[^\x00]+$"


class Given(BaseModel):
    """A part of a request: unknown fields are refused, and JSON types are taken as they are."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True, defer_build=True)


def absent(empty: object) -> BeforeValidator:
    """Return what reads null as an empty value: clients send it for what their users leave out."""
    return BeforeValidator(lambda given: empty if given is None else given)


Subject = Annotated[str, Field(min_length=1, max_length=MAX_LINE, pattern=LINE)]
Plain = Annotated[str, Field(pattern=r"^[^\x00]*$")]
Body = Annotated[str, Field(max_length=2_000_000, pattern=r"^[^\x00]*$"), absent("")]
OwnLine = Annotated[str, Field(max_length=MAX_LINE, pattern=rf"^$|{LINE}"), absent("")]
"""One line, or nothing."""
Args = Annotated[dict[str, Plain], Field(max_length=MAX_ARGS)]
Base64 = Annotated[
    str, Field(min_length=1, json_schema_extra={"contentEncoding": "base64"}), AfterValidator(checked_base64)
]
FileName = Annotated[str, Field(min_length=1, max_length=255, pattern=r"^[^\x00-\x1f\x7f-\x9f/\\]+$")]
MediaType = Annotated[str, Field(max_length=127, pattern=r"^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+$")]
ContentId = Annotated[str, Field(max_length=127, pattern=r"^[A-Za-z0-9_.@-]*$")]
Line = Annotated[str, Field(max_length=MAX_LINE)]
People = Annotated[
    Annotated[str, Field(max_length=MAX_LINE * MAX_PEOPLE), Tag("<text>")]
    | Annotated[list[str], Field(max_length=MAX_PEOPLE), Tag("<list>")],
    Discriminator(lambda given: "<list>" if isinstance(given, list) else "<text>"),
]
"""Addresses with or without names: a list, or text separated by commas."""


def uncarried(field: str, text: str) -> Uncarried:
    """Return what is raised for one field. `text`: a sentence for people."""
    return Uncarried(DoorFault(field, text))


def refused(found: Iterable[tuple[str, object]], why: Mapping[str, str]) -> None:
    """Raise Uncarried if a request says something that is not carried.

    Args:
        found: fields that are not carried, and what the request says in them; an empty value says nothing.
        why: field → the sentence of the refusal.
    """
    faults = [DoorFault(name, why[name]) for name, value in found if value not in (None, "", False, [], {})]
    if faults:
        raise Uncarried(*faults)


def boxes(given: str | list[str], field: str) -> tuple[PostedBox, ...]:
    """Return the addresses of a field, none checked yet. `field`: its path in the request."""
    if isinstance(given, list):
        return tuple(PostedBox(text, "", f"{field}.{n}") for n, text in enumerate(given))
    return tuple(PostedBox(text, "", field) for text in split_list(given))


def only_box(given: str | list[str], field: str) -> PostedBox | None:
    """Return the address of a field that has at most one."""
    found = boxes(given, field)
    if len(found) > 1:
        raise uncarried(field, "A message has one address of answers.")
    return found[0] if found else None


def recipients(given: str | list[str], field: str) -> tuple[PostedBox, ...]:
    """Return the addresses of a field that has at least one."""
    found = boxes(given, field)
    if not found:
        raise uncarried(field, "At least one address is needed.")
    return found


def check_args(args: Mapping[str, str], field: str) -> None:
    """Refuse data of the owner's that is too long for a message's events."""
    if size_of(args) > MAX_ARGS:
        raise uncarried(field, f"A message has at most {MAX_ARGS:,} bytes of them.")


def size_of(texts: Mapping[str, str]) -> int:
    """Return the bytes of names and values."""
    return sum(len(f"{name}{text}".encode("utf-8", "replace")) for name, text in texts.items())
