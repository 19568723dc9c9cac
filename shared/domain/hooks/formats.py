"""Bodies for chats: what has happened as one readable text, in the form that each chat's incoming webhook takes.

Texts of strangers are in the values: names of lists, reasons, recipients. So all markup of a chat is made harmless,
a mention notifies no member, and no link is followed for a preview.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from shared.domain.hooks.bodies import packed
from shared.domain.hooks.endpoint import HookFormat
from shared.domain.hooks.fields import HookData
from shared.domain.hooks.kinds import HookKind

MAX_TEXT: Final = 900
"""Characters of all events' lines. Making markup harmless may double them: Discord takes 2,000, the others more."""
MAX_LINE: Final = 800
"""Characters of one line."""
MAX_VALUE: Final = 160
"""Characters of one value."""
_MESSAGE: Final = "Message {message} of job {job_id} to {recipient} "
_SENTENCES: Final[Mapping[str, str]] = {
    HookKind.MESSAGE_SENT: _MESSAGE + "was sent.",
    HookKind.MESSAGE_DELIVERED: _MESSAGE + "was delivered.",
    HookKind.MESSAGE_FAILED: _MESSAGE + "failed: {error}.",
    HookKind.MESSAGE_SKIPPED: _MESSAGE + "was not sent: {state}.",
    HookKind.MESSAGE_UNKNOWN: _MESSAGE + "may have been sent: its outcome is unknown.",
    HookKind.MESSAGE_BOUNCED: _MESSAGE + "bounced: {error}.",
    HookKind.MESSAGE_COMPLAINED: _MESSAGE + "drew a complaint.",
    HookKind.JOB_LOGGED: "Job {job_id} has finished: {counts} of {total}.",
    HookKind.JOB_STOPPED: "Job {job_id} was stopped ({stop_reason}): {counts} of {total}.",
    HookKind.CAMPAIGN_HALTED: "Campaign {campaign_id} of account {account} was halted ({reason}): {bounced} messages "
    "of job {job_id} bounced.",
    HookKind.APPROVAL_ASKED: "A list of {recipients} rows of campaign {campaign_id} ({name}) waits for approval. "
    "{asked_by} has asked.",
    HookKind.APPROVAL_DECIDED: "The list of campaign {campaign_id} ({name}) was {decision} by {decided_by}: {reason}.",
    HookKind.UPLOAD_FINISHED: "List {upload_id} of campaign {campaign_id} is {state}: {accepted} of {rows} rows "
    "accepted, {invalid} invalid, {duplicates} duplicates.",
    HookKind.DIGEST_CLOSED: "Digest window {number} of {batch_key} was closed with {events} events.",
    HookKind.NOTICE_UPDATED: "Notice {id} of notifier {notifier} is {status}: {message}.",
    HookKind.MAIL_FAILED: "Mail {mail_id} did not reach {address}: {error}.",
    HookKind.SUPPRESSION_ADDED: "{address} is suppressed: {reason}.",
    HookKind.UNSUBSCRIBED: "{address} unsubscribed.",
    HookKind.TEXT_RECEIVED: "Text from {from} to {to}: {text}",
    HookKind.KEY_EXPIRING: "API key {key_id} ({name}) ends at {expires_at}: replace it before.",
    HookKind.ACCOUNT_BOUNCING: "Account {account}: {bounced} of {settled} single messages bounced ({channel}, {date}).",
    HookKind.QUOTA_REACHED: "Account {account} has used {used} of {limit} ({quota}), {share} % of the limit of {date}.",
    HookKind.BREAKER_OPENED: "The breaker of credential {credential_id} opened after {failures} failures: {reason}.",
    HookKind.BREAKER_CLOSED: "The breaker of credential {credential_id} closed.",
    HookKind.ALARM_CHANGED: "Alarm {alarm} changed from {before} to {state}: {reason}",
    HookKind.TEST: "This channel is connected to endpoint {hook_id}.",
}
"""Sentence of each kind; the names are those of its data (`bodies`)."""
_UNSEEN: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+")
_SLACK: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_DISCORD_MARKUP: Final = re.compile(r"[\\*_~`|>#\[\]()<@:-]")
_NO_EMBEDS: Final = 1 << 2
"""Discord's message flag that leaves out previews of links."""


def chat_body(form: HookFormat, kind: str, events: Sequence[HookData]) -> bytes:
    """Return the body to post to a chat.

    Args:
        form: the chat; not STANDARD.
        events: the data of each, one or more.
    """
    return packed(_FORMS[form](list(_lines(kind, events))))


def sentence(kind: str, data: HookData) -> str:
    """Return what an event says as one line."""
    values = {name: _value(value) for name, value in data.items()}
    template = _SENTENCES.get(kind)
    if template is None:
        return _cut(f"{kind}: " + ", ".join(f"{name} {value}" for name, value in values.items()), MAX_LINE)
    return _cut(template.format_map(_Known(values)), MAX_LINE)


class _Known(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "unknown"


def _value(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, Mapping):
        return ", ".join(f"{number} {name}" for name, number in value.items() if number) or "none"
    return _cut(_UNSEEN.sub(" ", str(value)).strip(), MAX_VALUE)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _lines(kind: str, events: Sequence[HookData]) -> Iterable[str]:
    """Return a line for each event, as many as a text may have, and how many were left out."""
    room = MAX_TEXT
    for n, data in enumerate(events):
        line = sentence(kind, data)
        if n and len(line) >= room:
            yield f"And {len(events) - n} more events of kind {kind}."
            return
        room -= len(line) + 1
        yield line


def _slack(lines: list[str]) -> HookData:
    text = "".join(_SLACK.get(c, c) for c in "\n".join(lines))
    return {"text": text, "mrkdwn": False, "unfurl_links": False, "unfurl_media": False}


def _discord(lines: list[str]) -> HookData:
    text = _DISCORD_MARKUP.sub(r"\\\g<0>", "\n".join(lines))
    return {"content": text, "allowed_mentions": {"parse": []}, "flags": _NO_EMBEDS}


def _teams(lines: list[str]) -> HookData:
    # Text runs have no markup, unlike text blocks.
    body = [{"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": line}]} for line in lines]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.2",
        "body": body,
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


_FORMS: Final[Mapping[HookFormat, Callable[[list[str]], HookData]]] = {
    HookFormat.SLACK: _slack,
    HookFormat.TEAMS: _teams,
    HookFormat.DISCORD: _discord,
}
