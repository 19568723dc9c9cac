"""TwiML: what Twilio says in a call, and where it reports a key.

Sources (twilio.com/docs): voice/twiml/say, …/play, …/gather, voice/api/call-resource (`Twiml`: 4,000 characters).

The address that a key is reported to carries what the call says. So the webhook function can repeat it without reading
any job. It cannot be altered: Twilio's signature covers the whole address.
"""

import base64
import binascii
import json
import re
import zlib
from dataclasses import asdict, replace
from typing import Any, Final
from urllib.parse import urlencode
from xml.sax.saxutils import escape, quoteattr

from shared.frozen import dataclass

MAX_TWIML: Final = 4000
MAX_PACKED: Final = 6000
"""Characters of a packed script in an address; more than fits in the TwiML of a first call."""
MAX_SCRIPT: Final = 100_000
"""Bytes of a script once unpacked."""
MAX_AGAIN: Final = 5
"""How often a call repeats its message."""
WAIT_SECONDS: Final = 5
"""How long a call waits for a key after its last word."""
REF_QUERY: Final = "ref"
"""Name of the ref in the query of a callback's URL."""
SCRIPT_QUERY: Final = "script"
"""Name of the packed script in the query of a key's address."""
TYPE: Final = "text/xml"
HANG_UP: Final = '<?xml version="1.0" encoding="UTF-8"?><Response><Hangup/></Response>'
_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold."""


@dataclass(frozen=True, slots=True)
class Script:
    """What a call says. The others are as in `content.Speech`.

    Attributes:
        say: the text.
        home: the address that Twilio posts to for this credential, without a query.
        ref: of the attempt.
        again: how often it was repeated already.
    """

    say: str
    home: str
    ref: str
    language: str = ""
    voice: str = ""
    audio_url: str = ""
    keys: tuple[tuple[str, str], ...] = ()
    again: int = 0

    def repeated(self) -> "Script | None":
        """Return the script of the next repetition; None after the last one."""
        return replace(self, again=self.again + 1) if self.again < MAX_AGAIN else None


def document(script: Script) -> str:
    """Return the TwiML that says a script and waits for one key."""
    address = f"{script.home}?{urlencode({REF_QUERY: script.ref, SCRIPT_QUERY: pack(script)})}"
    gather = f'<Gather action={quoteattr(address)} method="POST" numDigits="1" finishOnKey="" timeout="{WAIT_SECONDS}">'
    return f'<?xml version="1.0" encoding="UTF-8"?><Response>{gather}{_spoken(script)}</Gather></Response>'


def pack(script: Script) -> str:
    """Return a script as letters, digits, `-` and `_`."""
    fields = {name: value for name, value in asdict(script).items() if value}
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(zlib.compress(text.encode("utf-8", "replace"), 9)).rstrip(b"=").decode()


def unpack(text: str) -> Script | None:
    """Read what `pack` wrote; None if it is not that."""
    if not text.isascii() or len(text) > MAX_PACKED:
        return None
    try:
        reader = zlib.decompressobj()
        raw = json.loads(reader.decompress(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), MAX_SCRIPT))
    except (binascii.Error, ValueError, zlib.error, RecursionError):
        return None
    return _script(raw) if reader.eof and isinstance(raw, dict) else None


def _are_pairs(found: object) -> bool:
    """Check whether something is a list of lists of two texts."""
    return isinstance(found, list) and all(
        isinstance(pair, list) and [isinstance(x, str) for x in pair] == [True, True] for pair in found
    )


def _script(raw: dict[str, Any]) -> Script | None:
    texts = {name: raw.get(name, "") for name in ("say", "home", "ref", "language", "voice", "audio_url")}
    again, keys = raw.get("again", 0), raw.get("keys", [])
    if not _are_pairs(keys) or type(again) is not int or not all(isinstance(x, str) for x in texts.values()):
        return None
    return Script(**texts, keys=tuple((key, meaning) for key, meaning in keys), again=again)


def _spoken(script: Script) -> str:
    if script.audio_url:
        return f"<Play>{_escaped(script.audio_url)}</Play>"
    chosen = (("language", script.language), ("voice", script.voice))
    attributes = "".join([f" {name}={quoteattr(_clean(value))}" for name, value in chosen if value])
    return f"<Say{attributes}>{_escaped(script.say)}</Say>"


def _clean(text: str) -> str:
    return _NOT_XML.sub(" ", text)


def _escaped(text: str) -> str:
    return escape(_clean(text))
