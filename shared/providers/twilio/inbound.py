"""Texts that recipients write to a number of Twilio's.

Sources (twilio.com/docs): messaging/guides/webhook-request (fields of an inbound message), messaging/tutorials/
advanced-opt-out (`OptOutType`), and the help centre's list of keywords.

STOP and START are the recipient's wishes. `OptOutType` is what Twilio has read. Without it the text decides,
also where Twilio knows no such word. HELP and all else wish nothing. Twilio answers STOP, START and HELP itself, so its
own answer is all that the sender gets. Pictures are not taken.
"""

import re
from collections.abc import Mapping
from typing import Final

from shared.contracts import ProviderEvent
from shared.domain.jobs.feedback import ProviderEventKind
from shared.domain.recipients.wishes import wish_of
from shared.domain.texts import MAX_TEXT
from shared.ports import Reading, WebhookReply
from shared.providers._texts import MAX_ID, clean, lines

OPT_OUT_TYPES: Final = {
    "STOP": ProviderEventKind.STOPPED,
    "START": ProviderEventKind.STARTED,
    "HELP": ProviderEventKind.WRITTEN,
}
START: Final = frozenset({"yes"})
"""Words for START that only Twilio knows."""
SILENCE: Final = WebhookReply("text/xml", '<?xml version="1.0" encoding="UTF-8"?><Response/>')
"""Any other answer is sent to the recipient, or is an error in Twilio's log."""
_NUMBER: Final = re.compile(r"(?:whatsapp:)?(\+[1-9][0-9]{6,14})")


def texts(fields: Mapping[str, str], at: int) -> Reading:
    """Read an inbound message: a word of the number that wrote it.

    Args:
        fields: of the form, each with its first value.
        at: Unix seconds when it came in.
    """
    number = _NUMBER.fullmatch(fields.get("From", ""))
    if number is None:
        return Reading(1, [], SILENCE)
    body = fields.get("Body", "")
    kind = OPT_OUT_TYPES.get(fields.get("OptOutType", "").strip().upper()) or wish_of(body, start=START)
    to = clean(fields.get("To", ""), MAX_ID).removeprefix("whatsapp:")
    sid = clean(fields.get("MessageSid", ""), MAX_ID)
    return Reading(1, [ProviderEvent(number[1], kind.value, at, sid, to, lines(body, MAX_TEXT))], SILENCE)
