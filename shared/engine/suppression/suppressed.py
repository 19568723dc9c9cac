"""Recipients suppressed, or unsubscribed, after a job was accepted: checked again when a lease begins (L2).

Acceptance, or the reading of a campaign's list, has checked before. Later suppressions are in two logs by time. A
process reads only entries that are new to it: one query a chunk, and none while nothing was suppressed in the account
since. It checks the hits by their keys, so that an address that was allowed again is sent to.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Final

from shared.domain.content.content import Content
from shared.domain.content.personal import Personal, personal_of
from shared.domain.ids import made_at
from shared.domain.jobs.chunks import Chunk, Recipient
from shared.domain.jobs.job import Job
from shared.domain.jobs.outcomes import ERASED, NOT_A_GUEST
from shared.domain.namespaces import is_team
from shared.domain.recipients.address_names import SHORT, digits, generation_of
from shared.domain.recipients.addresses import Address, parse
from shared.domain.recipients.suppressions import AnyReach, Barrier, NotAGuest, Reach, reaches
from shared.frozen import dataclass
from shared.ports import Clock, Records

SLACK_MS: Final = 120_000
"""Milliseconds that each read of a log reaches further back. Acceptance checks up to half a minute before it dates its
job, clocks differ, and a transaction that is tried again shows its entry late."""
KEPT_JOBS: Final = 8
"""Pairs of a job and a list that applies to it, whose news is kept."""
MOST: Final = 20_000
"""Addresses kept in memory per job, about 2 MB. If there are more, the keys of each chunk's addresses are read."""


@dataclass(slots=True)
class _Known:
    """Suppressions since a job was accepted: the first 64 bits of each name. `mark`: read up to there (ms).

    `generations`: those of the names. An entry that was read under one name may have another by now.
    """

    mark: int
    hashes: set[int] = field(default_factory=set)
    generations: set[int] = field(default_factory=set)
    too_many: bool = False

    def among(self, keys: Collection[str], records: Records) -> set[str]:
        """Return which addresses are among them, or share the bits of one that is."""
        listed = list(keys)
        named = [zip(listed, records.names_of(listed, generation), strict=True) for generation in self.generations]
        return {key for pairs in named for key, name in pairs if _short(name) in self.hashes}


def heeds(job: Job, content: Content | None) -> tuple[AnyReach, ...]:
    """Return the lists that apply to a job's messages; for a job without its content all that apply to a campaign."""
    policy = content.digest.policy if content is not None and content.digest is not None else ""
    return reaches(job.channel, unsubscribable=content is None or bool(content.unsubscribe), policy=policy)


@dataclass(frozen=True, slots=True)
class Unwelcome:
    """Recipients that are not to be sent to by now.

    Attributes:
        codes: index of a waiting recipient → its code; it gets no message.
        copies: addresses, in lower case, that get no copy of the messages to the other recipients.
    """

    codes: Mapping[int, str]
    copies: frozenset[str] = frozenset()


class Suppressed:
    """One process's memory of suppressions; safe for threads: they may read the same twice, and miss nothing."""

    def __init__(self, records: Records, clock: Clock) -> None:
        self._records = records
        self._clock = clock
        self._known: dict[tuple[str, AnyReach], _Known] = {}

    def among(
        self,
        job: Job,
        chunk: Chunk,
        waiting: Sequence[int],
        latest: Mapping[Reach, int],
        reaches: Collection[AnyReach] = (Reach.ALL,),
        content: Content | None = None,
    ) -> Unwelcome:
        """Return which of a chunk's waiting recipients, and of those with copies, are not to be sent to by now.

        Args:
            latest: when an address was last suppressed, and unsubscribed (Unix ms), as of Control.
            reaches: the lists that apply to the job's messages.
            content: the message, with its copies. All addresses that get a team key's messages must be guests.
        """
        if is_team(job.account):
            return self._among_guests(job, chunk, waiting, reaches, content)
        since = _looked(job) - SLACK_MS
        news = [r for r in reaches if latest.get(r.kind, 0) >= since] if waiting else []
        copies = {i: _copies(chunk.recipients[i], content) for i in waiting} if news else {}
        keys = self._suspects(job, _keys(chunk, waiting, copies), since, news)
        found = self._records.suppressed(job.namespace, keys, reaches) if keys else {}
        return Unwelcome(_codes(chunk, waiting, found), _unwanted(copies, found))

    def _among_guests(
        self, job: Job, chunk: Chunk, waiting: Sequence[int], reaches: Collection[AnyReach], content: Content | None
    ) -> Unwelcome:
        """Do the same for a job of a team key: all waiting recipients are read each time, with their copies.

        Args:
            reaches: the lists that apply to the job's messages.
            content: the message, with its copies.
        """
        copies = {i: _copies(chunk.recipients[i], content) for i in waiting}
        found = self._records.suppressed(job.namespace, _keys(chunk, waiting, copies), reaches)
        strangers = {key for key, barrier in found.items() if isinstance(barrier, NotAGuest)}
        astray = {i: NOT_A_GUEST for i, others in copies.items() if not strangers.isdisjoint(others.values())}
        return Unwelcome(_codes(chunk, waiting, found) | astray, _unwanted(copies, found))

    def _suspects(self, job: Job, keys: set[str], since: int, news: Sequence[AnyReach]) -> set[str]:
        """Return the addresses that may have been suppressed since a moment; all of them if the log is too long."""
        known = [self._catch_up(job, since, reach) for reach in news]
        if not known:
            return set()
        if None in known:
            return keys
        return set().union(*(x.among(keys, self._records) for x in known if x is not None))

    def _catch_up(self, job: Job, since: int, reach: AnyReach) -> _Known | None:
        """Read the new suppressions and return all since a moment; None if they are not known."""
        known = self._known.get((job.id, reach))
        if known is None:
            if len(self._known) >= KEPT_JOBS:
                self._known.pop(next(iter(self._known)), None)
            known = self._known.setdefault((job.id, reach), _Known(since))
        if known.too_many:
            return None
        now = int(self._clock.now() * 1000)
        recent = self._records.suppressed_since(job.namespace, known.mark, reach=reach)
        known.hashes.update(map(_short, recent.names))
        known.generations.update(map(generation_of, recent.names))
        known.mark = max(known.mark, now - SLACK_MS if recent.reached is None else recent.reached)
        if len(known.hashes) > MOST:
            known.too_many = True
            known.hashes = set()
            return None
        return known if recent.reached is None else None


def _looked(job: Job) -> int:
    """Return from when on (Unix ms) there was no check: a campaign's list is read before it is sent, as its id says."""
    return min(job.created_at, made_at(job.id)) if job.campaign else job.created_at


def _codes(chunk: Chunk, waiting: Sequence[int], found: Mapping[str, Barrier]) -> dict[int, str]:
    """Return the code of each of some recipients that was erased, or whose key is in `found`.

    Args:
        found: by normalised address.
    """
    gone = {i: ERASED for i in waiting if chunk.recipients[i].skip == ERASED}
    return gone | {i: found[key].code for i in waiting if (key := chunk.recipients[i].key) in found}


def _copies(recipient: Recipient, content: Content | None) -> dict[str, str]:
    """Return the addresses that get copies of a recipient's message: address in lower case → normalised address."""
    if content is None:
        return {}
    own = personal_of(recipient.values) if content.personal else Personal()
    boxes = (x for part in (content, own) for x in (*part.beside, *part.cc, *part.bcc))
    return {x.address.lower(): _key(x.address) for x in boxes}


def _keys(chunk: Chunk, waiting: Sequence[int], copies: Mapping[int, Mapping[str, str]]) -> set[str]:
    """Return the normalised addresses of some recipients, and of those who get copies of their messages.

    Args:
        copies: index → address in lower case → normalised address.
    """
    return {chunk.recipients[i].key for i in waiting}.union(*(others.values() for others in copies.values()))


def _unwanted(copies: Mapping[int, Mapping[str, str]], found: Mapping[str, Barrier]) -> frozenset[str]:
    """Return the addresses, in lower case, of those with copies whose key is in `found`."""
    return frozenset(a for others in copies.values() for a, key in others.items() if key in found)


def _key(text: str) -> str:
    """Return the normalised address of a copy; a text that is no address is no guest's."""
    found = parse(text)
    return found.key if isinstance(found, Address) else text


def _short(name: str) -> int:
    return int(digits(name)[:SHORT], 16)
