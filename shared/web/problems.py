"""Errors as clients see them: RFC 9457 problem details with a stable code.

`type` links to the code's row on the API's page of errors. `title` is the HTTP status' own phrase. Programs read
`code`, people read `detail`. A fault of this service has status 500, with the request's id and nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from datetime import datetime
from http import HTTPStatus
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from shared.contracts.faults import fault
from shared.domain.ids import named
from shared.frozen import dataclass
from shared.web.known_fields import did_you_mean

# change: the text of an API error
CODES: Final[Mapping[str, tuple[int, str]]] = {
    "malformed_json": (400, "The body is not JSON."),
    "invalid_payload": (400, "Send an array: at most 10,000 records."),
    "malformed_request": (400, "The path or query is not valid UTF-8, or the body is not valid base64."),
    "invalid_utf8": (400, "The body is not valid UTF-8. Send it as UTF-8, with its Content-Length."),
    "bad_cursor": (400, "The cursor is not from this list. Use `next_cursor` of the page before."),
    "bad_range": (400, "The range is impossible. Give a beginning and a later end, as the operation describes."),
    "bad_idempotency_key": (400, "An Idempotency-Key has 1 to 255 printable ASCII characters."),
    "unauthorized": (401, "Send a valid API key: Authorization: Bearer ph_live_…, ph_team_… or ph_test_…."),
    "key_expired": (401, "The API key has expired. Ask an operator for a new one, or for a later end."),
    "key_revoked": (401, "The API key has been revoked. Ask an operator for a new one."),
    "token_expired": (401, "The access token has expired. Get another one: POST /oauth/token."),
    "proof_needed": (401, "The API key asks for more than its text. Get an access token: POST /oauth/token."),
    "signature_invalid": (401, "The signature of the request does not hold (RFC 9421)."),
    "unsupported_grant_type": (400, "Send grant_type=client_credentials: there is no other grant."),
    "invalid_scope": (400, "The API key does not have each of these scopes, or there is no such scope."),
    "address_closed": (403, "This address of the service is closed. Use the public one."),
    "network_not_allowed": (403, "The API key may not be used from this address. An operator sets its networks."),
    "missing_scope": (403, "The API key does not have the scope that this call needs."),
    "live_key_needed": (
        403,
        "Use a live key. This belongs to the account, and other keys do not change it.",
    ),
    "account_suspended": (403, "The account is suspended. It may read, stop and delete, and sends nothing."),
    "channel_not_open": (403, "The account may not send by this channel until an operator opens it."),
    "not_found": (404, "Nothing with this ID exists in this account. Check the path and the ID."),
    "credential_not_found": (404, "The credential does not exist, or this account may not use it."),
    "method_not_allowed": (405, "This path does not support the method."),
    "not_for_notices": (
        409,
        "The job is a run of notices. Notices end by themselves. Their notifier updates or cancels them.",
    ),
    "job_in_progress": (409, "The job is still being sent. Retry or resume it when it has ended, or stop it first."),
    "sender_removed": (
        409,
        "The account may no longer send from the job's address. Prove its domain again, or ask an operator.",
    ),
    "stopping": (409, "The job is being stopped. Repeat the call after Retry-After."),
    "already_started": (409, "The job no longer waits for its scheduled time. You can stop it."),
    "schedule_changed": (409, "Somebody else has given the job another time meanwhile. Look at it again."),
    "time_approved": (
        409,
        "The list was approved with its time. To send at another one, stop the job, upload the list again and ask.",
    ),
    "upload_in_progress": (409, "A list of the campaign is being read. Wait until it is read."),
    "upload_missing": (409, "The file is missing. Upload it to the URL of the upload, then complete the upload."),
    "etag_mismatch": (409, "The uploaded file changed. Upload it again."),
    "in_flight": (409, "The destination no longer waits. It is being sent, or has ended."),
    "file_deleted": (409, "The list's file is no longer kept. Upload the list again."),
    "already_sent": (409, "The list has been sent already."),
    "too_many_lists": (409, "A campaign sends at most 100 lists."),
    "closed": (409, "The window is not open. You can cancel an open one, and close one that is not cancelled."),
    "notifier_exists": (409, "The name is taken. A deleted notifier's name is not given again."),
    "too_many_notifiers": (409, "An account has at most 1,000 notifiers. Delete one first."),
    "notices_waiting": (409, "Notices of the notifier still wait. Cancel them, or wait until they end."),
    "too_many_hooks": (409, "An account has at most 20 endpoints. Delete one first."),
    "hook_disabled": (409, "The endpoint is disabled. Enable it first."),
    "hook_listens": (409, "The endpoint's events are fetched. Retry a single delivery instead."),
    "replay_running": (409, "A replay of this endpoint is still under way. Wait until it ends."),
    "not_proven": (409, "DNS does not show the record that proves the domain."),
    "too_many_domains": (409, "An account claims at most 50 domains. Give one up first."),
    "granted_sender": (409, "An operator has granted this sender. Ask an operator to remove it."),
    "too_many_guests": (409, "An account has at most 100 guests. Remove one first."),
    "images_off": (409, "The deployment hosts no pictures until an operator sets `images`."),
    "images_full": (409, "The account has no room for the picture. Delete another one first."),
    "program_exists": (409, "A program has this name already. Replace it with PUT, or choose another name."),
    "too_many_programs": (409, "An account has at most 100 programs."),
    "too_many_versions": (409, "A template has at most 1,000 versions."),
    "campaign_has_list": (
        409,
        "You cannot change the credential or `unsubscribe` after uploading a list. Create a new campaign.",
    ),
    "campaign_sent": (409, "The campaign has sent a list. You can delete drafts only."),
    "no_list": (409, "The campaign has no list to send. Upload one and wait until it is read."),
    "not_waiting": (409, "Nothing waits for approval. It was sent, refused or changed."),
    "approval_changed": (409, "You were shown something else than what waits. Look at it again."),
    "approval_lapsed": (409, "The time to send came before the approval. Send the list again, with another time."),
    "asker_gone": (409, "The key that asked was revoked. Refuse the request, and have the list sent again."),
    "own_request": (
        409,
        "You asked for this, or your key or membership is too new. Another key or person must approve it.",
    ),
    "nothing_sent": (409, "The campaign has not sent a list yet."),
    "bounce_guard": (409, "Too much of what the campaign sent bounced. Clean the lists, or override the bounce guard."),
    "missing_columns": (409, "The list lacks columns that the template uses."),
    "list_expired": (409, "The list was uploaded more than 30 days ago. Upload it again."),
    "expired": (409, "The job is too old. Too little of its retention is left for feedback to arrive."),
    "export_given_up": (
        409,
        "Twelve invocations made no progress. This is a fault of Posthaste. Ask for the export again in an hour.",
    ),
    "too_large": (413, "The body is larger than 5 MB."),
    "unsupported_media_type": (415, "Send the body as application/json."),
    "account_moved": (421, "The account is in another cell. Send the request to that cell, or to the router."),
    "validation_failed": (422, "The request is well formed, but some of its fields are not valid."),
    "from_not_allowed": (
        422,
        "The account may not send from this address. Prove its domain, or ask an operator.",
    ),
    "no_valid_recipient": (
        422,
        "No recipient is left. All are invalid, suppressed, unsubscribed or no guests.",
    ),
    "too_many_recipients": (422, "A call takes at most 5,000 recipients."),
    "cc_needs_one_recipient": (422, "cc and bcc are possible only with exactly one recipient."),
    "too_many_in_message": (
        422,
        "The message goes to more people, with its copies, than any credential of the route takes.",
    ),
    "url_not_allowed": (422, "Nothing can be posted to this URL."),
    "invalid_mail": (422, "The mail cannot be sent as it is. See `errors`."),
    "invalid_template": (422, "The template is not valid. `errors` shows where."),
    "empty_file": (422, "The list is empty."),
    "from_missing": (422, "An e-mail needs a sender: set `from` of the campaign's template."),
    "rate_too_high": (422, "The rate is higher than the credential's. Lower it."),
    "country_not_allowed": (422, "The account may not send to numbers of a country. See `errors`."),
    "takes_too_long": (
        422,
        "At this rate, sending takes longer than the list is kept (see `errors`). Raise the rate or split the list.",
    ),
    "no_route": (422, "No credential for this channel is open to the account."),
    "no_policy": (422, "No digest policy has a prefix of this batch key. Create one: PUT /digest-policies/{prefix}."),
    "event_id_taken": (
        422,
        "Another event has this id. Use a new id for a new event, and repeat an event unchanged.",
    ),
    "idempotency_mismatch": (422, "Another request used this Idempotency-Key. Use a new key for a new request."),
    "too_many_uploads": (
        429,
        "The account has 10 uploads without a file. Complete one, or wait: each ends after an hour.",
    ),
    "quota_exceeded": (429, "The account or its API key has used up a limit of the day. Wait until `resets_at`."),
    "too_many_schedules": (
        429,
        "100,000 jobs of the account wait for their time, and it may have no more. Send this one later.",
    ),
    "rate_limited": (429, "Too many requests. Wait for the time in Retry-After."),
    "too_many_tests": (429, "Too many tests. You can send 20 at once, then one a minute."),
    "internal_error": (500, "An unexpected error occurred. If this continues, report the `request_id`."),
    "dns_unanswered": (503, "DNS did not answer. Repeat the call."),
    "try_again": (503, "The call could not be completed. Repeat it with the same Idempotency-Key."),
    "account_moving": (503, "The account is on its way to another cell. Repeat the call after Retry-After."),
    "cell_unavailable": (503, "The account's cell does not answer. Nothing was done. Repeat the call."),
    "cell_answer_lost": (504, "The cell gave no whole answer. Repeat the call with the same Idempotency-Key."),
}
"""Code → (status, detail where the place of the error knows nothing better)."""
MOVED: Final = "account_moved"
AWAY: Final[Mapping[str, str]] = {"X-Posthaste-Account": "moved"}
"""A header of the answer to a request that came to a cell whose account has left, in every form of problems. Nothing
was done (421, RFC 9110 15.5.20)."""
AFTER: Final[Mapping[str, int]] = {"too_many_uploads": 30}
"""Code → Retry-After, seconds, where the place of the error knows nothing better."""
FIELDS: Final[Mapping[str, str]] = {
    "validation_failed": "",
    "from_not_allowed": "from",
    "no_valid_recipient": "to",
    "too_many_recipients": "to",
    "cc_needs_one_recipient": "to",
    "too_many_in_message": "to",
    "url_not_allowed": "url",
    "invalid_mail": "content",
    "invalid_template": "template",
    "empty_file": "",
    "from_missing": "template.from",
    "rate_too_high": "rate",
    "takes_too_long": "rate",
    "no_route": "route",
    "country_not_allowed": "to",
    "no_policy": "batch_key",
    "event_id_taken": "event_id",
    "idempotency_mismatch": "Idempotency-Key",
}
"""Each code of a 422 → the field that it is about where the place of the error names none: every 422 has `errors`."""


ERRORS_PATH: Final = "/errors"
"""Where the API shows the page of all codes."""


class FieldError(BaseModel):
    """A problem with one field of the request."""

    field: str = Field(description="Path of the field, e.g. `attachments.0.data`; empty for the whole body.")
    message: str = Field(description="A sentence for people.")
    code: str | None = Field(
        None,
        description="Of a template, mail or recipient: what is wrong, stable. Its row: `/errors#template_unclosed`.",
    )
    offset: int | None = Field(None, description="Of a template: characters before the place, from 0.")
    line: int | None = Field(None, description="Of a template or a mail: from 1.")
    column: int | None = Field(None, description="Of a template: characters into the line, from 1.")


class ProblemDetails(BaseModel):
    """RFC 9457 problem details."""

    model_config = ConfigDict(title="Problem", defer_build=True)

    type: str = Field(description="The code's row on this API's page of errors: `/errors#not_found`.")
    title: str = Field(description="The phrase of the HTTP status.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="The problem, for people.")
    code: str = Field(description="The problem's stable code, for programs.")
    errors: list[FieldError] | None = Field(None, description="The invalid fields. Every 422 has it.")
    request_id: str | None = Field(None, description="With a 500: what to name when asking.")
    quota: str | None = Field(
        None,
        description="With `quota_exceeded`: the limit: a channel, `messages` of all channels, or `price`. With "
        "`too_many_schedules`: `schedules`.",
    )
    limit: float | int | None = Field(None, description="With `quota`: the most of a day, or at once.")
    used: float | int | None = Field(None, description="With `quota`: how much is used.")
    resets_at: datetime | None = Field(None, description="With `quota_exceeded`: when the next day begins.")


@dataclass(frozen=True, slots=True)
class QuotaFacts:
    """The limit that a request would exceed, as a problem shows it. `resets_at`: None if it is of no day."""

    quota: str
    limit: float | int
    used: float | int
    resets_at: datetime | None


@dataclass(eq=False)
class Problem(Exception):
    """A client's error, or ours, as it is answered. `headers` go with the answer; `facts`: with a limit."""

    code: str
    detail: str = ""
    errors: Sequence[tuple[str, str] | FieldError] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    facts: QuotaFacts | None = None

    def __post_init__(self) -> None:
        if self.code in AFTER:
            self.headers = {"Retry-After": str(AFTER[self.code]), **self.headers}

    @property
    def status(self) -> int:
        """The HTTP status of the code."""
        return CODES[self.code][0]

    @property
    def sentence(self) -> str:
        """What is wrong, for people."""
        return self.detail or CODES[self.code][1]

    @property
    def field_errors(self) -> list[FieldError]:
        """The faults of each field; empty if the problem is about no field."""
        return [_field_error(e) for e in self.errors or self._default_errors()]

    def body(self, request_id: str = "") -> str:
        """Return the JSON body; the request id is shown only for faults of ours."""
        details = ProblemDetails(
            type=type_of(self.code),
            title=HTTPStatus(self.status).phrase,
            status=self.status,
            detail=self.sentence,
            code=self.code,
            errors=self.field_errors or None,
            request_id=request_id if self.code == "internal_error" else None,
            **(asdict(self.facts) if self.facts is not None else {}),
        )
        return details.model_dump_json(exclude_none=True)

    def _default_errors(self) -> Sequence[tuple[str, str]]:
        return [(FIELDS[self.code], self.sentence)] if self.code in FIELDS else ()


def type_of(code: str) -> str:
    """Return the `type` of a problem: a reference from any address of the API to the code's row."""
    return f"{ERRORS_PATH}#{code}"


def missing(what: str, name: str) -> Problem:
    """Return the problem of something that is not there, or is another account's.

    Args:
        what: its kind, as in `campaign`.
        name: the id that the client gave.
    """
    shown = named(what, name)
    return Problem("not_found", f"No {shown} in this account. Check the ID, and whether the API key is of its account.")


def _field_error(error: tuple[str, str] | FieldError) -> FieldError:
    return error if isinstance(error, FieldError) else FieldError(field=error[0], message=error[1])


def invalid(field_: str, message: str) -> Problem:
    """Return the problem of one field."""
    return Problem("validation_failed", errors=[(field_, message)])


def of_validation(error: ValidationError, model: type[BaseModel]) -> Problem:
    """Return the problem that pydantic found in a request; input values are never repeated."""
    found = error.errors(include_url=False, include_input=False)
    if any(e["type"] == "json_invalid" for e in found):
        return Problem("malformed_json")
    return Problem("validation_failed", errors=[(_path(e["loc"]), _message(e, model)) for e in found[:20]])


def _path(location: tuple[int | str, ...]) -> str:
    # The branch of a union is internal: `to.<list>.0` is shown as `to.0`.
    return ".".join(str(part) for part in location if not str(part).startswith("<"))


def _message(error: ErrorDetails, model: type[BaseModel]) -> str:
    if error["type"] == "extra_forbidden":
        return f"This field is unknown here.{did_you_mean(model, error['loc'])}"
    found = fault(error)
    if found:
        return f"This field {found}."
    message = error["msg"].removeprefix("Value error, ")
    return message if message.endswith(".") else message + "."
