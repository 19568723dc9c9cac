"""The fields of SendGrid's `POST /v3/mail/send` that the door takes, and those that it refuses. A page shows them."""

from collections.abc import Mapping
from typing import Final

CARRIED: Final[Mapping[str, str]] = {
    "from": "The sender, `email` and `name`. It has to be on your account's list of senders.",
    "personalizations": "1 to 1,000 messages, one job. All who are in `to` and `cc` of one see each other.",
    "personalizations.to, .cc, .bcc": "At most 1,000 addresses in a request, each once.",
    "personalizations.subject": "Instead of `subject`.",
    "personalizations.headers": "Instead of those of `headers` with the same name, or more.",
    "personalizations.substitutions": "Put in the place of their tags in subject, text and HTML, as they are. "
    "A request has at most 200 different tags, in at most 1,000 places.",
    "personalizations.dynamic_template_data": "Texts, numbers and booleans for the placeholders of `template_id`.",
    "personalizations.custom_args": "They are the `metadata` of its messages in logs, exports and hooks, "
    "with those of the request.",
    "personalizations.send_at": "The same for all messages of a request.",
    "subject": "The subject of messages that have none of their own.",
    "content": "One part `text/plain`, one part `text/html`, or both.",
    "attachments": "At most 20. `inline` needs a `content_id`.",
    "template_id": "`d-` and the ID of a template that is stored here. `subject` is not used then.",
    "headers": "Names that begin with `X-`, and `List-Unsubscribe` with `List-Unsubscribe-Post`.",
    "categories": "At most 10. They name the batch and are its `tags`, which logs, exports and hooks repeat.",
    "custom_args": "They are the `metadata` of the batch and its messages in logs, exports and hooks. Above 4 KB the "
    "batch does not show them.",
    "send_at": "Unix seconds, within a year. A time that is over means now.",
    "reply_to": "The address of answers. A `reply_to_list` may have one address. It may have no tag of a substitution.",
    "mail_settings.sandbox_mode": "The messages are a test: they go through the built-in provider. The answer is 200.",
    "mail_settings, tracking_settings": "Every other setting may be there with `enable: false`.",
}
"""Field → how it is carried."""
REFUSED: Final[Mapping[str, str]] = {
    "personalizations.from": "All messages of a request have the same sender. Send one request for each sender.",
    "sections": "Put the texts into the substitutions.",
    "asm": "There are no unsubscribe groups. Send your own List-Unsubscribe header, or use a campaign.",
    "batch_id": "GET /schedules lists scheduled sends, and DELETE /schedules/{id} cancels one.",
    "ip_pool_name": "There are no IP pools. The deployment's route decides.",
    "mail_settings.bypass_list_management": "Suppressions always count.",
    "mail_settings.bypass_spam_management": "Suppressions always count.",
    "mail_settings.bypass_bounce_management": "Suppressions always count.",
    "mail_settings.bypass_unsubscribe_management": "Suppressions always count.",
    "mail_settings.footer": "Put the footer into the content.",
    "mail_settings.bcc": "Name the address in `bcc` of a personalization.",
    "mail_settings.spam_check": "There is no spam check.",
    "tracking_settings.click_tracking": "Clicks are not tracked.",
    "tracking_settings.open_tracking": "Opens are not tracked.",
    "tracking_settings.subscription_tracking": "Send your own List-Unsubscribe header, or use a campaign.",
    "tracking_settings.ganalytics": "Put the parameters into your links.",
}
"""Field → why a request with it is refused, and what to do instead."""
ENDINGS: Final[Mapping[int, str]] = {
    202: "The messages are one job. `X-Message-Id` is its ID: `GET /batches/{id}` and events of hooks have it.",
    200: "The same with `sandbox_mode`.",
    400: "Nothing is stored. `errors` names each field.",
    401: "The key is missing or wrong.",
    403: "The key lacks the scope `send`, the account is suspended, or the sender is not on its list.",
    413: "The body is larger than 5 MB.",
    415: "The body is not JSON in UTF-8.",
    429: "Too many requests. `Retry-After` has the seconds to wait.",
    500: "A fault of ours. Nothing is known of the messages; look at `GET /batches`.",
    503: "Nothing is stored. Send the request again.",
}
"""Status → what it means."""
