"""A finished message by SES: `SendEmail` with `Raw`, to the envelope's recipient, with any header.

Sources (docs.aws.amazon.com/ses/latest): APIReference-V2/API_SendEmail and …/API_RawMessage; dg/quotas (size). SES asks
for 7-bit parts, sets `Message-ID` and `Date` anew, and uses a return path of its own.
"""

import hashlib
import json
from typing import Final

from shared.domain.content.streams import Framed, InBase64, Stream
from shared.domain.jobs.outcomes import Rejected
from shared.domain.mails.outgoing import Outgoing, outgoing
from shared.ports import Target
from shared.providers._common import SMTPUTF8
from shared.providers._finished import HEADER_NOT_ALLOWED, instructs
from shared.providers.ses.request import tags

_RAW: Final = b'{"Content":{"Raw":{"Data":"'


def raw(message: Stream, target: Target, configuration_set: str, credential: str) -> Framed | Rejected:
    """Return the request for a finished message, or why SES cannot send it.

    Args:
        message: its bytes.
        configuration_set: publishes the events; empty: there are none.
        credential: the credential's id, as a tag.
    """
    leaving = outgoing(message)
    if instructs(leaving):
        return HEADER_NOT_ALLOWED
    plain = _seven_bit(leaving)
    if plain is None or not target.recipient.address.isascii():
        return SMTPUTF8
    others: dict[str, object] = {"Destination": {"ToAddresses": [target.recipient.address]}}
    others["EmailTags"] = tags(target.ref, credential)
    if configuration_set:
        others["ConfigurationSetName"] = configuration_set
    return Framed(_RAW, InBase64(plain), b'"}},' + json.dumps(others, separators=(",", ":"))[1:].encode())


def hash_of(body: Stream) -> str:
    """Return the SHA-256 of a request in hexadecimal."""
    found = hashlib.sha256()
    for block in body:
        found.update(block)
    return found.hexdigest()


def _seven_bit(message: Outgoing) -> Outgoing | None:
    """Return a message in ASCII as far as it has such a form; None if its header has none."""
    if not message.ascii_body:
        message = message.seven_bit() or message
    return message if message.header.isascii() else message.with_ascii_header()
