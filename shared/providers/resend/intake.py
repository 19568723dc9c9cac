"""The doors for clients of Resend: `POST /emails` and `POST /emails/batch`, answered as Resend does.

Sources: github.com/resend/resend-openapi (commit fd6f395); resend.com/docs: api-reference/emails/send-email and
…/send-batch-emails, api-reference/errors, dashboard/emails/idempotency-keys, …/schedule-email, and
resend.com/changelog/batch-validation-modes. Requests of real clients: resend-python 2.51.0, resend-node 6.38.0.
"""

import base64
import json
import mimetypes
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Discriminator, Field, RootModel, Tag

from shared.domain.content.content import Attachment
from shared.domain.content.posting import PostedBox, PostedMessage, Posting
from shared.providers._asked import (
    LINE,
    Base64,
    Body,
    ContentId,
    FileName,
    Given,
    Line,
    MediaType,
    OwnLine,
    People,
    Plain,
    absent,
    boxes,
    check_args,
    only_box,
    recipients,
    refused,
    uncarried,
)
from shared.providers.doors import Door, DoorAnswer, DoorRefusal, DoorTaken, Several, Voice
from shared.providers.resend.carried import REFUSED

MOST: Final = 100
"""Messages of a batch."""
MODE: Final = "x-batch-validation"
"""The header that says whether a message that is not valid stops its batch: `strict` or `permissive`."""
_FIELDS: Final[Mapping[str, str]] = {
    **{name: name for name in ("subject", "headers", "template")},
    "body": "html",
    "send_at": "scheduled_at",
}
_UNTYPED: Final = "application/octet-stream"
_Copies = Annotated[People, absent("")]
_Octets = Annotated[list[Annotated[int, Field(ge=0, le=255)]], Field(min_length=1)]


class ResendFile(Given):
    """A file. `content`: base64, or the bytes as numbers, as the SDK for Python sends them."""

    content: (
        Annotated[
            Annotated[Base64, Tag("<text>")] | Annotated[_Octets, Tag("<list>")],
            Discriminator(lambda given: "<list>" if isinstance(given, list) else "<text>"),
        ]
        | None
    ) = None
    filename: FileName | None = None
    path: Plain | None = None
    content_type: MediaType | None = None
    content_id: ContentId | None = None
    inline_content_id: ContentId | None = None


class ResendTag(Given):
    """A tag."""

    name: Annotated[str, Field(min_length=1, max_length=256, pattern=LINE)]
    value: Annotated[str, Field(max_length=256), absent("")] = ""


class ResendTemplate(Given):
    """A stored template, and the values of its placeholders."""

    id: Annotated[str, Field(min_length=1, max_length=100)]
    variables: dict[str, str | int | float] | None = None


class ResendMail(Given):
    """A message, as of `POST /emails`."""

    from_: Line = Field(alias="from")
    to: People
    subject: OwnLine = ""
    cc: _Copies = ""
    bcc: _Copies = ""
    reply_to: _Copies = ""
    html: Body = ""
    text: Body = ""
    headers: Annotated[dict[str, str], Field(max_length=50), absent({})] = Field(default_factory=dict)
    attachments: Annotated[list[ResendFile], Field(max_length=20), absent([])] = Field(default_factory=list)
    tags: Annotated[list[ResendTag], Field(max_length=50), absent([])] = Field(default_factory=list)
    scheduled_at: Annotated[str, Field(max_length=100), absent("")] = ""
    template: ResendTemplate | None = None
    topic_id: Plain | None = None


class ResendBatch(RootModel[list[Any]]):
    """Messages, each a `ResendMail`."""

    model_config = ConfigDict(defer_build=True)


class ResendFault(BaseModel):
    """Resend's form of errors."""

    statusCode: int  # noqa: N815 - the vendor's name
    name: str
    message: str


def read(mail: ResendMail) -> Posting:
    """Return what a message asks for. Raises Uncarried."""
    refused((("topic_id", mail.topic_id),), REFUSED)
    tags = {x.name: x.value for x in mail.tags}
    if len(tags) < len(mail.tags):
        raise uncarried("tags", "Two tags have the same name.")
    check_args(tags, "tags")
    message = PostedMessage(
        place="",
        to=recipients(mail.to, "to"),
        cc=boxes(mail.cc, "cc"),
        bcc=boxes(mail.bcc, "bcc"),
        values=_values(mail),
        metadata=tags,
    )
    return Posting(
        sender=PostedBox(mail.from_, "", "from"),
        messages=(message,),
        subject=mail.subject,
        html=mail.html,
        text=mail.text,
        reply_to=only_box(mail.reply_to, "reply_to"),
        headers=tuple(mail.headers.items()),
        attachments=tuple(_file(x, n) for n, x in enumerate(mail.attachments)),
        template=mail.template.id if mail.template else "",
        send_at=_at(mail.scheduled_at),
        fields=_FIELDS,
    )


def _values(mail: ResendMail) -> dict[str, str]:
    """Return the values of a template's placeholders, whose names have no case."""
    if mail.template is None:
        return {}
    for name in ("subject", "html", "text"):
        if getattr(mail, name):
            raise uncarried(name, "The subject and the bodies are those of the template. Leave this out.")
    found: dict[str, str] = {}
    for name, value in (mail.template.variables or {}).items():
        if name.strip().lower() in found:
            raise uncarried(f"template.variables.{name}", "Two names differ only by spaces or case.")
        found[name.strip().lower()] = str(value)
    return found


def _file(given: ResendFile, n: int) -> Attachment:
    place = f"attachments.{n}"
    if given.path:
        raise uncarried(f"{place}.path", REFUSED["attachments.path"])
    if given.content is None or given.filename is None:
        raise uncarried(place, "A file needs a `content` and a `filename`.")
    data = given.content if isinstance(given.content, str) else base64.b64encode(bytes(given.content)).decode()
    kind = given.content_type or mimetypes.guess_type(given.filename)[0] or _UNTYPED
    return Attachment(given.filename, kind, data, given.content_id or given.inline_content_id or "")


def _at(text: str) -> float:
    """Return a time, Unix seconds; 0 for none."""
    if not text:
        return 0
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise uncarried("scheduled_at", REFUSED["scheduled_at"]) from None
    if found.tzinfo is None:
        raise uncarried("scheduled_at", REFUSED["scheduled_at"])
    return found.timestamp()


# Answering

_NAMES: Final[Mapping[str, str]] = {
    "bad_idempotency_key": "invalid_idempotency_key",
    "idempotency_mismatch": "invalid_idempotent_request",
    "missing_scope": "restricted_api_key",
    "account_suspended": "suspended_api_key",
    "rate_limited": "rate_limit_exceeded",
    "quota_exceeded": "daily_quota_exceeded",
    "not_found": "not_found",
    "method_not_allowed": "method_not_allowed",
    "internal_error": "application_error",
    "try_again": "application_error",
}
"""Our code → the name of Resend's error; for all others it is `validation_error`."""
_STATUSES: Final[Mapping[str, int]] = {"from_not_allowed": 403, "idempotency_mismatch": 409}


def _status(code: str, status: int) -> int:
    return _STATUSES.get(code, status)


def _said(refusal: DoorRefusal) -> str:
    name = "missing_api_key" if refusal.keyless else _NAMES.get(refusal.code, "validation_error")
    status = _status(refusal.code, refusal.status)
    return ResendFault(statusCode=status, name=name, message=refusal.sentence).model_dump_json()


def _one(results: Sequence[DoorTaken | DoorRefusal]) -> DoorAnswer:
    (taken,) = (x for x in results if isinstance(x, DoorTaken))
    return DoorAnswer(200, json.dumps({"id": taken.job}))


def _each(results: Sequence[DoorTaken | DoorRefusal]) -> DoorAnswer:
    body: dict[str, Any] = {"data": [{"id": x.job} for x in results if isinstance(x, DoorTaken)]}
    errors = [{"index": n, "message": x.sentence} for n, x in enumerate(results) if isinstance(x, DoorRefusal)]
    return DoorAnswer(200, json.dumps(body | ({"errors": errors} if errors else {})))


def _strict(headers: Mapping[str, str]) -> bool:
    return headers.get(MODE, "strict").strip().lower() != "permissive"


_DOOR: Final = partial(
    Door,
    read=read,
    voice=Voice(ResendFault, _status, _said),
    brief=True,
)
DOORS: Final = (
    _DOOR(
        path="/emails",
        name="sendEmailAsResend",
        summary="Send as by Resend's API",
        body=ResendMail,
        answer=_one,
    ),
    _DOOR(
        path="/emails/batch",
        name="sendBatchAsResend",
        summary="Send up to 100 messages as by Resend's API",
        body=ResendBatch,
        answer=_each,
        several=Several(MOST, ResendMail, together=_strict),
    ),
)
