"""Accepted events as clients see them."""

from pydantic import Field

from functions.api.views import Time, View


class AcceptedPiece(View):
    """Events of one batch key that joined one window."""

    batch_key: str
    window_id: str
    closes_at: Time = Field(description="The window's end. Events near it move it; a full window closes earlier.")
    accepted: int = Field(description="Events, repeats included.")


class AcceptedEvents(View):
    """Where the events of a request are."""

    items: list[AcceptedPiece] = Field(description="A key whose events are in several windows has an entry for each.")
