"""Whether a message has anything that its reader can see."""

import re
from typing import Final

from shared.domain.characters.invisible import seen
from shared.domain.content.plain_text import HIDDEN, Tag, decoded, pieces

_SHOWN: Final = frozenset(
    {"audio", "button", "canvas", "embed", "hr", "input", "meter", "object", "progress", "select", "textarea", "video"}
)
"""Elements that are seen without any text."""
_DRAWN: Final = re.compile(
    r"<svg\b|\bbackground(?:-image)?\s*+:[^;{}<>]{0,300}\burl\(|\bbackground\s*+=", re.IGNORECASE
)
"""Pictures that are no element of their own."""
_HEAD: Final = 256
"""Characters of a text that are checked first: to decode one of megabytes takes seconds."""
_NO_SIZE: Final = frozenset({"0", "1", "0px", "1px"})


def seen_in(html: str) -> bool:
    """Return whether HTML shows anything: a text, a picture or a field. It is read no further than to the first."""
    for piece in pieces(html):
        if _shows_text(piece) if isinstance(piece, str) else _shows(piece):
            return True
    return _DRAWN.search(html) is not None


def nothing_to_see(html: str, text: str) -> bool:
    """Return whether a message shows nothing to its reader, who reads the HTML where there is any.

    Args:
        html: its HTML body; empty if it has none.
    """
    return not (seen_in(html) if html else seen(text))


def _shows_text(text: str) -> bool:
    """Return whether a text of HTML shows anything. Most do within a few characters."""
    head = text[:_HEAD]
    if len(text) > _HEAD and "&" in head:
        head = head[: head.rindex("&")]  # a reference may be cut
    return seen(decoded(head)) or (len(text) > len(head) and seen(decoded(text)))


def _shows(tag: Tag) -> bool:
    if tag.closing:
        return False
    return tag.name in _SHOWN or (tag.name == "img" and _is_picture(tag))


def _is_picture(tag: Tag) -> bool:
    """Tell an image from the dot of a pixel that only counts who opens the message."""
    found = tag.attributes()
    if HIDDEN.search(found.get("style", "")) or {found.get("width"), found.get("height")} <= _NO_SIZE:
        return False
    return any(found.get(name, "").strip() for name in ("src", "srcset", "alt"))
