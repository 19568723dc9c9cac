"""Texts that recipients wrote to numbers of the account's credentials."""

from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field

from functions.api.call import Call, now_of
from shared.domain.accounts import Scope
from shared.domain.jobs.feedback import ProviderEventKind
from shared.web import cursors
from shared.web.http import Answer
from shared.web.inputs import Paging
from shared.web.routing import Nothing, Route, section
from shared.web.views import Stamp, TextOrNull, View

_WISHES: Final[dict[str, Literal["stop", "start"]]] = {
    ProviderEventKind.STOPPED.value: "stop",
    ProviderEventKind.STARTED.value: "start",
}


class TextView(View):
    """A text that somebody wrote to a number of a credential."""

    text_id: str = Field(validation_alias="id")
    received_at: Stamp = Field(validation_alias="at")
    from_: str = Field(validation_alias="sender", serialization_alias="from", description="The number that wrote it.")
    to: TextOrNull = Field(description="The number that it was written to; null if the provider does not say.")
    text: str = Field(description="At most 1,600 characters.")
    wish: Annotated[Literal["stop", "start"] | None, BeforeValidator(_WISHES.get)] = Field(
        description="`stop`: the number is on the channel's list of suppressions since. `start`: it was taken off."
    )
    channel: str
    credential_id: str = Field(validation_alias="credential")


class TextPage(View):
    """A page of texts, newest first."""

    items: list[TextView]
    next_cursor: str | None


def pages(call: Call[Paging, Nothing]) -> Answer:
    """Return a page of texts, newest first."""
    now = now_of(call)
    place, limit = cursors.texts(call), call.query.limit
    found, after = call.services.texts.page(call.key.namespace, after=place, limit=limit, now=now)
    return TextPage(items=[*map(TextView.model_validate, found)], next_cursor=cursors.seal(call, after)).answer()


ROUTES: Final = section(
    "Suppressions",
    Route(
        method="GET",
        path="/texts",
        name="listTexts",
        summary="Texts that recipients wrote, newest first",
        description="Texts to numbers of credentials that name this account. They are kept for 30 days. "
        "A credential that is open to all accounts stores no texts.",
        scope=Scope.READ,
        handler=pages,
        answers={200: TextPage},
        problems=("bad_cursor",),
    ),
)
