"""Texts that recipients wrote to numbers of the account's credentials."""

from typing import Final, Literal

from pydantic import Field

from functions.api.call import Call, now_of
from functions.api.requests import Paging
from functions.api.views import Time, View, moment
from shared.domain.accounts import Scope
from shared.domain.jobs.feedback import WordKind
from shared.domain.texts import ReceivedText
from shared.web import cursors
from shared.web.http import Answer
from shared.web.routing import Nothing, Route, section

_WISHES: Final[dict[str, Literal["stop", "start"]]] = {
    WordKind.STOPPED.value: "stop",
    WordKind.STARTED.value: "start",
}


class TextView(View):
    """A text that somebody wrote to a number of a credential."""

    text_id: str
    received_at: Time
    from_: str = Field(serialization_alias="from", description="The number that wrote it.")
    to: str | None = Field(description="The number that it was written to; null if the provider does not say.")
    text: str = Field(description="At most 1,600 characters.")
    wish: Literal["stop", "start"] | None = Field(
        description="`stop`: the number is on the channel's list of suppressions since. `start`: it was taken off."
    )
    channel: str
    credential_id: str


class TextPage(View):
    """A page of texts, newest first."""

    items: list[TextView]
    next_cursor: str | None


def pages(call: Call[Paging, Nothing]) -> Answer:
    """Return a page of texts, newest first."""
    now = now_of(call)
    place, limit = cursors.texts(call), call.query.limit
    found, after = call.services.texts.page(call.key.namespace, after=place, limit=limit, now=now)
    return TextPage(items=[text_view(x) for x in found], next_cursor=cursors.seal(call, after)).answer()


def text_view(x: ReceivedText) -> TextView:
    """Return a text as its account sees it."""
    return TextView(
        text_id=x.id,
        received_at=moment(x.at),
        from_=x.sender,
        to=x.to or None,
        text=x.text,
        wish=_WISHES.get(x.wish),
        channel=x.channel,
        credential_id=x.credential,
    )


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
