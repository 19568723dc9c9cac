"""Mails as clients hand them in."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from functions.api.batches.labels import Reference, Tags
from functions.api.jobs.narrowing import ListQuery
from functions.api.requests import MAX_LINE, FileSize
from shared.domain.mails.mail import MAX_DESTINATIONS, MailState
from shared.web.inputs import Input, Moment, Query

Address = Annotated[str, Field(min_length=1, max_length=MAX_LINE)]


class NewMailDestination(Input):
    """A destination of a mail."""

    address: Address
    schedule_at: Moment | None = Field(None, description="When it is sent first. By default at once.")
    metadata: dict[str, Any] | None = Field(None, description="JSON of up to 4 KB, returned as it is.")


class MailEnvelope(Input):
    """A mail without its content."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"mail_from": "bounces@example.com", "destinations": [{"address": "ann@example.org"}]}]
        }
    )

    mail_from: str = Field(
        max_length=MAX_LINE,
        description="Whom notifications go to: an address of the account's senders. Empty: the null return path.",
    )
    destinations: list[NewMailDestination] = Field(min_length=1, max_length=MAX_DESTINATIONS)
    expires_at: Moment | None = Field(
        None, description="No attempt begins from this time on. By default, and at the most, two days from now."
    )
    reference: Reference | None = Field(None, description="The mail's name in your own system.")
    tags: Tags | None = Field(None, description="Words for the mail.")


class NewEnvelope(MailEnvelope):
    """A mail whose content is uploaded."""

    size: FileSize | None = Field(
        None, description="Bytes of the content. The URL then takes no content of another size."
    )


class NewMail(MailEnvelope):
    """A mail with its content."""

    content: str = Field(min_length=1, max_length=4_000_000, description="The message (RFC 5322), in lines of CRLF.")


class MailQuery(Query):
    """The envelope of a mail whose body is `message/rfc822`."""

    mail_from: str | None = Field(None, max_length=MAX_LINE, description="As in the body.")
    rcpt_to: str | None = Field(
        None, max_length=8_000, description="A destination. Repeat the parameter for each further one."
    )
    reference: str | None = Field(None, max_length=MAX_LINE, description="As in the body.")
    tag: str | None = Field(None, max_length=MAX_LINE, description="A single tag, as in the body.")
    normalise: bool = Field(False, description="Make every line end CRLF, instead of refusing others.")


class CommitMail(Input):
    """Says that the content is uploaded."""

    etag: str | None = Field(
        None, max_length=200, description="Of the upload's answer. Another content is not taken then."
    )
    normalise: bool = Field(False, description="Make every line end CRLF, instead of refusing others.")


class NewSchedule(Input):
    """When a destination is sent."""

    at: Moment = Field(description="From now on, and before the mail expires.")


class MailsQuery(ListQuery):
    """Which mails."""

    state: MailState | None = Field(
        None, description="Only mails in this state. A page may be short and still carry a cursor."
    )
