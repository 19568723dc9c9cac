"""The names and data that clients give batches, and recipients that have something of their own."""

from typing import Annotated, Final

from pydantic import AfterValidator, Discriminator, Field, Tag

from shared.domain.characters.invisible import first_invisible, seen
from shared.domain.jobs.labels import (
    MAX_KEY,
    MAX_KEYS,
    MAX_METADATA,
    MAX_REFERENCE,
    MAX_TAG,
    MAX_TAGS,
    MAX_VALUE,
    as_json,
)
from shared.engine.intake.addresses import MAX_RECIPIENTS
from shared.web.inputs import LINE, Input

MAX_ADDRESS: Final = 998
"""Characters of an address with a name: those of a header line (RFC 5322 2.1.1)."""
MAX_PARAMS: Final = 200
"""Values of a recipient: a template has no more placeholders."""
MAX_CELL: Final = 8_192


def _visible(text: str) -> str:
    if first_invisible(text) or not seen(text):
        raise ValueError("Use only characters that can be seen")
    return text


def _distinct(tags: list[str]) -> list[str]:
    if len(set(tags)) < len(tags):
        raise ValueError("An entry is given twice")
    return tags


def _small(metadata: dict[str, str]) -> dict[str, str]:
    if len(as_json(metadata).encode()) > MAX_METADATA:
        raise ValueError(f"Metadata have at most {MAX_METADATA:,} bytes as JSON")
    return metadata


MetadataKey = Annotated[str, Field(min_length=1, max_length=MAX_KEY, pattern=LINE)]
MetadataValue = Annotated[str, Field(max_length=MAX_VALUE)]
Reference = Annotated[
    Annotated[str, Field(min_length=1, max_length=MAX_REFERENCE, pattern=LINE)], AfterValidator(_visible)
]
_Tag = Annotated[Annotated[str, Field(min_length=1, max_length=MAX_TAG, pattern=LINE)], AfterValidator(_visible)]
Tags = Annotated[list[_Tag], Field(max_length=MAX_TAGS), AfterValidator(_distinct)]
Metadata = Annotated[dict[MetadataKey, MetadataValue], Field(max_length=MAX_KEYS), AfterValidator(_small)]
Params = Annotated[
    dict[Annotated[str, Field(max_length=255)], Annotated[str, Field(max_length=MAX_CELL)]],
    Field(max_length=MAX_PARAMS),
]


class BatchRecipient(Input):
    """A recipient with something of its own."""

    address: str = Field(max_length=MAX_ADDRESS, description="As a recipient that is only a text.")
    params: Params | None = Field(
        None, description="Values of the template's placeholders, in place of the batch's of the same names."
    )
    metadata: Metadata | None = Field(
        None, description="The owner's own data, in place of the batch's of the same names."
    )


def _form(given: object) -> str:
    if not isinstance(given, list):
        return "<text>"
    return "<objects>" if any(isinstance(one, dict | BatchRecipient) for one in given) else "<list>"


Recipients = Annotated[
    Annotated[str, Field(max_length=MAX_ADDRESS * MAX_RECIPIENTS), Tag("<text>")]
    | Annotated[list[str], Tag("<list>")]
    | Annotated[list[BatchRecipient], Tag("<objects>")],
    Discriminator(_form),
]
"""Text separated by commas, a list of texts, or one of objects; told apart beforehand, so that an error is about what
was meant. A list has entries of one form: type checkers of clients could not take a typed list for a mixed one."""
