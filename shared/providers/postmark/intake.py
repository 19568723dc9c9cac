"""The doors for clients of Postmark: `POST /email` and `POST /email/batch`, answered as Postmark does.

Sources (postmarkapp.com): developer/api/email-api (fields, limits, answers), …/api/overview (statuses, error codes),
developer/user-guide/send-email-with-api/batch-emails (a batch is answered 200, with a result for each message),
support/article/troubleshooting-422-unprocessable-entity-errors. Requests of real clients: postmarker 1.0 and
postmark.js 5.1.0.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, RootModel

from shared.domain.content.content import Attachment
from shared.domain.content.posting import PostedBox, PostedMessage, Posting
from shared.domain.ids import made_at
from shared.providers._asked import (
    Args,
    Base64,
    Body,
    FileName,
    Given,
    Line,
    MediaType,
    OwnLine,
    Plain,
    absent,
    boxes,
    check_args,
    only_box,
    recipients,
    refused,
)
from shared.providers.doors import Door, DoorAnswer, DoorRefusal, DoorTaken, Several, Voice
from shared.providers.postmark.carried import REFUSED

MOST: Final = 500
"""Messages of a batch."""
STREAM: Final = "outbound"
CID: Final = "cid:"
_FIELDS: Final[Mapping[str, str]] = {"subject": "Subject", "body": "TextBody", "headers": "Headers"}
_People = Annotated[str, Field(max_length=100_000)]
_Copies = Annotated[_People, absent("")]


class PostmarkHeader(Given):
    """A header."""

    Name: str = Field(min_length=1, max_length=200)
    Value: str


class PostmarkFile(Given):
    """A file."""

    Name: FileName
    Content: Base64
    ContentType: MediaType
    ContentID: Annotated[str, Field(max_length=131, pattern=r"^[A-Za-z0-9_.@:-]*$")] | None = None


class PostmarkMail(Given):
    """A message, as of `POST /email`."""

    From: Line
    To: _People
    Cc: _Copies = ""
    Bcc: _Copies = ""
    Subject: OwnLine = ""
    Tag: OwnLine = ""
    HtmlBody: Body = ""
    TextBody: Body = ""
    ReplyTo: _Copies = ""
    Headers: Annotated[list[PostmarkHeader], Field(max_length=50), absent([])] = Field(default_factory=list)
    TrackOpens: bool | None = None
    TrackLinks: str | None = None
    Attachments: Annotated[list[PostmarkFile], Field(max_length=20), absent([])] = Field(default_factory=list)
    Metadata: Annotated[Args, absent({})] = Field(default_factory=dict)
    MessageStream: Plain | None = None


class PostmarkBatch(RootModel[list[Any]]):
    """Messages, each a `PostmarkMail`: one that is not valid keeps no other back."""

    model_config = ConfigDict(defer_build=True)


class PostmarkFault(BaseModel):
    """Postmark's form of errors."""

    ErrorCode: int
    Message: str


def read(mail: PostmarkMail) -> Posting:
    """Return what a message asks for. Raises Uncarried."""
    links = mail.TrackLinks if mail.TrackLinks != "None" else ""
    stream = mail.MessageStream if mail.MessageStream != STREAM else ""
    refused((("TrackOpens", mail.TrackOpens), ("TrackLinks", links), ("MessageStream", stream)), REFUSED)
    check_args(mail.Metadata, "Metadata")
    message = PostedMessage(
        place="",
        to=recipients(mail.To, "To"),
        cc=boxes(mail.Cc, "Cc"),
        bcc=boxes(mail.Bcc, "Bcc"),
        metadata=mail.Metadata,
    )
    return Posting(
        sender=PostedBox(mail.From, "", "From"),
        messages=(message,),
        subject=mail.Subject,
        html=mail.HtmlBody,
        text=mail.TextBody,
        reply_to=only_box(mail.ReplyTo, "ReplyTo"),
        headers=tuple((x.Name, x.Value) for x in mail.Headers),
        attachments=tuple(_file(x) for x in mail.Attachments),
        labels=tuple(filter(None, (mail.Tag,))),
        fields=_FIELDS,
    )


def _file(given: PostmarkFile) -> Attachment:
    return Attachment(given.Name, given.ContentType, given.Content, (given.ContentID or "").removeprefix(CID))


# Answering

_CODES: Final[Mapping[str, int]] = {
    "from_not_allowed": 400,
    "malformed_json": 402,
    "invalid_utf8": 402,
    "no_valid_recipient": 406,
    "unsupported_media_type": 409,
    "too_many_recipients": 410,
    "account_suspended": 413,
}
"""Our code → Postmark's; `_error_code` has the others."""
_OF_KEYS: Final = (401, 403)
_BUSY: Final = 429
_FAULTS: Final = 500
_TOO_LARGE: Final = 413


def _error_code(code: str, status: int) -> int:
    """Return Postmark's ErrorCode: never 0, which means that a message was taken."""
    if code in _CODES:
        return _CODES[code]
    if status in _OF_KEYS:
        return 10
    return _BUSY if status == _BUSY else 100 if status >= _FAULTS else 300


def _status(code: str, status: int) -> int:
    if code in ("malformed_json", "invalid_utf8", "malformed_request", "bad_idempotency_key"):
        return 422
    return 422 if status == 409 else status  # noqa: PLR2004 - Postmark has no 409


def _fault(refusal: DoorRefusal) -> dict[str, Any]:
    said = refusal.sentence
    if refusal.code == "unauthorized":
        said = "Send a valid API key of this deployment as X-Postmark-Server-Token."
    return {"ErrorCode": _error_code(refusal.code, refusal.status), "Message": said}


def _result(found: DoorTaken | DoorRefusal) -> dict[str, Any]:
    if isinstance(found, DoorRefusal):
        return _fault(found)
    (message,) = found.posting.messages
    people = {"To": message.to, "Cc": message.cc, "Bcc": message.bcc}
    at = datetime.fromtimestamp(made_at(found.job) / 1000, UTC).isoformat(timespec="milliseconds")
    return {
        **{name: ", ".join(b.address for b in some) for name, some in people.items() if some},
        "SubmittedAt": at.replace("+00:00", "Z"),
        "MessageID": found.job,
        "ErrorCode": 0,
        "Message": "OK",
    }


def _one(results: Sequence[DoorTaken | DoorRefusal]) -> DoorAnswer:
    (found,) = results
    return DoorAnswer(200, json.dumps(_result(found)))


def _each(results: Sequence[DoorTaken | DoorRefusal]) -> DoorAnswer:
    return DoorAnswer(200, json.dumps([_result(x) for x in results]))


def _said(refusal: DoorRefusal) -> str:
    return json.dumps(_fault(refusal))


_DOOR: Final = partial(
    Door,
    read=read,
    voice=Voice(PostmarkFault, _status, _said),
    key_header="x-postmark-server-token",
    brief=True,
)
DOORS: Final = (
    _DOOR(
        path="/email",
        name="sendEmailAsPostmark",
        summary="Send as by Postmark's API",
        body=PostmarkMail,
        answer=_one,
    ),
    _DOOR(
        path="/email/batch",
        name="sendBatchAsPostmark",
        summary="Send up to 500 messages as by Postmark's API",
        body=PostmarkBatch,
        answer=_each,
        several=Several(MOST, PostmarkMail, together=lambda _: False),
    ),
)
