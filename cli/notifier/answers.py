"""The hub's answers to a notifier, read with care: one may be cut off, or come from a stranger."""

import codecs
import json
import re
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

from cli.notifier.mailbox import UpdateRead

_NEXT: Final = re.compile(r'<([^<>\s]*)>\s*;[^,]*\brel="?next"?', re.IGNORECASE)
_RANGE: Final = re.compile(r"[0-9A-Za-z.:+-]{1,80}", re.ASCII)
_DECODER: Final = json.JSONDecoder()


def problem_of(data: bytes) -> dict[str, Any]:
    """Return an answer's JSON object; an empty one if it is none."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def partial_list(data: bytes) -> tuple[list[Any] | None, bool]:
    """Return the items of a JSON array that may end anywhere, and whether it is complete; None if it is no array."""
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data).strip()
    if text and not text.startswith("["):
        return None, False
    items: list[Any] = []
    at = 1
    while at < len(text):
        at = _skip(text, at, " \t\r\n,")
        if text[at : at + 1] == "]":
            return items, at + 1 == len(text)
        try:
            item, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        items.append(item)
    return items, False


def _skip(text: str, at: int, characters: str) -> int:
    while at < len(text) and text[at] in characters:
        at += 1
    return at


def read_update(given: object) -> UpdateRead | None:
    """Return an update, None if it is none."""
    if not isinstance(given, dict) or not isinstance(given.get("id"), str) or not isinstance(given.get("status"), str):
        return None
    texts = [given.get(name) or "" for name in ("action", "error", "message", "updated_at")]
    if not all(isinstance(text, str) for text in texts):
        return None
    action, error, note, updated_at = texts
    found = UpdateRead(given["id"], action, given["status"], error, note, updated_at)
    try:
        return found if found.time.tzinfo else None
    except ValueError:
        return None


def next_range(links: str, url: str) -> str | None:
    """Return the range that an answer's `Link` to the rest names; empty if there is no rest, None if it is no range.

    Args:
        url: of the answer; a link elsewhere is none.
    """
    found = _NEXT.search(links)
    if found is None:
        return ""
    here, there = urlsplit(url), urlsplit(urljoin(url, found[1]))
    folder, _, name = there.path.rpartition("/")
    same = (here.scheme, here.netloc, here.path.rpartition("/")[0]) == (there.scheme, there.netloc, folder)
    return name if same and _RANGE.fullmatch(name) else None
