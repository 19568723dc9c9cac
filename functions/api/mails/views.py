"""Mails as clients see them."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from functions.api.views import Time, View, at, moment
from shared.domain.mails.destination import MailDestination
from shared.domain.mails.mail import StoredMail


class MailPlaceView(View):
    """A place for the content of a mail. Nothing is queued."""

    mail_id: str
    url: str = Field(description="PUT the message there.")
    method: Literal["PUT"]
    headers: dict[str, str] = Field(description="Send all of them with the content. The URL takes one.")
    expires_at: Time = Field(description="The URL's.")


class AcceptedMail(View):
    """A mail whose destinations are queued."""

    mail_id: str
    destinations: int


class MailSummary(View):
    """A mail without its destinations."""

    mail_id: str
    state: Literal["open", "committed", "cleaned"] = Field(
        description="`open`: nothing is queued. `cleaned`: each destination has its end, and the content is removed."
    )
    mail_from: str = Field(description="Empty for a notification.")
    total: int = Field(description="Destinations.")
    job_id: str | None = Field(description="Its `GET /jobs/{id}/logs` has each attempt, its provider and its error.")
    size: int = Field(description="Bytes of the content; 0 until it is committed.")
    created_at: Time
    expires_at: Time


class DestinationView(View):
    """A destination of a mail."""

    address: str
    state: Literal["queued", "inflight", "cleanup", "gone", "dropped"] = Field(
        description="`inflight`: it is being sent, or its fate is not known. `cleanup`: it has its end. `gone`: that "
        "is noted, and the sender is notified of a failure."
    )
    schedule_at: Time | None = Field(description="When its next attempt is due, or its last one was; null: at once.")
    attempts: int
    end: Literal["sent", "delivered", "bounced", "failed", "skipped", "unknown"] | None = Field(
        description="How it ended, as far as is known; null while it waits or is being sent. `failed`: refused, or "
        "expired. `skipped`: suppressed, or dropped. `delivered` and `bounced` come later, if the provider reports."
    )
    provider: str | None = Field(description="Of its last attempt.")
    error: str | None = Field(description="The code that says why it did not arrive, or does not yet.")
    error_detail: str | None = Field(
        description="The text that the provider or the server gave to it, cut to 200 characters; null if it gave none."
    )
    metadata: dict[str, Any]


class MailView(MailSummary):
    """A mail with a page of its destinations."""

    destinations: list[DestinationView] = Field(description="In the order of the request; empty while it is `open`.")
    next_cursor: str | None


class MailPage(View):
    """A page of mails, newest first."""

    items: list[MailSummary]
    next_cursor: str | None


def summary(x: StoredMail) -> MailSummary:
    """Return a mail without its destinations."""
    return MailSummary(**_fields(x))


def mail_view(x: StoredMail, destinations: Sequence[MailDestination], cursor: str | None) -> MailView:
    """Return a mail with some of its destinations.

    Args:
        cursor: of the next page; None at the end.
    """
    return MailView(**_fields(x), destinations=[destination_view(d) for d in destinations], next_cursor=cursor)


def destination_view(x: MailDestination) -> DestinationView:
    """Return a destination."""
    return DestinationView(
        address=x.address,
        state=x.state.value,
        schedule_at=at(x.at),
        attempts=x.attempts,
        end=x.end.value if x.end is not None else None,
        provider=x.provider or None,
        error=x.error or None,
        error_detail=x.error_detail or None,
        metadata=dict(x.metadata),
    )


def _fields(x: StoredMail) -> dict[str, Any]:
    return {
        "mail_id": x.id,
        "state": x.state.value,
        "mail_from": x.mail_from,
        "total": len(x.hosts),
        "job_id": x.job or None,
        "size": x.size,
        "created_at": moment(x.created_at),
        "expires_at": moment(x.expires_at),
    }
