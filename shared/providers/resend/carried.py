"""The fields of Resend's `POST /emails` that the door takes, and those that it refuses. A page shows them."""

from collections.abc import Mapping
from typing import Final

CARRIED: Final[Mapping[str, str]] = {
    "from": "The sender, with a name or without. It has to be on your account's list of senders.",
    "to, cc, bcc": "An address, or a list of them, each once in a message. All in `to` and `cc` see each other.",
    "subject": "The subject. With a `template` it is that of the template.",
    "html, text": "One of them, or both. No text is made of the HTML.",
    "reply_to": "One address.",
    "headers": "Names that begin with `X-`, and `List-Unsubscribe` with `List-Unsubscribe-Post`.",
    "attachments": "At most 20, with `content` in base64 or as numbers. A `content_id` makes a file inline.",
    "tags": "Events of hooks repeat them as `metadata`.",
    "scheduled_at": "A time with its offset (ISO 8601), within a year. A time that is over means now.",
    "template": "`id` of a template that is stored here, and `variables` for its placeholders.",
}
"""Field → how it is carried."""
REFUSED: Final[Mapping[str, str]] = {
    "attachments.path": "Files are not fetched. Send the file as `content`.",
    "scheduled_at": "Write the time in ISO 8601 with its offset, as in 2026-11-20T09:00:00Z. Words are not read.",
    "topic_id": "There are no topics. Send your own List-Unsubscribe header, or use a campaign.",
}
"""Field → why a message with it is refused, and what to do instead."""
ENDINGS: Final[Mapping[int, str]] = {
    200: "Each message is a job, and `id` is its ID. With `x-batch-validation: permissive`, `errors` has the messages "
    "that are not taken.",
    400: "`invalid_idempotency_key`, or `validation_error` for a body that is not JSON.",
    401: "`missing_api_key`, or `validation_error` for a key that is wrong.",
    403: "`restricted_api_key`: the key lacks the scope `send`. `suspended_api_key`: the account is suspended. "
    "`validation_error`: the sender is not on the list.",
    409: "`invalid_idempotent_request`: another request used the key.",
    413: "The body is larger than 5 MB.",
    415: "The body is not JSON in UTF-8.",
    422: "`validation_error`: nothing is stored. `message` names each field.",
    429: "`rate_limit_exceeded`, or `daily_quota_exceeded` for a limit of the day. `Retry-After` has the seconds.",
    500: "`application_error`: a fault of ours. Nothing is known of the message; look at `GET /batches`.",
    503: "`application_error`: send the request again, with the same `Idempotency-Key`.",
}
"""Status → what it means."""
