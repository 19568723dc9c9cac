"""The inbox's answers: its page, the newest messages that fit a search, and one message.

| | |
|---|---|
| GET `/` | the page; `?ref=` opens the message of that ref, `?q=` and `?kind=` search |
| GET `/inbox.json` | the newest messages; `limit`, and by `q` (words), `kind`, `ref`, `provider`, `credential` |
| GET `/inbox/{seq}.json` | one message with its bodies and headers |
"""

import json
from collections.abc import Callable
from itertools import islice
from typing import Any, Final, Literal
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field

from simulator.formats.mail import render
from simulator.inbox.page import PAGE, POLICY
from simulator.log import INBOX_MESSAGES, Log
from simulator.model import Message, Reply

Kind = Literal["mail", "text", "call"]
MAX_LIMIT: Final = 10_000


class InboxSearch(BaseModel):
    """Query of the list. `q`: all of its words are in the message; empty fields fit every message."""

    model_config = ConfigDict(extra="forbid")
    limit: int = Field(default=1000, ge=1, le=MAX_LIMIT)
    q: str = Field(default="", max_length=200)
    kind: Kind | Literal[""] = ""
    provider: str = ""
    credential: str = ""
    ref: str = Field(default="", max_length=100)

    def fits(self, message: Message) -> bool:
        """Tell whether a message is wanted."""
        call = message.call
        asked = (self.ref, self.kind, self.provider, self.credential)
        found = (message.ref, kind_of(message), call.provider if call else "", call.credential if call else "")
        if any(want and want != have for want, have in zip(asked, found, strict=True)):
            return False
        words = self.q.casefold().split()
        return not words or all(word in _words(message) for word in words)


class InboxViews:
    """Serves the inbox.

    Args:
        writes: returns whether recipients of a provider can write to it.
    """

    def __init__(self, log: Log, writes: Callable[[str], bool]) -> None:
        self._log = log
        self._writes = writes

    def serve(self, method: str, path: str, query: bytes) -> Reply:
        """Answer one request."""
        if method not in ("GET", "HEAD"):
            return _json({"error": "no such page"}, 404)
        if path == "/":
            kept = [(b"content-security-policy", POLICY), (b"referrer-policy", b"no-referrer")]
            return Reply(200, [(b"content-type", b"text/html; charset=utf-8"), *kept], PAGE)
        if path == "/inbox.json":
            return _json(self._list(InboxSearch.model_validate(dict(parse_qsl(query.decode())))))
        name = path.removeprefix("/inbox/").removesuffix(".json")
        message = self._log.message(int(name)) if name.isdecimal() else None
        if message is None:
            return _json({"error": "no such page or message"}, 404)
        return _json(self._one(message))

    def _list(self, wanted: InboxSearch) -> dict[str, Any]:
        newest = self._log.inbox(INBOX_MESSAGES)
        found = islice((m for m in newest if wanted.fits(m)), wanted.limit)
        return {"accepted": len(self._log.rows), "messages": [_summary(m) for m in found]}

    def _one(self, message: Message) -> dict[str, Any]:
        values = message.values
        return {
            **_summary(message),
            "headers": {name: render(value, values) for name, value in message.headers.items()},
            "html": render(message.content.html, values),
            "text": render(message.content.text, values),
            "attachments": message.content.attachments,
            "writes": bool(message.call and self._writes(message.call.provider)),
        }


def kind_of(message: Message) -> Kind:
    """Return in what way a message reaches its recipient."""
    if message.family.startswith("call"):
        return "call"
    return "mail" if "@" in message.to else "text"


def _words(message: Message) -> str:
    """Return what a search looks into."""
    content = message.content
    parts = (message.to, content.sender, message.subject, message.ref, content.text or content.html)
    return render("\n".join(parts), message.values).casefold()


def _summary(message: Message) -> dict[str, Any]:
    call = message.call
    return {
        "seq": message.seq,
        "at": call.at if call else None,
        "kind": kind_of(message),
        "provider": call.provider if call else None,
        "credential": call.credential if call else None,
        "to": message.to,
        "from": message.content.sender,
        "subject": message.subject,
        "ref": message.ref,
        "message_id": message.id,
        "behaviour": message.behaviour,
        "webhooks": message.acknowledged,
    }


def _json(value: Any, status: int = 200) -> Reply:
    return Reply(status, [(b"content-type", b"application/json")], json.dumps(value, ensure_ascii=False).encode())
