"""The personal parts of one recipient's message, beside its job's content: texts in place of tags, headers, copies.

They are kept with the recipient's values, under a name that no placeholder of a template has. A tag is any text. The
text in its place is data that is not read again. Neither text is escaped, and other tags in it stay as they are.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from typing import Any, Final, TypeVar

from shared.domain.content.content import Content, Mailbox
from shared.domain.jobs.job import BATCH, NOTICE, Job
from shared.domain.jobs.labels import Labels
from shared.frozen import dataclass

PERSONAL: Final = "@"
"""The value of a recipient that holds its `Personal` as JSON."""
MAX_BYTES: Final = 128 * 1024
"""Of a recipient's `Personal` as JSON: a chunk holds at least one such recipient."""
MAX_FILLED: Final = 10 * 1024 * 1024
"""Characters of a body with its texts: no provider takes more."""
_BREAKS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
"""Characters that a subject cannot have. In a text that replaces a tag, a space replaces each run of them."""
_BOXES: Final = ("beside", "cc", "bcc")
_OWN: Final = ("subject", "headers", "texts", *_BOXES)
"""The fields that change the message. Tags and metadata only accompany it."""


class TooLong(ValueError):
    """A body is longer than MAX_FILLED with its texts."""


@dataclass(frozen=True, slots=True)
class Personal:
    """A recipient's own parts.

    Attributes:
        subject: instead of the content's; empty: that one.
        headers: instead of those of the same name, or more.
        texts: tag → what comes in its place in subject and bodies.
        beside: further recipients that `To` shows.
        labels: the owner's words for the message, which events repeat.
        reference: the owner's name for it, likewise.
        metadata: the owner's own data, which events repeat.
    """

    subject: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    beside: tuple[Mailbox, ...] = ()
    cc: tuple[Mailbox, ...] = ()
    bcc: tuple[Mailbox, ...] = ()
    labels: tuple[str, ...] = ()
    reference: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def differs(self) -> bool:
        """Whether the message is another than the content says."""
        return any(getattr(self, name) for name in _OWN)

    @property
    def known(self) -> "Personal":
        """Only the fields that accompany the message without changing it."""
        return Personal(labels=self.labels, reference=self.reference, metadata=self.metadata)

    def values(self) -> dict[str, str]:
        """Return the recipient's values that hold it; none if it is empty."""
        found: dict[str, Any] = {name: [[b.address, b.display] for b in getattr(self, name)] for name in _BOXES}
        found |= {"subject": self.subject, "headers": self.headers, "texts": dict(self.texts)}
        found |= {"labels": self.labels, "reference": self.reference, "metadata": dict(self.metadata)}
        kept = {name: value for name, value in found.items() if value}
        return {PERSONAL: json.dumps(kept, ensure_ascii=False, separators=(",", ":"))} if kept else {}


_Copied = TypeVar("_Copied", Content, Personal)


def personal_of(values: Mapping[str, str]) -> Personal:
    """Return what a recipient's values hold; empty if they hold none."""
    stored = values.get(PERSONAL)
    if stored is None:
        return Personal()
    raw = json.loads(stored)
    return Personal(
        subject=raw.get("subject", ""),
        headers=tuple((name, value) for name, value in raw.get("headers", ())),
        texts=raw.get("texts", {}),
        labels=tuple(raw.get("labels", ())),
        reference=raw.get("reference", ""),
        metadata=raw.get("metadata", {}),
        **{name: tuple(Mailbox(*box) for box in raw.get(name, ())) for name in _BOXES},
    )


def labels_of(job: Job, values: Mapping[str, str]) -> Labels:
    """Return the labels of a message. Its own metadata come in place of the job's of the same names.

    A campaign's list may have a column of any name, so its values tell nothing of labels.
    """
    if job.kind not in (BATCH, NOTICE) or PERSONAL not in values:
        return job.labels
    own, shared = personal_of(values), job.labels
    tags = tuple(dict.fromkeys((*shared.tags, *own.labels)))
    return Labels(own.reference or shared.reference, tags, {**shared.metadata, **own.metadata})


def personalised(content: Content, own: Personal) -> Content:
    """Return a content with a recipient's own parts.

    Args:
        content: the job's, rendered if it has placeholders.

    Raises:
        TooLong: nothing was filled in.
    """
    subject, html, text = own.subject or content.subject, content.html, content.text
    if own.texts:
        subject = _filled(subject, {tag: _BREAKS.sub(" ", given) for tag, given in own.texts.items()})
        html, text = _filled(html, own.texts), _filled(text, own.texts)
    return replace(
        content,
        subject=subject,
        html=html,
        text=text,
        headers=_merged(content.headers, own.headers),
        beside=(*content.beside, *own.beside),
        cc=(*content.cc, *own.cc),
        bcc=(*content.bcc, *own.bcc),
        personal=False,
    )


def without_copies(given: _Copied, names: Collection[str]) -> _Copied:
    """Return a content, or a recipient's own parts, without copies to some addresses.

    Args:
        given: what is sent; the very one is returned if it has no such copy.
        names: the addresses as they are written in it, in lower case.
    """

    def left(boxes: Iterable[Mailbox]) -> tuple[Mailbox, ...]:
        return tuple(b for b in boxes if b.address.lower() not in names)

    found = replace(given, beside=left(given.beside), cc=left(given.cc), bcc=left(given.bcc))
    return given if found == given else found


def uncopied_values(values: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    """Return a recipient's values without copies to some addresses.

    Args:
        names: the addresses as they are written, in lower case.
    """
    if PERSONAL not in values:
        return dict(values)
    own = without_copies(personal_of(values), names)
    rest = {name: value for name, value in values.items() if name != PERSONAL}
    return {**rest, **own.values()}


def _merged(shared: Iterable[tuple[str, str]], own: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return headers of which the recipient's own come in place of those of the same name."""
    own = tuple(own)
    mine = {name.lower() for name, _ in own}
    return (*((name, value) for name, value in shared if name.lower() not in mine), *own)


def _filled(text: str, texts: Mapping[str, str]) -> str:
    if not text:
        return text
    parts = _parts(text, tuple(sorted(texts, key=len, reverse=True)))
    found = [texts[part] if n % 2 else part for n, part in enumerate(parts)]
    if sum(map(len, found)) > MAX_FILLED:
        raise TooLong
    return "".join(found)


@lru_cache(maxsize=4)
def _parts(text: str, tags: tuple[str, ...]) -> Sequence[str]:
    """Return a text cut at its tags, which are every second part; kept, as most recipients have the same ones.

    Args:
        text: a subject or a body.
        tags: the longest first, which wins where several begin.
    """
    return re.split(f"({'|'.join(map(re.escape, tags))})", text)
