"""Texts that recipients write to a number of AWS End User Messaging, which it publishes to an SNS topic.

Sources (docs.aws.amazon.com/sms-voice/latest/userguide): two-way-sms-payload (fields), keywords-required and
opt-out-list-keywords (STOP and its like), keywords (a text that begins with a keyword has it in `messageKeyword`).

Unless the number's owner manages opt-outs, AWS keeps a list of its own and answers STOP and HELP itself. STOP and START
are applied here as well, so that no message is tried that AWS would refuse. A keyword that AWS has found decides; else
the text does, also where AWS knows no such word.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from shared.contracts import ProviderEvent
from shared.domain.jobs.feedback import ProviderEventKind
from shared.domain.recipients.wishes import wish_of
from shared.domain.texts import MAX_TEXT
from shared.providers._sns import text
from shared.providers._texts import MAX_ID, clean, lines

STOP: Final = frozenset({"ARRET", "CANCEL", "END", "OPT-OUT", "OPTOUT", "QUIT", "REMOVE", "STOP", "TD", "UNSUBSCRIBE"})
START: Final = frozenset({"START", "UNSTOP"})
_NUMBER: Final = re.compile(r"\+[1-9][0-9]{6,14}")


def is_inbound(event: Mapping[str, Any]) -> bool:
    """Tell whether an event is a text that somebody wrote."""
    return bool(text(event, "inboundMessageId") and text(event, "originationNumber"))


def words(event: Mapping[str, Any], published: int) -> list[ProviderEvent]:
    """Return the word of the number that wrote; none if it is no number.

    Args:
        event: as published; it has no time of its own.
        published: Unix seconds of its notification.
    """
    number, body = text(event, "originationNumber"), text(event, "messageBody")
    if not _NUMBER.fullmatch(number):
        return []
    keyword = text(event, "messageKeyword").upper()
    kind = (
        ProviderEventKind.STOPPED
        if keyword in STOP
        else ProviderEventKind.STARTED
        if keyword in START
        else wish_of(body)
    )
    to = clean(event.get("destinationNumber"), MAX_ID)
    return [
        ProviderEvent(
            number, kind.value, published, clean(event.get("inboundMessageId"), MAX_ID), to, lines(body, MAX_TEXT)
        )
    ]
