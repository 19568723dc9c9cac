"""The door for clients of SendGrid: reads `POST /v3/mail/send`, and answers as SendGrid does.

Sources:

- github.com/twilio/sendgrid-oai (tsg_mail_v3.json, commit dbe0e0d);
- twilio.com/docs/sendgrid/api-reference/mail-send (limits, errors);
- …/for-developers/sending-email/sandbox-mode and /substitution-tags;
- sendgrid-python 6.12.5 and @sendgrid/mail 8.1.6 for the requests of real clients.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from shared.domain.content.content import Attachment
from shared.domain.content.posting import PostedBox, PostedMessage, Posting
from shared.providers._asked import (
    LINE,
    MAX_LINE,
    TEXT,
    Args,
    Base64,
    ContentId,
    FileName,
    Given,
    MediaType,
    Plain,
    Subject,
    check_args,
    size_of,
    uncarried,
)
from shared.providers.doors import Door, DoorAnswer, DoorFault, DoorRefusal, DoorTaken, Uncarried, Voice
from shared.providers.sendgrid.carried import REFUSED
from shared.providers.sendgrid.lists import lists_of

MAX_RECIPIENTS: Final = 1000
"""Addresses of a request, among all of to, cc and bcc."""
MAX_SUBSTITUTIONS: Final = 50_000
"""Bytes of the substitutions of a message."""
DYNAMIC: Final = "d-"
"""The beginning of the ids of templates with placeholders: @sendgrid/mail drops their values for any other id."""
_FIELDS: Final[Mapping[str, str]] = {
    **{name: name for name in ("subject", "headers", "send_at")},
    "body": "content",
    "template": "template_id",
}
_KINDS: Final = ("text/plain", "text/html")


Headers = Annotated[dict[str, str], Field(max_length=50)]


class EmailBox(Given):
    """An address, with a name if there is one."""

    email: str = Field(min_length=1, max_length=MAX_LINE)
    name: str | None = Field(None, max_length=MAX_LINE)


class Personalization(Given):
    """One message: all who get it see `to` and `cc`."""

    to: list[EmailBox] = Field(min_length=1, max_length=MAX_RECIPIENTS)
    cc: list[EmailBox] | None = Field(None, max_length=MAX_RECIPIENTS)
    bcc: list[EmailBox] | None = Field(None, max_length=MAX_RECIPIENTS)
    from_: Any = Field(None, alias="from", description=f"Refused. {REFUSED['personalizations.from']}")
    subject: Subject | None = None
    headers: Headers | None = None
    substitutions: dict[Annotated[str, Field(min_length=1)], Plain] | None = Field(
        None, max_length=10_000, description="Tag → text that replaces it."
    )
    dynamic_template_data: dict[str, Any] | None = Field(
        None, description="For the placeholders of `template_id`: texts, numbers, booleans."
    )
    custom_args: Args | None = None
    send_at: int | None = Field(None, ge=0, description="Unix seconds; the same for all messages.")


class MailPart(Given):
    """A body."""

    type: str = Field(min_length=1, max_length=127, description="`text/plain` or `text/html`.")
    value: Annotated[str, Field(min_length=1, max_length=2_000_000, pattern=TEXT)]


class MailFile(Given):
    """A file."""

    content: Base64
    type: MediaType | None = Field(None, description="Its media type.")
    filename: FileName
    disposition: Literal["inline", "attachment"] | None = None
    content_id: ContentId | None = None


class MailSetting(BaseModel):
    """A setting; what else it has is read only where it is enabled, and there it is refused."""

    model_config = ConfigDict(extra="ignore", strict=True, hide_input_in_errors=True, defer_build=True)

    enable: bool | None = None


class MailSettings(Given):
    """Settings of the request. Only `sandbox_mode` may be enabled."""

    sandbox_mode: MailSetting | None = Field(None, description="The messages are a test.")
    bypass_list_management: MailSetting | None = None
    bypass_spam_management: MailSetting | None = None
    bypass_bounce_management: MailSetting | None = None
    bypass_unsubscribe_management: MailSetting | None = None
    footer: MailSetting | None = None
    bcc: MailSetting | None = None
    spam_check: MailSetting | None = None


class TrackingSettings(Given):
    """Nothing is tracked, so none of them may be enabled."""

    click_tracking: MailSetting | None = None
    open_tracking: MailSetting | None = None
    subscription_tracking: MailSetting | None = None
    ganalytics: MailSetting | None = None


class SendGridMail(Given):
    """A request of SendGrid's Mail Send API, version 3."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "personalizations": [{"to": [{"email": "ben@example.org", "name": "Ben"}]}],
                    "from": {"email": "news@example.com", "name": "News"},
                    "subject": "Your order",
                    "content": [{"type": "text/plain", "value": "It is on its way."}],
                    "categories": ["orders"],
                }
            ]
        }
    )

    personalizations: list[Personalization] = Field(min_length=1, max_length=MAX_RECIPIENTS)
    from_: EmailBox = Field(alias="from")
    subject: Subject | None = None
    reply_to: EmailBox | None = None
    reply_to_list: list[EmailBox] | None = Field(None, max_length=1)
    content: list[MailPart] | None = Field(None, max_length=2)
    attachments: list[MailFile] | None = Field(None, max_length=20)
    template_id: str | None = Field(
        None, max_length=100, description="`d-` and the ID of a template that is stored here."
    )
    headers: Headers | None = None
    categories: list[Annotated[str, Field(min_length=1, max_length=255, pattern=LINE)]] | None = Field(
        None, max_length=10
    )
    custom_args: Args | None = None
    send_at: int | None = Field(None, ge=0, description="Unix seconds.")
    sections: Any = Field(None, description=f"Refused. {REFUSED['sections']}")
    asm: Any = Field(None, description=f"Refused. {REFUSED['asm']}")
    batch_id: Any = Field(None, description=f"Refused. {REFUSED['batch_id']}")
    ip_pool_name: Any = Field(None, description=f"Refused. {REFUSED['ip_pool_name']}")
    mail_settings: MailSettings | None = None
    tracking_settings: TrackingSettings | None = None


class SendGridError(BaseModel):
    """A fault of a request."""

    message: str
    field: str | None = Field(description="Its path in the request; null if it is about none.")
    help: str | None = Field(description="Where this API explains it.")


class SendGridErrors(BaseModel):
    """SendGrid's form of errors."""

    errors: list[SendGridError]


# Reading


def read(mail: SendGridMail) -> Posting:
    """Return what a request asks for.

    Raises:
        Uncarried: with all fields that are refused, or with the first other fault.
    """
    refused = [DoorFault(where, REFUSED[name]) for where, name in _refused(mail)]
    if refused:
        raise Uncarried(*refused)
    _check_sizes(mail)
    text, html = _bodies(mail)
    return Posting(
        sender=_box(mail.from_, "from"),
        messages=tuple(_message(mail, one, n) for n, one in enumerate(mail.personalizations)),
        subject=mail.subject or "",
        html=html,
        text=text,
        reply_to=_reply_to(mail),
        headers=_headers(mail.headers),
        attachments=_files(mail),
        template=(mail.template_id or "").removeprefix(DYNAMIC),
        labels=tuple(dict.fromkeys(mail.categories or ())),
        metadata=mail.custom_args or {},
        send_at=_send_at(mail),
        rehearsed=_enabled(mail.mail_settings, "sandbox_mode"),
        fields=_FIELDS,
    )


def _refused(mail: SendGridMail) -> Iterator[tuple[str, str]]:
    """Yield the path and the name of each field that is refused."""
    for name in ("sections", "asm", "batch_id", "ip_pool_name"):
        if getattr(mail, name) not in (None, "", {}, []):
            yield name, name
    for n, one in enumerate(mail.personalizations):
        if one.from_ is not None:
            yield f"personalizations.{n}.from", "personalizations.from"
    for group, name in ((mail.mail_settings, "mail_settings"), (mail.tracking_settings, "tracking_settings")):
        for setting in type(group).model_fields if group is not None else ():
            where = f"{name}.{setting}"
            if where in REFUSED and _enabled(group, setting):
                yield where, where


def _enabled(group: MailSettings | TrackingSettings | None, name: str) -> bool:
    setting: MailSetting | None = getattr(group, name, None)
    return bool(setting and setting.enable)


def _reply_to(mail: SendGridMail) -> PostedBox | None:
    if mail.reply_to and mail.reply_to_list:
        raise uncarried("reply_to_list", "Give either `reply_to` or `reply_to_list`.")
    if mail.reply_to:
        return _box(mail.reply_to, "reply_to")
    return next((_box(given, "reply_to_list.0") for given in mail.reply_to_list or ()), None)


def _check_sizes(mail: SendGridMail) -> None:
    """Refuse also the sizes that SendGrid refuses."""
    found = 0
    for n, one in enumerate(mail.personalizations):
        found += sum(len(boxes or ()) for boxes in (one.to, one.cc, one.bcc))
        check_args({**(mail.custom_args or {}), **(one.custom_args or {})}, f"personalizations.{n}.custom_args")
        if size_of(one.substitutions or {}) > MAX_SUBSTITUTIONS:
            text = f"A message has at most {MAX_SUBSTITUTIONS:,} bytes of them."
            raise uncarried(f"personalizations.{n}.substitutions", text)
    if found > MAX_RECIPIENTS:
        raise uncarried("personalizations", f"A request has at most {MAX_RECIPIENTS:,} addresses in to, cc and bcc.")


def _bodies(mail: SendGridMail) -> tuple[str, str]:
    """Return the text and the HTML of a request; both empty with a template, which has them."""
    bodies: dict[str, str] = {}
    for n, part in enumerate(mail.content or ()):
        if part.type not in _KINDS:
            raise uncarried(f"content.{n}.type", "A body is text/plain or text/html. Attach other files.")
        if part.type in bodies:
            raise uncarried(f"content.{n}.type", "A request has one body of each type.")
        bodies[part.type] = part.value
    if mail.template_id and any(body.strip() for body in bodies.values()):
        raise uncarried("content", "The bodies are those of the template. Leave `content` out.")
    text, html = (bodies.get(kind, "") for kind in _KINDS)
    return ("", "") if mail.template_id else (text, html)


def _box(given: EmailBox, where: str) -> PostedBox:
    return PostedBox(given.email, given.name or "", f"{where}.email")


def _headers(given: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    return tuple((given or {}).items())


def _message(mail: SendGridMail, one: Personalization, n: int) -> PostedMessage:
    place = f"personalizations.{n}"

    def boxes(role: str, given: Sequence[EmailBox] | None) -> tuple[PostedBox, ...]:
        return tuple(_box(box, f"{place}.{role}.{i}") for i, box in enumerate(given or ()))

    if one.dynamic_template_data and not mail.template_id:
        raise uncarried(f"{place}.dynamic_template_data", "It needs a `template_id`. Use substitutions without one.")
    if one.substitutions and mail.template_id:
        raise uncarried(f"{place}.substitutions", "Templates here take `dynamic_template_data`.")
    return PostedMessage(
        place=place,
        to=boxes("to", one.to),
        cc=boxes("cc", one.cc),
        bcc=boxes("bcc", one.bcc),
        subject=one.subject or "",
        headers=_headers(one.headers),
        texts=one.substitutions or {},
        values=_values(one.dynamic_template_data or {}, f"{place}.dynamic_template_data"),
        metadata={**(mail.custom_args or {}), **(one.custom_args or {})},
    )


def _values(given: Mapping[str, Any], where: str) -> dict[str, str]:
    """Return the values of a template's placeholders, whose names have no case."""
    found: dict[str, str] = {}
    for name, value in given.items():
        if not isinstance(value, str | int | float | None):
            raise uncarried(f"{where}.{name}", "A value is a text, a number or a boolean: templates have no loops.")
        if name.strip().lower() in found:
            raise uncarried(f"{where}.{name}", "Two names differ only by spaces or case.")
        found[name.strip().lower()] = _written(value)
    return found


def _written(value: str | float | None) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _files(mail: SendGridMail) -> tuple[Attachment, ...]:
    return tuple(_file(given, n) for n, given in enumerate(mail.attachments or ()))


def _file(given: MailFile, n: int) -> Attachment:
    inline = given.disposition == "inline"
    if inline and not given.content_id:
        raise uncarried(f"attachments.{n}.content_id", "An inline file needs a `content_id`.")
    kind = given.type or "application/octet-stream"
    return Attachment(given.filename, kind, given.content, given.content_id or "" if inline else "")


def _send_at(mail: SendGridMail) -> int:
    """Return when all messages begin, Unix seconds; 0: at once."""
    times = [one.send_at if one.send_at is not None else mail.send_at or 0 for one in mail.personalizations]
    for n, at in enumerate(times):
        if at != times[0]:
            raise uncarried(f"personalizations.{n}.send_at", "All messages of a request are sent at the same time.")
    return times[0]


# Answering


def _answer(results: Sequence[DoorTaken | DoorRefusal]) -> DoorAnswer:
    (taken,) = (x for x in results if isinstance(x, DoorTaken))
    return DoorAnswer(200 if taken.posting.rehearsed else 202, headers={"X-Message-Id": taken.job})


def _status(code: str, status: int) -> int:
    if code == "from_not_allowed":
        return 403
    return 400 if status in (404, 409, 422) and code not in ("not_found", "method_not_allowed") else status


def _said(refusal: DoorRefusal) -> str:
    errors = [SendGridError(message=f.text, field=f.field or None, help=refusal.help) for f in refusal.faults]
    return SendGridErrors(errors=errors).model_dump_json()


VOICE: Final = Voice(SendGridErrors, _status, _said)
DOOR: Final = Door(
    path="/v3/mail/send",
    name="sendMailAsSendGrid",
    summary="Send as by SendGrid's API",
    description="Takes the requests of SendGrid's `POST /v3/mail/send`, so that its SDKs work with the address of this "
    "API and one of its keys. The messages are one job. A request that has anything else is refused with 400 in "
    "SendGrid's form.",
    body=SendGridMail,
    read=read,
    statuses=(202, 200),
    answer=_answer,
    headers={"X-Message-Id": "The ID of the job, for `GET /batches/{id}`. Events of hooks have it as `job_id`."},
    voice=VOICE,
)
DOORS: Final = (DOOR,)
LISTS: Final = lists_of(VOICE)
