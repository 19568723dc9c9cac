"""Mails as clients see them."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BeforeValidator, Field

from shared.domain.mails.destination import MailDestination
from shared.domain.mails.mail import StoredMail
from shared.web.views import Meaning, Stamp, StampOrNull, TextOrNull, Time, View


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

    mail_id: str = Field(validation_alias="id")
    state: Literal["open", "committed", "cleaned"] = Field(
        description="`open`: nothing is queued. `cleaned`: each destination has its end, and the content is removed."
    )
    mail_from: str = Field(description="Empty for a notification.")
    total: Annotated[int, BeforeValidator(len)] = Field(validation_alias="hosts", description="Destinations.")
    job_id: TextOrNull = Field(
        validation_alias="job", description="Its `GET /jobs/{id}/logs` has each attempt, its provider and its error."
    )
    size: int = Field(description="Bytes of the content; 0 until it is committed.")
    created_at: Stamp
    expires_at: Stamp
    reference: TextOrNull = Field(description="The mail's name in its owner's own system.")
    tags: list[str] = Field(description="The owner's words for it.")


class DestinationView(View):
    """A destination of a mail."""

    address: str
    state: Literal["queued", "inflight", "cleanup", "gone", "dropped"] = Field(
        description="`inflight`: it is being sent, or its fate is not known. `cleanup`: it has its end. `gone`: that "
        "is noted, and the sender is notified of a failure."
    )
    schedule_at: StampOrNull = Field(
        validation_alias="at", description="When its next attempt is due, or its last one was; null: at once."
    )
    attempts: int
    end: Literal["sent", "delivered", "bounced", "failed", "skipped", "unknown"] | None = Field(
        description="How it ended, as far as is known; null while it waits or is being sent. `failed`: refused, or "
        "expired. `skipped`: suppressed, or dropped. `delivered` and `bounced` come later, if the provider reports."
    )
    provider: TextOrNull = Field(description="Of its last attempt.")
    error: TextOrNull = Field(description="The code that says why it did not arrive, or does not yet.")
    error_meaning: Meaning = Field(
        validation_alias=AliasChoices("error"), description="The code in words; null if it is not known."
    )
    error_detail: TextOrNull = Field(
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


def mail_view(x: StoredMail, destinations: Sequence[MailDestination], cursor: str | None) -> MailView:
    """Return a mail with some of its destinations.

    Args:
        cursor: of the next page; None at the end.
    """
    shown = [*map(DestinationView.model_validate, destinations)]
    return MailView.model_construct(**dict(MailSummary.model_validate(x)), destinations=shown, next_cursor=cursor)
