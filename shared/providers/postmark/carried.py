"""The fields of Postmark's `POST /email` that the door takes, and those that it refuses. A page shows them."""

from collections.abc import Mapping
from typing import Final

CARRIED: Final[Mapping[str, str]] = {
    "From": "The sender, with a name or without. It has to be on your account's list of senders.",
    "To, Cc, Bcc": "Addresses separated by commas, each once in a message. All in `To` and `Cc` see each other.",
    "Subject": "The subject. A message needs one.",
    "HtmlBody, TextBody": "One of them, or both.",
    "ReplyTo": "One address.",
    "Headers": "Names that begin with `X-`, and `List-Unsubscribe` with `List-Unsubscribe-Post`.",
    "Attachments": "At most 20. A `ContentID`, with or without `cid:`, makes a file inline.",
    "Tag": "It names the batch, and events of hooks repeat it as one of `tags`.",
    "Metadata": "Events of hooks repeat it as `metadata`. At most 10,000 bytes.",
    "MessageStream": "`outbound`, or left out.",
    "TrackOpens, TrackLinks": "`false` and `None`, or left out.",
}
"""Field → how it is carried."""
REFUSED: Final[Mapping[str, str]] = {
    "TrackOpens": "Opens are not tracked.",
    "TrackLinks": "Links are not tracked.",
    "MessageStream": "There are no message streams but `outbound`. Use a campaign for broadcasts.",
}
"""Field → why a message with it is refused, and what to do instead."""
ENDINGS: Final[Mapping[int, str]] = {
    200: "`POST /email`: the message is a job, whose ID is `MessageID`. `POST /email/batch`: one result for each "
    "message. `ErrorCode` 0 means that it is taken; 100 means that it is not, and may be sent again.",
    401: "`ErrorCode` 10: the key is missing or wrong.",
    403: "`ErrorCode` 10: the key lacks the scope `send`, or is used from elsewhere. 413: the account is suspended.",
    413: "The body is larger than 5 MB.",
    415: "`ErrorCode` 409: the body is not JSON in UTF-8.",
    422: "Nothing is stored. `ErrorCode` 300: a field is not valid. 400: the sender is not on the list. 402: no JSON. "
    "406: no recipient is left. 410: more than 500 messages.",
    429: "`ErrorCode` 429: too many requests, or a limit of the day. `Retry-After` has the seconds to wait.",
    500: "`ErrorCode` 100: a fault of ours. Nothing is known of the message; look at `GET /batches`.",
    503: "`ErrorCode` 100: nothing is stored. Send the request again.",
}
"""Status → what it means."""
