"""The fields that a request may have, to suggest the one that a client may have meant."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, get_args

from pydantic import AliasChoices, BaseModel

from shared.domain.channels.email import EMAIL

OTHERS: Final[Mapping[str, tuple[str, ...]]] = {
    "html": ("body",),
    "content": ("body", "text", "template", "data"),
    "message": ("text", "body", "template"),
    "sender": ("from", "mail_from"),
    "from_email": ("from", "mail_from"),
    "recipients": ("to", "destinations"),
    "recipient": ("to",),
    EMAIL.name: ("recipient", "to", "address"),
    "title": ("subject", "name"),
    "replyto": ("reply_to",),
    "send_at": ("scheduled_at", "schedule_at"),
    "credential": ("credential_id", "route"),
    "variables": ("params",),
    "type": ("content_type", "event_type"),
    "cid": ("content_id",),
}
"""Names that other services use → ours, the likeliest first."""


def did_you_mean(model: type[BaseModel], place: Sequence[int | str]) -> str:
    """Return a question that names a known field like an unknown one, with a space before it; empty if none is.

    Args:
        place: of the unknown field in it, as pydantic names it.
    """
    known = _fields_at(model, place[:-1])
    given = str(place[-1])
    if given in known:
        return f" It is another name of `{known[given]}`. Give one of them."
    lower = given.lower()
    near = [name for name in OTHERS.get(lower.replace("-", "_"), ()) if name in known]
    near += difflib.get_close_matches(lower, known, n=1, cutoff=0.6)
    return f" Did you mean `{near[0]}`?" if near else ""


def _fields_at(model: type[BaseModel], place: Sequence[int | str]) -> Mapping[str, str]:
    """Return the names of the fields of an object within a request, each with its first name."""
    here: type[BaseModel] | None = model
    for part in place:
        if isinstance(part, str) and not part.startswith("<") and here is not None:
            here = _model_of(here, part)
    return {name: names[0] for names in map(list, _names(here)) for name in names} if here else {}


def _names(model: type[BaseModel]) -> Iterator[Iterator[str]]:
    for name, field in model.model_fields.items():
        given = field.validation_alias or field.alias or name
        choices = given.choices if isinstance(given, AliasChoices) else [given]
        yield (str(choice) for choice in choices)


def _model_of(model: type[BaseModel], name: str) -> type[BaseModel] | None:
    """Return the model of a field's value, or of its items; None if it has none."""
    for names, field in zip(_names(model), model.model_fields.values(), strict=True):
        if name in names:
            return next(_models(field.annotation), None)
    return None


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)
