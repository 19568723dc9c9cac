"""A finished message by Mailgun: `messages.mime`, to the envelope's recipient, with any header.

Source (documentation.mailgun.com/docs/mailgun): api-reference/send/mailgun/messages. Mailgun uses a return path of its
own, and adds the header `X-Mailgun-Variables` with our ref to what it delivers.
"""

import secrets
from typing import Final

from shared.domain.content.streams import Framed, Stream
from shared.domain.jobs.outcomes import Rejected
from shared.domain.mails.outgoing import outgoing
from shared.frozen import dataclass
from shared.ports import Target
from shared.providers._common import REF_ARG
from shared.providers._finished import HEADER_NOT_ALLOWED, instructs
from shared.providers.mailgun.multipart import parts

_FILE: Final = 'Content-Disposition: form-data; name="message"; filename="message.eml"\r\nContent-Type: message/rfc822'


@dataclass(frozen=True, slots=True)
class MimeCall:
    """A request's body and its content type."""

    kind: str
    body: Framed


def mime(message: Stream, target: Target) -> MimeCall | Rejected:
    """Return the request for a finished message, or why it cannot be sent."""
    leaving = outgoing(message)
    if instructs(leaving):
        return HEADER_NOT_ALLOWED
    boundary = f"posthaste-{secrets.token_hex(16)}"
    fields = parts([("to", target.recipient.address), (f"v:{REF_ARG}", target.ref)], boundary)
    before = fields + f"--{boundary}\r\n{_FILE}\r\n\r\n".encode()
    return MimeCall(
        f"multipart/form-data; boundary={boundary}", Framed(before, leaving, f"\r\n--{boundary}--\r\n".encode())
    )
