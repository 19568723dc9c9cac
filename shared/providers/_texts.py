"""Texts and times of vendors. Texts are cleaned for a queue, without addresses and without the client's content."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from shared.domain.content.content import Content, Mailbox
from shared.domain.jobs.outcomes import RECIPIENT, Outcome, Rejected
from shared.domain.recipients.local_parts import IN_TEXT, bare, needs_quotes, within
from shared.domain.times import Seconds
from shared.ports import BadSignature, Target

MAX_DETAIL: Final = 200
MAX_TEXT: Final = 1000
"""Characters that are read of a text before it is cut: an address at its end must not be cut in two."""
MAX_ID: Final = 100
_ADDRESS: Final = re.compile(rf"(?:{IN_TEXT}|[^\s<>()\[\],;:\"'=]+)(?:@|%40)[^\s<>()\[\],;:\"'=]*", re.IGNORECASE)
_OWN: Final = "(?:to|b?cc|from|reply_to|text|html|subject|headers?|attachments?)"
_QUOTED: Final = re.compile(
    rf"(?P<own>([\"'`]){_OWN}\2)|<[^<>]*+>|\"(?:[^\"\\]|\\.)*+\"|(?<!\w)'[^']*+'(?!\w)|`[^`]*+`|“[^”]*+”|«[^»]*+»|\w+://\S+"
)
"""Quoted texts and links, except the names of parameters, which Mailgun and Resend put in quotes of their own."""
_NAMING: Final = r"(?<=\buser )|(?<=\bmailbox )|(?<=\brecipient )|(?<=\buser: )|(?<=\bmailbox: )|(?<=\brecipient: )"
"""Before a local part that is a plain word."""
_SUBJECT: Final = re.compile(r"\bsubject\b", re.IGNORECASE)


def clean(value: object, limit: int) -> str:
    """Return a text as a queue accepts it: no control characters, surrogates or noncharacters."""
    if not isinstance(value, str):
        return ""
    text = value[:limit]
    return text if text.isprintable() else "".join([c if c.isprintable() else " " for c in text])


def lines(value: object, limit: int) -> str:
    """Return a text of a person as a queue accepts it: like `clean`, but line breaks stay."""
    if not isinstance(value, str):
        return ""
    return "\n".join(clean(line, limit) for line in value.splitlines())[:limit]


def redacted(detail: str, about: object = "") -> str:
    """Return a provider's text, cut, without addresses. `about`: the recipient's, as the provider writes it."""
    if "@" in detail or "%40" in detail:
        if isinstance(about, str) and needs_quotes(bare(about).rpartition("@")[0] or "-"):
            detail = re.sub(within(bare(about)), "<address>", detail, flags=re.IGNORECASE)
        detail = _ADDRESS.sub("<address>", detail)
    return detail[:MAX_DETAIL]


def refusal_words(text: str, address: str) -> str:
    """Return what a provider said of one recipient, cut, on one line, with `RECIPIENT` in place of its address."""
    own = f"<?{within(address)}>?"
    return redacted(re.sub(own, RECIPIENT, " ".join(clean(text, MAX_TEXT).split()), flags=re.IGNORECASE))


def worded(outcome: Outcome, said: Callable[[], object], address: str) -> Outcome:
    """Return a refusal with the provider's text, for people; any other outcome as it is.

    Args:
        said: reads the words of a refusal; empty or no text: it has none.
    """
    if isinstance(outcome, Rejected) and isinstance(words := said(), str) and words:
        return replace(outcome, detail=refusal_words(words, address))
    return outcome


def own_words(text: str, content: Content, targets: Sequence[Target]) -> str:
    """Return an error text without addresses, quotations, and what the message contains.

    Providers quote what a client wrote, and a client may write what a provider says. A subject without quotes is
    removed only where the text speaks of a subject: otherwise the words are the provider's own.
    """
    copies = (*content.beside, *content.cc, *content.bcc)
    boxes = [content.sender, *copies, *([content.reply_to] if content.reply_to else [])]
    for box in (*boxes, *(Mailbox(t.recipient.address, t.recipient.display) for t in targets)):
        text = _without_box(box, text)
    if subject := content.subject.strip():
        text = _without(f'"{subject}"', text)
        rest = _without(subject, text)
        text = rest if _SUBJECT.search(rest) else text
    return _ADDRESS.sub("<>", _QUOTED.sub(lambda m: m["own"] or "<>", text))


def _without(name: str, text: str, *, before: str = r"(?<!\w)") -> str:
    if name.casefold() not in text.casefold():
        return text  # most of a call's recipients; a pattern costs a hundred times as much
    return re.sub(rf"(?:{before}){re.escape(name)}(?!\w)", "<>", text, flags=re.IGNORECASE)


def _without_box(box: Mailbox, text: str) -> str:
    """Return a text without an address and its display name."""
    local, _, domain = box.address.rpartition("@")
    named = [box.address, domain, *([local] if not local.isalpha() else [])]
    if box.display:
        escaped = box.display.replace("\\", "\\\\").replace('"', '\\"')
        named += [f'"{box.display}"', f'"{escaped}"', f"{box.display} <"]
    for name in sorted(filter(None, named), key=len, reverse=True):
        text = _without(name, text)
    return _without(local, text, before=_NAMING) if local.isalpha() else text


# Times

MAX_AHEAD: Final = 300.0
"""Seconds that a webhook's clock may be ahead of ours."""
MAX_AT: Final = 99_999_999_999


def check_age(at: float, now: Seconds, *, most: float, ahead: float = MAX_AHEAD) -> None:
    """Check the time of a post.

    Args:
        at: Unix seconds of the post.
        most: how many seconds old it may be.
        ahead: how many seconds ahead of `now` it may be.

    Raises:
        BadSignature: `too_old` or `too_new`.
    """
    if at < now - most:
        raise BadSignature("too_old")
    if at > now + ahead:
        raise BadSignature("too_new")


def digits(text: str) -> bool:
    """Tell whether a text is Unix seconds of this millennium."""
    return text.isascii() and text.isdigit() and len(text) <= 11  # noqa: PLR2004


def iso_seconds(text: object) -> int:
    """Return an ISO 8601 time in Unix seconds, UTC if it names no zone; 0 if it is none.

    Args:
        text: as the vendor sent it, of any type.
    """
    if not isinstance(text, str):
        return 0
    try:
        moment = datetime.fromisoformat(text)
        at = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return 0
    return at if 0 < at <= MAX_AT else 0
