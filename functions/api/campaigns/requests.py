"""Requests about campaigns, uploads and stored templates as clients write them."""

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, StringConstraints, Tag, model_validator

from functions.api.jobs.hours import WHAT, SendingHours
from functions.api.other_names import BODY, with_html
from functions.api.requests import Channel, FileSize, HowSaid, Line, Text
from shared.domain.lists.heading import MAX_HEADER_ROW
from shared.web.inputs import LINE, Input, Moment, Query

Name = Annotated[str, Field(min_length=1, max_length=100, pattern=LINE)]
Id = Annotated[str, Field(min_length=1, max_length=64)]
MAX_PARAMS: Final = 64
MIN_RATE: Final = 0.1
"""Messages per second. A slower campaign's slots are so long on its credential's clock that batches, also those of
other accounts, would wait for more than ten seconds."""
Cell = Annotated[str, StringConstraints(max_length=8192)]


def _sort(given: object) -> str:
    if given is None:
        return "<empty>"
    return "<number>" if isinstance(given, int | float) and not isinstance(given, bool) else "<text>"


Value = Annotated[
    Annotated[str, Tag("<text>")] | Annotated[int | float, Tag("<number>")] | Annotated[None, Tag("<empty>")],
    Discriminator(_sort),
]
"""A cell of a list in JSON; null is an empty one. One of over 8 KB concerns only its row, as in a file."""


class Saying(Input):
    """A campaign's content, with `{{ placeholders }}`."""

    model_config = ConfigDict(json_schema_extra=with_html())

    subject: Line | None = Field(None, description="E-mail: needed, one line.")
    body: Text = Field(validation_alias=BODY, description="E-mail: HTML. SMS: plain text. Calls: what is said.")
    text: Text | None = Field(None, description="E-mail: the text part; by default derived from `body`.")
    from_: Line | None = Field(
        None,
        alias="from",
        description="E-mail: the sender, on the account's list; needed when it is sent. An SMS has its credential's.",
    )
    reply_to: Line | None = Field(None, description="E-mail: where answers go.")
    speech: HowSaid | None = Field(None, description="Calls: how `body` is said.")


class NewCampaign(Input):
    """A message with placeholders, for lists of recipients, through one credential."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "October",
                    "channel": "email",
                    "template": {
                        "from": "Ann's shop <news@example.com>",
                        "subject": "News for {{ first_name }}",
                        "body": "<p>Hello {{ first_name }}!</p>",
                    },
                }
            ]
        }
    )

    name: Name = Field(description="For the owner. Recipients do not see it.")
    channel: Channel
    credential_id: Id | None = Field(None, description="The credential; by default the channel's first.")
    template: Saying | None = Field(None, description="The content; give this or `template_id`.")
    template_id: Id | None = Field(None, description="A stored template, which is copied.")
    template_version: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        None, description="Of the stored template; by default the latest."
    )
    unsubscribe: bool = Field(
        default=True, description="E-mail: offer one-click unsubscription, and leave out who has used it."
    )
    hours: SendingHours | None = Field(None, description=WHAT)

    @model_validator(mode="after")
    def _one(self) -> "NewCampaign":
        if (self.template is None) == (self.template_id is None):
            raise ValueError("Give either `template` or `template_id`")
        if self.template_version is not None and self.template_id is None:
            raise ValueError("Give `template_id` with `template_version`")
        return self


class CampaignChange(Input):
    """What is left out, or null, stays as it is."""

    name: Name | None = None
    credential_id: Id | None = Field(None, description="Only as long as there is no list.")
    unsubscribe: bool | None = None
    hours: (
        Annotated[
            Annotated[SendingHours, Tag("<hours>")] | Annotated[Literal["any"], Tag("<any>")],
            Discriminator(lambda given: "<any>" if isinstance(given, str) else "<hours>"),
        ]
        | None
    ) = Field(None, description="For lists that are sent from now on. `any`: at any time, as by default.")


class NewSaying(Input):
    """A campaign's new content: a template, or a stored one."""

    model_config = ConfigDict(json_schema_extra=with_html())

    subject: Line | None = None
    body: Text | None = Field(
        None, validation_alias=BODY, description="E-mail: HTML. SMS: plain text. This or `template_id`."
    )
    text: Text | None = None
    from_: Line | None = Field(None, alias="from")
    reply_to: Line | None = None
    speech: HowSaid | None = Field(None, description="Calls: how `body` is said.")
    template_id: Id | None = Field(None, description="A stored template, which is copied.")
    template_version: Annotated[int, Field(ge=1, le=1000)] | None = None

    @model_validator(mode="after")
    def _one(self) -> "NewSaying":
        said = [self.subject, self.body, self.text, self.from_, self.reply_to, self.speech]
        if self.template_id is None and self.template_version is not None:
            raise ValueError("Give `template_id` with `template_version`")
        if self.template_id is None and self.body is None:
            raise ValueError("Give either `body` or `template_id`")
        if self.template_id is not None and any(x is not None for x in said):
            raise ValueError("A stored template cannot be changed here. Leave out its other fields")
        return self


class SmsVariant(Input):
    """The text message of a template, for notices."""

    text: Annotated[str, Field(min_length=1, max_length=10_000)] = Field(
        description="Plain text with `{{ placeholders }}`."
    )


class VoiceVariant(HowSaid):
    """The call of a template, for notices."""

    say: Annotated[str, Field(min_length=1, max_length=10_000)] = Field(
        description="Plain text with `{{ placeholders }}`."
    )


class NoticeSaying(Saying):
    """Content of a stored template, also for notices."""

    sms: SmsVariant | None = Field(None, description="Of notices: the text message, if the channel is another.")
    voice: VoiceVariant | None = Field(None, description="Of notices: the call.")


class NewTemplate(NoticeSaying):
    """A message kept for many campaigns, or for notices."""

    name: Name
    channel: Channel


class TemplateVersion(NoticeSaying):
    """The next version of a stored template, whole. Campaigns that use an earlier one keep it."""

    name: Name | None = Field(None, description="By default as it was.")


Region = Annotated[str, Field(pattern=r"^[A-Z]{2}$")]
HeaderRow = Annotated[int, Field(ge=1, le=MAX_HEADER_ROW)]
Sheet = Annotated[str, Field(min_length=1, max_length=255)]


Encoding = Literal[
    "utf-8",
    "utf-16",
    "windows-1252",
    "windows-1250",
    "windows-1251",
    "windows-1253",
    "windows-1254",
    "windows-1257",
    "iso-8859-2",
    "iso-8859-15",
    "macintosh",
]
"""As `encodings.ENCODINGS`."""


class ReadingOptions(BaseModel):
    """How a list is read."""

    duplicates: Literal["keep", "drop"] = Field(
        "keep", description="Recipients that an earlier row has: send again (and report), or leave out."
    )
    region: Region | None = Field(
        None, description="ISO 3166: country of numbers without a country code. Default: the account's."
    )
    recipient_column: Name | None = Field(
        None,
        description="The column that holds the recipients. Default: `recipient`, or else a usual name such as `email` "
        "or `phone`. Case, spaces, underscores and hyphens make no difference.",
    )
    header_row: HeaderRow | None = Field(
        None,
        description="The row with the names of columns, as a spreadsheet numbers it. Rows above it are passed over. "
        "Default: the first of the first 30 rows that has a column of recipients.",
    )
    strict: bool = Field(
        default=False, description="True: the first invalid row makes the list `failed`. False: it is left out."
    )
    sheet: Sheet | None = Field(
        None, description="Of a workbook: the name of the sheet. Default: the first one that is not hidden."
    )
    hidden_rows: Literal["drop", "keep"] = Field(
        "drop", description="Of a workbook: rows that a filter or its user hides. Leave out (and count), or send."
    )
    encoding: Encoding | None = Field(
        None,
        description="Of a CSV file. Default: UTF-8, and a row that is not valid UTF-8 makes the list `failed`. "
        "`utf-8`: such rows are reported as invalid, and the others are read.",
    )


class ListOptions(ReadingOptions, Query):
    """How a list in the request is read."""


class NewUpload(ReadingOptions, Input):
    """How the list that is uploaded is read."""

    content_type: Literal[
        "text/csv",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "application/vnd.oasis.opendocument.spreadsheet",
    ] = Field("text/csv", description="The media type that the file is put with: CSV, .xlsx or .ods.")
    size: FileSize | None = Field(None, description="Bytes of the file. The URL then takes no file of another size.")
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = Field(
        None, description="The file's SHA-256 in hex. The answer then says whether the same file was sent before."
    )


class StoredList(Input):
    """A list whose file is still kept. Options that are left out, or null, are as that list was read."""

    list_of: Id | None = Field(None, description="The campaign that has the list. Default: this one.")
    upload_id: Id | None = Field(
        None, description="Which of its lists. Default: the newest that could be read, or else the newest."
    )
    duplicates: Literal["keep", "drop"] | None = None
    region: Region | None = None
    recipient_column: Name | None = None
    header_row: HeaderRow | None = None
    strict: bool | None = None
    sheet: Sheet | None = None
    hidden_rows: Literal["drop", "keep"] | None = None
    encoding: Encoding | None = None


class UploadDone(Input):
    """The file is there."""

    etag: str | None = Field(None, max_length=200, description="As the PUT answered; then no other file is read.")


class Recipients(Input):
    """A small list; one in CSV is sent as `text/csv`."""

    recipients: list[Annotated[dict[Annotated[str, Field(max_length=255)], Value], Field(max_length=MAX_PARAMS)]] = (
        Field(min_length=1, max_length=50_000, description="Objects with `recipient` and the template's variables.")
    )


class TestMessage(Input):
    """One real message, apart from the campaign."""

    __test__ = False  # pytest would take it for a test

    recipient: Line = Field(description="Address or number.")
    params: dict[Annotated[str, Field(max_length=255)], Cell] = Field(
        default_factory=dict,
        max_length=MAX_PARAMS,
        description="The variables' values, by name. A missing variable is empty. Names that "
        "neither the template nor the list has are refused.",
    )


class Send(Input):
    """How a list is sent."""

    rate: float | None = Field(
        None,
        ge=MIN_RATE,
        le=1_000_000,
        allow_inf_nan=False,
        description="Messages per second, at most the credential's. A lower rate leaves the rest of it to others.",
    )
    scheduled_at: Moment | None = Field(None, description="Not before then; within 30 days of the upload.")


# Query parameters


class PreviewQuery(Query):
    """Whose message."""

    row: int | None = Field(
        None, ge=1, le=10_000, description="Which of the list's accepted recipients, from 1; by default the first."
    )
    sheet_row: int | None = Field(
        None,
        ge=1,
        le=100_000_000,
        description="Instead of `row`: the recipient of this row of the uploaded file, as a spreadsheet numbers it, or "
        "of the next row that has one.",
    )


class VersionQuery(Query):
    """Which version."""

    version: int | None = Field(None, ge=1, le=1000, description="By default the latest.")
