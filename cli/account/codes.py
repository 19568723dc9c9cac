"""Meanings of the codes that messages end with: those of mail servers (RFC 3463), and ours."""

import re
from collections.abc import Mapping
from typing import Final

MAIL: Final[Mapping[str, str]] = {
    "1.1": "the mailbox does not exist",
    "1.2": "the domain does not exist",
    "1.3": "the address is not valid",
    "1.6": "the mailbox has moved",
    "1.10": "the domain takes no mail",
    "2.0": "the mailbox cannot be delivered to",
    "2.1": "the mailbox is disabled",
    "2.2": "the mailbox is full",
    "2.3": "the message is too large for the mailbox",
    "3.4": "the message is too large for the receiver",
    "4.1": "the receiver does not answer",
    "4.2": "the connection was lost",
    "4.4": "the domain cannot be reached",
    "4.7": "the message waited too long",
    "7.0": "the receiver refuses it for its policy",
    "7.1": "the receiver refuses it for its policy",
    "7.8": "the login was refused",
    "7.23": "the sender fails SPF",
    "7.26": "the sender fails SPF, DKIM or DMARC",
}
"""Subject and detail of an enhanced status code → its meaning."""
OURS: Final[Mapping[str, str]] = {
    "invalid_address": "not an address",
    "invalid_number": "not a phone number",
    "suppressed": "the address is suppressed: see posthaste suppression show",
    "unsubscribed": "the recipient has unsubscribed",
    "stopped": "the recipient wants no more messages by this channel",
    "key_revoked": "its API key was revoked while it waited",
    "sender_removed": "its sender was taken from the account while it waited",
    "country_not_allowed": "operators have not allowed the account to send to numbers of this country",
    "not_a_guest": "team keys send only to guests of the account: see posthaste guest add",
    "erased": "the person's data were erased while the message waited",
    "attempts_exhausted": "no attempt is left",
    "providers_exhausted": "a provider gave it up, and every other one has tried it",
    "worker_lost": "the process ended in the middle of the call",
    "subject_missing": "with this row's values, the subject is empty",
    "subject_too_long": "with this row's values, the subject is over 998 characters",
    "empty_message": "with this row's values, nothing of the message can be seen",
    "sms_too_long": "with this row's values, the text is over 1,600 characters",
    "speech_too_long": "with this row's values, the text is too long to be said",
    "whatsapp_too_long": "with this row's values, the text is too long for WhatsApp",
    "message_too_large": "with this row's values, the message is over 10 MB",
    "invalid_template": "the template is not valid",
    "control_character": "a value of the row has a control character",
    "no_recipient": "the row has no recipient",
    "invalid_recipient": "the recipient cannot be sent to",
    "withdrawn": "it was taken back",
    "expired": "it expired before it was sent",
}
_ENHANCED: Final = re.compile(r"[245]\.(\d{1,3}\.\d{1,3})")


def meaning(code: str) -> str:
    """Return a code with its meaning: `the mailbox does not exist (5.1.1)`; only the code if it has none here."""
    found = _ENHANCED.fullmatch(code)
    words = MAIL.get(found[1]) if found else OURS.get(code)
    return f"{words} ({code})" if words else code
