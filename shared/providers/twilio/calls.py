"""Twilio's calls: one request per call, with what is said inline as TwiML.

Sources (twilio.com/docs): voice/api/call-resource (fields, `Timeout`, `MachineDetection`), voice/answering-machine-
detection, api/errors/<code> (codes).
The secret is that of SMS with `from` a voice-capable number; `ring_seconds` and `machine_detection` are optional.

Twilio cannot drop a queued call after a given moment. If a message must not be late, its call rings no longer than the
message is valid, and no call begins in its last seconds.
"""

import math
from collections.abc import Mapping
from typing import Any, Final

from shared.domain.content.content import Content, Speech
from shared.domain.jobs.outcomes import NotStarted, Rejected
from shared.ports import Clock, Http, Target
from shared.providers._common import ErrorRule
from shared.providers._vendor import lacking
from shared.providers.twilio.send import EMPTY, INVALID_RECIPIENT, REFUSALS, SENDER, TOO_LONG, Twilio
from shared.providers.twilio.twiml import MAX_TWIML, Script, document

MIN_RING: Final = 5
MAX_RING: Final = 600
RING_SECONDS: Final = 60
"""Twilio's own time-out of an unanswered call."""
DETECT: Final = "DetectMessageEnd"
"""The message begins after a greeting: an answering machine records all of it."""
DETECTIONS: Final = frozenset({DETECT, "Enable", "off"})
_COUNTRY: Final = ErrorRule("region_not_permitted", about_message=True)
CALL_REFUSALS: Final[Mapping[int, ErrorRule]] = {
    **REFUSALS,
    13223: INVALID_RECIPIENT,  # not a number
    13224: INVALID_RECIPIENT,  # not a number
    13225: _COUNTRY,  # a number that this account does not call
    13227: _COUNTRY,  # a country that this account does not call
    21201: INVALID_RECIPIENT,  # no "To" number is specified
    21203: _COUNTRY,  # a number that this account does not call
    21210: SENDER,  # the "From" phone number is not verified: it is not this account's
    21213: SENDER,  # a "From" number is required
    21214: ErrorRule("no_route", about_message=True),  # the "To" phone number cannot be reached
    21215: _COUNTRY,  # the account is not authorized to call this number
    21216: _COUNTRY,  # the account is not allowed to call this number
    21219: ErrorRule("recipient_not_verified", about_message=True),  # a trial account calls verified numbers only
}
"""Codes of calls beside those of SMS. Where this account does not call a country or number, another credential may."""
CALL_THROTTLED: Final = frozenset(
    {
        20429,  # too many requests
        10004,  # as many calls as the account allows are under way or queued
    }
)


class TwilioCalls(Twilio):
    """Calls through one Twilio account and number. See `Twilio`."""

    resource = "Calls"
    refusals = CALL_REFUSALS
    throttled = CALL_THROTTLED

    def __init__(self, http: Http, base_url: str, secret: Mapping[str, str], clock: Clock, **more: Any) -> None:
        super().__init__(http, base_url, {**secret, "messaging_service_sid": ""}, clock, **more)
        ring = secret.get("ring_seconds", "").strip() or str(RING_SECONDS)
        self._ring = int(ring) if ring.isascii() and ring.isdigit() and len(ring) <= 3 else 0  # noqa: PLR2004 - digits of MAX_RING
        self._detection = secret.get("machine_detection", "").strip() or DETECT
        if not MIN_RING <= self._ring <= MAX_RING:
            self._lacks = self._lacks or lacking("invalid_ring_seconds")
        if self._detection not in DETECTIONS:
            self._lacks = self._lacks or lacking("invalid_machine_detection")

    def fields(self, content: Content, target: Target) -> list[tuple[str, str]] | Rejected | NotStarted:
        """Return the form's fields, or say why there is no call."""
        if not content.text.strip():
            return EMPTY.rejected()
        speech = content.speech or Speech()
        script = Script(
            say=content.text,
            home=self._webhook,
            ref=target.ref,
            language=speech.language,
            voice=speech.voice,
            audio_url=speech.audio_url,
            keys=speech.keys,
        )
        twiml = document(script)
        if len(twiml) > MAX_TWIML:
            return TOO_LONG.rejected()
        left = math.floor(target.not_after - self._clock.now()) if target.not_after else self._ring
        if left < MIN_RING:
            return NotStarted()
        fields = [
            ("To", target.recipient.address),
            self._sender,
            ("Twiml", twiml),
            ("StatusCallback", self._callback(target)),
        ]
        fields.append(("Timeout", str(min(left, self._ring))))
        return fields if self._detection == "off" else [*fields, ("MachineDetection", self._detection)]
