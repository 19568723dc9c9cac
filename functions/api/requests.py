"""Requests as clients write them. Everything here is checked before anything is stored."""

import re
from datetime import date
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from functions.api.batches.labels import Metadata, Params, Recipients, Reference, Tags
from functions.api.jobs.hours import WHAT, SendingHours
from functions.api.other_names import BODY, DATA, with_content, with_html
from shared.domain.channels.channel import ChannelName
from shared.domain.channels.email import EMAIL
from shared.domain.channels.lookup import CHANNELS
from shared.domain.content.content import Speech, checked_base64
from shared.domain.jobs.feedback import SOFT, ProviderEventKind
from shared.domain.jobs.job import OnAmbiguous
from shared.domain.jobs.states import MessageState, Status
from shared.domain.recipients.suppressions import AnyReach, DigestsOf, Reach
from shared.engine.intake.addresses import MAX_RECIPIENTS
from shared.engine.reports.attempts import AttemptFate
from shared.providers.instructing import INSTRUCTING
from shared.web.inputs import LINE, Input, Moment, Paging, Query

"""Addresses in cc or bcc: one message with more is a list, and a list is what `to` is for."""
MAX_LINE: Final = 998
"""Characters of a header line: RFC 5322 2.1.1."""
MAX_TEXT: Final = 2_000_000
"""Characters of an HTML or text body; mailbox providers cut HTML at about 100 KB already."""
RESERVED: Final = ("x-posthaste", *INSTRUCTING)
"""Beginnings of header names that instruct the engine, a provider or a relay instead of the reader."""
UNSUBSCRIPTION: Final = frozenset({"list-unsubscribe", "list-unsubscribe-post"})
"""Headers that hold each recipient's own link."""
_HEADER: Final = re.compile(r"[Xx]-[A-Za-z0-9-]{1,74}")
_VALUE: Final = re.compile(r"[\x20-\x7e]*")

SoftWord = Literal["dropped", "blocked", "failed_temporarily", "deferred"]
if {w.value for w in SOFT | {ProviderEventKind.DEFERRED}} != set(SoftWord.__args__):  # type: ignore[attr-defined]
    raise AssertionError("the words after which another provider is tried have changed")


Channel = Annotated[ChannelName, WithJsonSchema({"type": "string", "enum": sorted(CHANNELS)})]
FileSize = Annotated[int, Field(ge=1, le=5_000_000_000)]
"""Bytes of a file that is uploaded: what one PUT to S3 takes."""


def header_fault(name: str, text: str) -> str:
    """Return why a message cannot have a header of its owner's, without a full stop; empty if it can."""
    if not _HEADER.fullmatch(name):
        return "A header's name is X- and letters, digits and hyphens"
    if name.lower().startswith(RESERVED):
        return "This header instructs a provider and cannot be set"
    if len(text) > MAX_LINE or not _VALUE.fullmatch(text):
        return "A header's value is printable ASCII of at most 998 characters"
    return ""


Line = Annotated[str, Field(min_length=1, max_length=MAX_LINE, pattern=LINE)]
Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT, pattern=r"^[^\x00]+$")]
Addresses = Annotated[
    Annotated[str, Field(max_length=MAX_LINE * MAX_RECIPIENTS), Tag("<text>")] | Annotated[list[str], Tag("<list>")],
    Discriminator(lambda given: "<list>" if isinstance(given, list) else "<text>"),
]
"""A list, or text separated by commas; told apart beforehand, so that an error is about what was meant."""


class FileAttachment(Input):
    """A file attached to every message."""

    model_config = ConfigDict(json_schema_extra=with_content)

    filename: str = Field(min_length=1, max_length=255, pattern=r"^[^\x00-\x1f\x7f-\x9f/\\]+$")
    content_type: str = Field(
        "application/octet-stream", max_length=127, pattern=r"^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+$"
    )
    data: Annotated[
        str,
        Field(min_length=1, validation_alias=DATA, json_schema_extra={"contentEncoding": "base64"}),
        AfterValidator(checked_base64),
    ]
    content_id: str = Field(
        "", max_length=127, pattern=r"^[A-Za-z0-9_.@-]*$", description="Makes it an inline image: `<img src=cid:…>`."
    )


class HowSaid(Input):
    """How a call says its text."""

    language: str | None = Field(None, pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2}$", description="`en-AU`.")
    voice: str | None = Field(
        None, max_length=60, pattern=r"^[A-Za-z0-9_.-]+$", description="A voice of the provider; else its own choice."
    )
    audio_url: str | None = Field(
        None,
        max_length=500,
        pattern=r"^https://[!-~]+$",
        description="A recording that is played instead of the text, where the provider plays one.",
    )
    keys: dict[
        Annotated[str, Field(pattern=r"^[02-8*#]$")], Annotated[str, Field(min_length=1, max_length=60, pattern=LINE)]
    ] = Field(
        default_factory=dict,
        max_length=10,
        description='Keys that are recorded, and what each means: `{"2": "confirmed"}`. 1 always repeats the '
        "message, and 9 stops further calls.",
    )

    def speech(self) -> Speech:
        """Return it as the engine has it; keys in their order, so that the same request is the same content."""
        keys = tuple(sorted(self.keys.items()))
        return Speech(self.language or "", self.voice or "", self.audio_url or "", keys)


class Spoken(HowSaid):
    """What a call says."""

    say: Text = Field(description="The text, at most 900 characters.")


class NewBatch(Input):
    """One message to many recipients, each of whom gets their own."""

    model_config = ConfigDict(
        json_schema_extra=with_html(
            examples=[
                {
                    "from": "Ann's shop <news@example.com>",
                    "to": ["ben@example.org", "Cleo <cleo@example.net>"],
                    "subject": "News of the week",
                    "body": "<p>Hello!</p>",
                    "text": "Hello!",
                    "reference": "news-47",
                    "tags": ["news"],
                },
                {"channel": "sms", "to": ["+14155550100"], "text": "Your parcel is here."},
                {"channel": "voice", "to": ["+14155550100"], "voice": {"say": "Your visit is at nine."}},
            ]
        )
    )

    channel: Channel = Field(default=EMAIL.name, validate_default=True, description="What it is sent by.")
    from_: Line | None = Field(
        None,
        alias="from",
        description="E-mail: the sender, on the account's list: `a@example.com` or `Name <a@…>`. Other channels "
        "use the credential's sender.",
    )
    to: Recipients = Field(
        description="At most 5,000 recipients, as a list or separated by commas. Recipients do not see each other. "
        "E-mail addresses, or phone numbers for the other channels. The entries of a list may be objects, with "
        "data of the recipient's own."
    )
    subject: Line | None = Field(None, description="E-mail: needed.")
    body: Text | None = Field(
        None, validation_alias=BODY, description="E-mail: HTML. At least one of `body` and `text` is needed."
    )
    text: Text | None = Field(None, description="Plain text. SMS and WhatsApp: the message.")
    voice: Spoken | None = Field(None, description="Calls: what is said.")
    reply_to: Line | None = None
    cc: Addresses | None = Field(None, description="Only with exactly one recipient; at most 50.")
    bcc: Addresses | None = Field(None, description="Only with exactly one recipient; at most 50.")
    name: Annotated[str, Field(min_length=1, max_length=100, pattern=LINE)] | None = Field(
        None, description="For the owner. Recipients do not see it."
    )
    template_id: Annotated[str, Field(min_length=1, max_length=64)] | None = Field(
        None, description="A stored template, in place of `subject`, `body`, `text` and `voice`."
    )
    template_version: int | None = Field(None, ge=1, le=1000, description="By default the latest.")
    params: Params | None = Field(
        None,
        description="Values of the template's placeholders. Each recipient needs all of them, here or of their own.",
    )
    reference: Reference | None = Field(None, description="The batch's name in your own system. It need not be unique.")
    tags: Tags | None = Field(None, description="Words for the batch.")
    metadata: Metadata | None = Field(
        None,
        description="Your own data, at most 4 KB as JSON. Logs, exports and webhooks repeat them for each message, as "
        "they repeat `reference` and `tags`. No provider gets them.",
    )
    headers: dict[str, str] | None = Field(
        None,
        max_length=50,
        description="Only `X-…`, printable ASCII; not those that instruct a provider.",
    )
    attachments: list[FileAttachment] | None = Field(None, max_length=20)
    route: Annotated[list[Annotated[str, Field(min_length=1, max_length=64)]], Field(min_length=1, max_length=10)] | (
        None
    ) = Field(
        None, description="Credentials to use; by default the deployment's. A failed message tries the next of them."
    )
    routing: Literal["spread", "ordered"] | None = Field(
        None,
        description="`spread`: the credentials of the route take turns, chunk by chunk, so a small batch goes whole "
        "through one of them. `ordered`: the first usable credential takes all, and the others are for failover. By "
        "default as the deployment has it for its own route, and `spread` for a `route` of the batch.",
    )
    retry_on: list[SoftWord] | None = Field(
        None,
        max_length=4,
        description="Feedback after which a provider that has not tried the message is tried; by default all of these "
        "but `deferred`, which says that the provider still tries: a message may then arrive twice.",
    )
    deferred_after: int | None = Field(
        None,
        ge=60,
        le=259_200,
        description="Seconds after an attempt from which `deferred` counts, if `retry_on` names it; by default 14,400.",
    )
    on_ambiguous: Literal["hold", "fail_over"] = Field(
        OnAmbiguous.HOLD.value,
        description="A message whose fate is not known: `hold` waits for proof, `fail_over` risks a duplicate.",
    )
    max_attempts: int = Field(6, ge=1, le=12, description="Attempts that a message may have, over all providers.")
    scheduled_at: Moment | None = Field(None, description="Not before then; within a year.")
    hours: SendingHours | None = Field(None, description=WHAT)
    urgent: bool = Field(
        False, description="Send it also in the account's quiet hours. The API key needs the scope `urgent`."
    )
    unsubscribe: bool = Field(
        False,
        description="Offer a one-click unsubscription: every message has the headers `List-Unsubscribe` and "
        "`List-Unsubscribe-Post` (RFC 8058) with its recipient's own link, and who has unsubscribed is left out, with "
        "the code `unsubscribed`. Not with `cc` or `bcc`, whose readers would hold the recipient's link.",
    )

    @field_validator("headers")
    @classmethod
    def _headers(cls, value: dict[str, str] | None) -> dict[str, str] | None:
        seen = set()
        for name, text in (value or {}).items():
            lower = name.lower()
            if lower in UNSUBSCRIPTION:
                raise ValueError("Ask for `unsubscribe` instead: this header is made for each recipient")
            if lower in seen:
                raise ValueError("A header is given twice")
            if fault := header_fault(name, text):
                raise ValueError(fault)
            seen.add(lower)
        return value

    @field_validator("route", "retry_on")
    @classmethod
    def _distinct(cls, value: list[str] | None) -> list[str] | None:
        if value is not None and len(set(value)) < len(value):
            raise ValueError("An entry is given twice")
        return value

    @field_validator("deferred_after")
    @classmethod
    def _deferred(cls, value: int | None, info: ValidationInfo) -> int | None:
        # A retry_on that is not valid is reported by itself.
        if value is not None and "retry_on" in info.data and "deferred" not in (info.data["retry_on"] or ()):
            raise ValueError("Use it only with `deferred` in `retry_on`")
        return value

    @field_validator("unsubscribe")
    @classmethod
    def _own_link(cls, value: bool, info: ValidationInfo) -> bool:  # noqa: FBT001 - as pydantic calls it
        if value and any(info.data.get(field) is not None for field in ("cc", "bcc")):
            raise ValueError("Do not combine it with cc or bcc, whose readers would get the recipient's link")
        return value


class Reschedule(Input):
    """Another time for what waits for its time."""

    scheduled_at: Moment | None = Field(description="Not before then; null: now.")
    instead_of: Moment | None = Field(
        None, description="The time that it has, as you know it; if it has another, nothing changes."
    )

    @property
    def seen(self) -> int | None:
        """The time that the caller knows, Unix milliseconds; None: any."""
        return int(self.instead_of.timestamp() * 1000) if self.instead_of is not None else None


class Retry(Input):
    """Which messages to send again."""

    include: list[Literal["unsent", "failed", "unknown"]] = Field(
        ["unsent", "failed"],
        min_length=1,
        max_length=3,
        description="Unsent messages are always sent. `failed`: also failures that may be retried, never hard bounces "
        "or complaints. `unknown` may send a message twice; its log then says `may_duplicate`.",
    )


class NewSuppression(Input):
    """Why an address is suppressed."""

    reason: str = Field("manual", min_length=1, max_length=100, pattern=LINE)


# Query parameters


class AuditQuery(Paging):
    """Which entries of the audit log."""

    action: str | None = Field(
        None,
        pattern=r"^[a-z_]+\.[a-z_]+$",
        max_length=64,
        description="Only entries of this kind, for example `job.stopped`.",
    )
    test: bool = Field(False, description="True: entries about test keys. A test key reads only these.")
    team: bool = Field(False, description="True: entries about team keys. A team key reads only these.")

    @model_validator(mode="after")
    def _one_log(self) -> Self:
        if self.test and self.team:
            raise ValueError("Choose one of `test` and `team`.")
        return self


SCOPES: Final = (
    "`all`: nothing is sent to the address (it bounced, its owner complained, or the account wants it so). "
    "`campaigns`: its owner has unsubscribed; campaigns, and batches with `unsubscribe`, leave it out. "
    "`sms`, `voice`, `whatsapp`: its owner wants no more messages by this channel (`STOP` as an answer, 9 in a call). "
    "`digests`: its owner has unsubscribed from the digests of a policy."
)


class ScopeQuery(Query):
    """Which of the lists."""

    scope: Reach = Field(Reach.ALL, description=SCOPES)


class EntryQuery(ScopeQuery):
    """Which entry of an address."""

    policy: str | None = Field(
        None, min_length=1, max_length=200, description="With `scope=digests`, and only then: the policy's prefix."
    )

    @model_validator(mode="after")
    def _policy(self) -> Self:
        if (self.scope is Reach.DIGESTS) != (self.policy is not None):
            raise ValueError("Give `policy` with `scope=digests`, and only then")
        return self

    @property
    def reach(self) -> AnyReach:
        """The list that is meant."""
        return self.scope if self.policy is None else DigestsOf(self.policy)


class SuppressionQuery(Paging, ScopeQuery):
    """A page of one of the lists."""


def commas(value: Any) -> Any:
    """Return a text as its parts between commas."""
    return value.split(",") if isinstance(value, str) else value


class LogQuery(Paging):
    """Which lines of a log."""

    state: Annotated[list[MessageState] | None, BeforeValidator(commas)] = Field(
        None, description="Fine states, separated by commas. A page may be short and still carry a cursor."
    )
    status: Annotated[list[Status] | None, BeforeValidator(commas)] = Field(
        None, description="Narrow words, separated by commas."
    )
    recipient: str | None = Field(None, min_length=1, max_length=998, description="One recipient's address.")
    credential: str | None = Field(None, min_length=1, max_length=100, description="The credential of an attempt.")
    attempt: AttemptFate | None = Field(None, description="The result of an attempt, by this credential or any.")


def _plain_date(value: Any) -> Any:
    if isinstance(value, str) and not _DATE.fullmatch(value):
        raise ValueError("Write the day as in RFC 3339, for example 2026-11-20")
    return value


_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
Day = Annotated[date, BeforeValidator(_plain_date)]
"""pydantic would take a number of seconds too."""


class StatsQuery(Query):
    """Which days, and how finely."""

    from_: Day | None = Field(None, alias="from", description="First UTC day; by default 29 days before the last.")
    to: Day | None = Field(None, description="Last UTC day, included; by default today.")
    by: Annotated[list[Literal["channel", "provider"]] | None, BeforeValidator(commas)] = Field(
        None, description="Adds figures per channel, per provider or both, separated by commas."
    )
