"""A lease in progress: its chunk, the recipients of its next window, and the results of the last one (L2, L3)."""

import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import groupby
from typing import Final

from shared.domain.content.content import Content
from shared.domain.content.personal import without_copies
from shared.domain.ids import Ref
from shared.domain.jobs import ledger as rules
from shared.domain.jobs.chunks import Chunk
from shared.domain.jobs.details import Detail
from shared.domain.jobs.job import Job, OnAmbiguous
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.outcomes import (
    Accepted,
    Entry,
    Kind,
    NotStarted,
    NotTogether,
    Outcome,
    OverQuota,
    Rejected,
    Throttled,
    Unknown,
)
from shared.domain.jobs.states import ACTIVE, Cell
from shared.domain.lanes.call_counters import Count
from shared.domain.lanes.lease_hints import LeaseHint
from shared.domain.lanes.pacing import Pace, Slots
from shared.domain.lanes.quotas import NONE_UNUSED, Unused
from shared.domain.recipients.suppressions import Reach
from shared.domain.times import Seconds
from shared.engine.lane.compose import CannotCompose, Composition, RenderedMessage
from shared.engine.suppression.suppressed import SLACK_MS, Unwelcome
from shared.frozen import dataclass
from shared.ports import Target

MAX_SIZE: Final = 16 * 1024 * 1024
"""Characters of the messages of one window that were each made for one recipient. All are in memory at once, and some
several times over while they are sent. A larger message has a window of its own."""

LOOK_AGAIN: Final = 15.0
"""Seconds after which a lease checks again for suppressed recipients, if addresses were suppressed since. A lease of a
slow job lasts for minutes. While many messages bounce, addresses are suppressed all the time."""
A_TURN: Final = 5
"""Chunks of a job with a rate of its own that come to each of its turns, on average: seldom is there none."""


def target(ledger: Ledger, chunk: Chunk, index: int) -> Target:
    """Return a recipient's present attempt, as it is named to a provider. The same attempt always has the same ref."""
    return Target(
        ref=str(Ref(ledger.job, ledger.chunk, index, ledger.cells[index] >> 4)),
        recipient=chunk.recipients[index],
        not_after=chunk.recipients[index].not_after / 1000,
    )


@dataclass(frozen=True, slots=True)
class ProviderCall:
    """Recipients of one provider call. `slots`: what the call takes of the pacer's."""

    indices: Sequence[int]
    content: Content
    slots: int

    def lull(self, rate: Pace) -> int:
        """Return the slots that stay empty before it: none for calls of several recipients, whose rate allows for them.

        Source: docs/protocol.md, "Pace".
        """
        return rate.lull(self.slots - len(self.indices) + 1)

    def smaller(self, indices: Sequence[int]) -> "list[ProviderCall]":
        """Return the calls for recipients that it did not send to: only these, or two halves if that is all of them."""
        n = len(indices)
        middle = n if n < len(self.indices) else (n + 1) // 2
        return [ProviderCall(part, self.content, len(part)) for part in (indices[:middle], indices[middle:]) if part]


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """The size of the next window: `count` recipients, in turn; `slots`, of which `lull` stay empty.

    `least`: the units of the first message.
    """

    count: int
    slots: int
    lull: int = 0
    least: int = 1

    @property
    def units(self) -> int:
        """Its units of the credential's quotas."""
        return self.slots - self.lull


@dataclass(slots=True)
class Lease:
    """A lease in progress, and the results that are not merged yet. `relayed`: its provider gives no feedback."""

    job: Job
    chunk: Chunk
    composition: Composition
    ledger: Ledger
    relayed: bool
    results: list[Entry] = field(default_factory=list)
    noted: int = 0
    """So many of them, the first, are in a detail."""
    requeued: list[int] = field(default_factory=list)
    """Recipients that are queued again when it ends: nothing was sent to them."""
    cut_short: bool = False
    """Calls were not begun that were claimed: it ends."""
    shares: dict[int, int] = field(default_factory=dict)
    """Recipients whose call was refused as a whole → how many the smaller call for them holds."""
    unwanted: list[int] = field(default_factory=list)
    """Recipients that told the provider to send no more, and are not suppressed yet."""
    throttled_until: int = 0
    """Unix milliseconds."""
    paused: bool = False
    refused: bool = False
    """A message was refused for the moment for its own sake: it needs time, however well the provider does."""
    unused: Unused = NONE_UNUSED
    """Units of quotas that were counted for it and that no call has used."""
    full_until: int = 0
    """Unix milliseconds; it ended since the credential's quota is used up until then."""
    held: bool = False
    """It ended since the provider had asked all to wait."""
    leave: bool = False
    """The provider is not called now: what is queued moves on."""
    left_out: Unwelcome | None = None
    """Recipients suppressed or unsubscribed since acceptance; None before the first check."""
    looked_at: float = 0.0
    """Unix seconds."""
    looked_for: Mapping[Reach, int] = field(default_factory=dict)
    """When addresses of the account were last suppressed, and unsubscribed, as that look has surely seen."""
    end: float = 0.0
    """Unix seconds by which the next window is to be claimed, or the lease to be ended: it runs out a margin later."""
    closes: int = 0
    """Unix milliseconds from which on no call may begin, for its hours; 0 before that is known."""
    quiet: Mapping[str, str] = field(default_factory=dict)
    """The account's quiet hours by which `closes` was found."""
    lost: bool = False
    """Another has taken it over."""
    unbegun: Ledger | None = None
    """A small job's ledger as read, until the first claim takes this lease with it."""
    unheard_until: float = 0.0
    """Unix seconds until which no webhook need hear of the job's end."""
    hint: LeaseHint | None = None
    """The place of this lease, for the search for leases of dead workers."""
    count: Count = field(default_factory=Count)
    """The counts of the outcomes of all its calls."""
    _made: dict[int, RenderedMessage] = field(default_factory=dict)
    """Messages of the next window."""

    @property
    def may_call(self) -> bool:
        """Whether calls of windows that were claimed may still begin."""
        return self.job.state in ACTIVE and not (self.paused or self.leave or self.lost or self.cut_short)

    @property
    def last_begin(self) -> Seconds:
        """The last moment at which a call may begin, Unix seconds: the last millisecond of its hours."""
        return (self.closes - 1) / 1000 if self.closes else math.inf

    def wanted(self, rate: Pace) -> WindowPlan:
        """Return what the next window takes; its messages are made, since how long a text is decides about its slots.

        Raises:
            Retriable: a message could not be made now.
        """
        waiting = rules.in_turn(self.ledger)
        shared = self.composition.shared
        if shared is not None and shared.slots == 1:
            count = min(len(waiting), rate.window)
            return WindowPlan(count, count)
        count = slots = lull = size = least = 0
        before: RenderedMessage | None = None
        for index in waiting[: rate.window]:
            made = self._message(index)
            pause = max(lull, rate.lull(made.slots))
            size += made.size if made is not before else 0  # a group has one message
            before = made
            if (slots and slots + made.slots + pause > rate.room) or (count and size > MAX_SIZE):
                break
            count, slots, lull = count + 1, slots + made.slots, pause
            least = least or made.slots
        return WindowPlan(count, slots + lull, lull, least)

    def counted(self, slots: Slots, units: int) -> None:
        """Take in the units that a reservation has counted for it."""
        self.unused = Unused(units, slots.counters)

    def used(self, units: int) -> None:
        """Take in that a call has used units; less than none if it was not begun after all."""
        self.unused = replace(self.unused, units=max(0, self.unused.units - units))

    def parcels(self, claimed: Sequence[int], rate: Pace, most: Callable[[Content], int]) -> list[ProviderCall]:
        """Return the calls for a claimed window; recipients that cannot be sent to are settled without one.

        Args:
            rate: the pace of the calls.
            most: returns how many recipients the provider takes in one call with a content.

        Raises:
            Retriable: a message could not be made now; all that was claimed is to be queued again.
        """
        first = self.ledger.throttled % len(claimed) if claimed else 0
        claimed = [*claimed[first:], *claimed[:first]]  # whom the provider refused to take now is not always the first
        shared = self.composition.shared
        c = min(rate.per_call, self.ledger.per_call or rate.per_call)
        if shared is not None and shared.slots == 1 and isinstance(shared.content, Content):
            groups = [claimed[i : i + c] for i in range(0, len(claimed), c)]
            content = self._wanted_only(shared.content)
            return [ProviderCall(group, content, len(group)) for group in groups]
        return self._by_message(claimed, c, most)

    def _by_message(self, claimed: Sequence[int], per_call: int, most: Callable[[Content], int]) -> list[ProviderCall]:
        """Return calls for recipients of different messages: those of one message that are side by side go together.

        Args:
            per_call: the most recipients of a call by its pace.
            most: returns how many the provider takes in one call with a content.
        """
        try:
            made = [(index, self._message(index)) for index in claimed]
        finally:
            self._made.clear()
        out: list[ProviderCall] = []
        for _, alike in groupby(made, key=lambda one: id(one[1])):
            indices, messages = zip(*alike, strict=True)
            out += self._calls(indices, messages[0], per_call, most)
        return out

    def _calls(
        self, indices: Sequence[int], made: RenderedMessage, per_call: int, most: Callable[[Content], int]
    ) -> Iterator[ProviderCall]:
        """Yield the calls for recipients of one message; settle them if it cannot be made.

        Args:
            per_call: the most recipients of a call by its pace.
            most: returns how many the provider takes in one call with a content.
        """
        if isinstance(made.content, CannotCompose):
            for index in indices:
                self.settle(index, Rejected(made.content.code, permanent=True), 0.0)
            return
        content = self._wanted_only(made.content)
        size = min(per_call, most(content)) if made.slots == 1 and len(indices) > 1 else 1
        for i in range(0, len(indices), size):
            part = indices[i : i + size]
            yield ProviderCall(part, content, made.slots + len(part) - 1)

    @property
    def suppressed(self) -> Mapping[int, str]:
        """The code of each recipient that gets no message any more, by index."""
        return self.left_out.codes if self.left_out is not None else {}

    def looks(self, latest: Mapping[Reach, int], now: Seconds) -> bool:
        """Tell whether to check for unwelcome recipients: before the first claim, and again when there is news.

        Args:
            latest: when an address was last suppressed, and unsubscribed (Unix ms), as of Control.
        """
        stale = self.looked_for != latest and now - self.looked_at >= LOOK_AGAIN
        return self.left_out is None or stale

    def saw(self, left_out: Unwelcome, latest: Mapping[Reach, int], now: Seconds) -> None:
        """Take in the recipients that are not to be sent to.

        Args:
            latest: as `looks` had it.
            now: as `looks` had it.
        """
        self.left_out, self.looked_at = left_out, now
        # A moment is noted before its entry is stored, so that entries of the last ones may not have shown yet.
        self.looked_for = {r: at for r, at in latest.items() if at < now * 1000 - SLACK_MS}

    def _wanted_only(self, content: Content) -> Content:
        """Return a message without copies to addresses that were suppressed or unsubscribed since acceptance."""
        gone = self.left_out.copies if self.left_out is not None else ()
        return without_copies(content, gone) if gone and content.copied else content

    def _message(self, index: int) -> RenderedMessage:
        made = self._made.get(index)
        if made is None:
            made = self._made[index] = self.composition.of(self.chunk.recipients[index])
        return made

    def expired(self, last_call: float) -> list[int]:
        """Return waiting recipients that are past their time at the next window's last possible call.

        `last_call`: Unix seconds.
        """
        end = last_call * 1000
        if not 0 < self.ledger.not_after < end:
            return []
        some = ((i, self.chunk.recipients[i].not_after) for i in self.ledger.having(Cell.QUEUED))
        return [i for i, not_after in some if 0 < not_after < end]

    def settle(self, index: int, outcome: Outcome, now: Seconds) -> None:
        """Record the outcome of a claimed recipient's attempt (L3).

        Args:
            now: Unix seconds of the answer.
        """
        attempt = self.ledger.cells[index] >> 4
        if isinstance(outcome, Accepted):
            self.results.append(Entry(index, attempt, Kind.RELAYED if self.relayed else Kind.ACCEPTED, outcome.id))
        elif isinstance(outcome, Rejected):
            self._settle_refusal(index, attempt, outcome)
        elif isinstance(outcome, Unknown):
            risk = self.job.policy.on_ambiguous is OnAmbiguous.FAIL_OVER
            self.results.append(Entry(index, attempt, Kind.RISKED if risk else Kind.UNKNOWN, "", outcome.reason))
        elif isinstance(outcome, OverQuota):
            self.requeued.append(index)
        elif isinstance(outcome, Throttled):
            self.requeued.append(index)
            self.throttled_until = max(self.throttled_until, int((now + outcome.retry_after) * 1000))
        elif isinstance(outcome, NotStarted):
            self.requeued.append(index)
            self.cut_short = True

    def _settle_refusal(self, index: int, attempt: int, refusal: Rejected) -> None:
        kind = Kind.REFUSED if refusal.permanent else Kind.NOT_SENT
        self.results.append(Entry(index, attempt, kind, "", refusal.code, refusal.detail))
        self.refused |= refusal.about_message and not refusal.permanent
        if refusal.unwanted:
            self.unwanted.append(index)

    def divide(self, parcel: ProviderCall, outcomes: Sequence[Outcome], now: Seconds) -> list[ProviderCall]:
        """Record the outcomes of a call; return smaller calls for the recipients that it did not send to.

        A call settles a recipient or is divided, so that n recipients take less than 2n calls.

        Args:
            outcomes: one per recipient of the call, in order.
            now: Unix seconds of the answer.
        """
        apart = []
        for index, outcome in zip(parcel.indices, outcomes, strict=True):
            if not isinstance(outcome, NotTogether):
                self.settle(index, outcome, now)
            elif len(parcel.indices) > 1:
                apart.append(index)
            else:  # an adapter's mistake: the call has only one recipient
                self.settle(index, Rejected(outcome.code, permanent=False, about_message=True), now)
        parts = parcel.smaller(apart)
        self.shares |= {i: len(part.indices) for part in parts for i in part.indices}
        return parts

    @property
    def per_call(self) -> int:
        """The recipients that the chunk's next calls may hold, if it ends with a call half divided; else 0.

        It is less than what the refused call held, so that leases without end cannot refuse the same call for ever.
        """
        return max((self.shares.get(i, 0) for i in self.requeued), default=0)

    def spread(self, rate: Pace) -> float:
        """Return the seconds by which it comes back later than its job's next turn, if the job has a rate of its own.

        The job's chunks come back at different times, some for each turn. If all came at once, all except one would be
        refused.
        """
        left = self.job.counts["queued"] + self.job.counts["sending"]
        others = left // max(1, len(self.chunk.recipients)) - 1
        if rate.period <= 0 or others <= 0:
            return 0.0
        x = self.ledger
        draw = zlib.crc32(f"{x.job}-{x.chunk}-{x.epoch}".encode()) / 2**32
        return draw * others * rate.period / A_TURN

    def requeue(self, parcels: Sequence[ProviderCall]) -> None:
        """Queue again the recipients of calls that were never begun."""
        self.requeued.extend(index for parcel in parcels for index in parcel.indices)
        self.cut_short |= bool(parcels)

    def merged(self, claimed: Ledger) -> None:
        """Continue from a claim, which merged the last results; the next detail records whom it skipped as suppressed.

        After a crash before that detail, the worker that takes over looks up the reason again.
        """
        self.results, self.noted = [], 0
        for i, code in sorted(self.suppressed.items()):
            before, attempt = self.ledger.cell(i)
            if before is Cell.QUEUED and claimed.cell(i)[0] is Cell.SKIPPED:
                self.results.append(Entry(i, attempt, Kind.INVALID, code=code))
        self.ledger = claimed

    def detail(self, credential: str, now: Seconds) -> Detail:
        """Return the window's detail, as it is known at `now`, Unix seconds."""
        x = self.ledger
        return Detail(
            job=x.job,
            chunk=x.chunk,
            epoch=x.epoch,
            seq=x.seq,
            at=int(now * 1000),
            credential=credential,
            entries=tuple(self.results),
            ttl=x.ttl,
        )
