"""A campaign's message for one recipient, rendered by the code that also sends it. Source: docs/campaigns.md."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from shared.contracts import Settings
from shared.domain.campaigns.campaign import Campaign
from shared.domain.channels.lookup import channel_of
from shared.domain.content.content import Content
from shared.domain.ids import new_id
from shared.domain.jobs.chunks import Chunk, Recipient
from shared.domain.jobs.queue import LedgerQueue
from shared.domain.lists import row_numbers
from shared.engine.lane.compose import Composition, RenderedMessage
from shared.engine.lists.list_jobs import stand_in
from shared.frozen import dataclass
from shared.ports import Clock, Links, Records

MAX_ROW: Final = 10_000
"""The last recipient of a list that a preview goes to: it counts from the list's beginning."""
_SLICE: Final = 200
"""Ledgers read at a time."""


@dataclass(frozen=True, slots=True)
class Preview:
    """A rendered message.

    Attributes:
        row: which recipient of the list it is for, 0 for one with example values.
        sheet_row: the recipient's row in the uploaded file; 0: it is not known.
    """

    row: int
    recipient: Recipient
    made: RenderedMessage
    sheet_row: int = 0


class Previews:
    """Renders campaigns' messages before they are sent."""

    def __init__(
        self, *, records: Records, ledgers: LedgerQueue, links: Links, settings: Settings, clock: Clock
    ) -> None:
        self._records = records
        self._ledgers = ledgers
        self._links = links
        self._settings = settings
        self._clock = clock

    def of(self, campaign: Campaign, content: Content, row: int | None) -> Preview | None:
        """Return the message of a recipient of the current list: the one that is read, else the one sent last.

        Its unsubscription link is one of a test: an owner who follows it unsubscribes no address.

        Args:
            row: which recipient, from 1 in list order; None: the first, or one with example values if there is no list.

        Returns:
            None if the list has no such recipient, or there is no list.
        """
        current = _current(campaign)
        found = self._found(current, row or 1) if current else None
        if found is None:
            if row is not None:
                return None
            recipient = _example(campaign)
            return Preview(0, recipient, self.made(campaign, content, recipient))
        chunk, index = found
        recipient = chunk.recipients[index]
        return Preview(
            row or 1, recipient, self.made(campaign, content, recipient), row_numbers.number_at(chunk.rows, index)
        )

    def at_row(self, campaign: Campaign, sheet_row: int) -> int | None:
        """Return which recipient of the current list, from 1, has a row of its file, or the next row with one.

        Of a list that an earlier version has read, whose numbers are not known: as if all rows below the header were
        recipients. None: no row from there on has a recipient, or none of the first MAX_ROW.
        """
        before, best = 0, None
        for chunk in self._chunks(_current(campaign)):
            size = len(chunk.recipients)
            if not chunk.rows:
                return max(1, sheet_row - 1)
            place = row_numbers.place_of(chunk.rows, sheet_row, size)
            if place is not None:
                number = row_numbers.number_at(chunk.rows, place)
                best = min(best or (number, before + place + 1), (number, before + place + 1))
                if not chunk.zone or number == sheet_row:  # only chunks by zones are not in the order of the file
                    break
            before += size
            if before >= MAX_ROW:
                break
        return best[1] if best else None

    def _chunks(self, job: str) -> Iterator[Chunk]:
        """Yield the chunks of a list."""
        number = 0
        while job and (chunk := self._records.chunk(job, number)) is not None:
            yield chunk
            number += 1

    def number(self, job: str, chunk: int, index: int) -> int | None:
        """Return which recipient of a list one is, from 1, by the place of its message; None beyond MAX_ROW.

        Args:
            job: which the list is, or becomes.
            chunk: the number of the recipient's chunk.
            index: the recipient's place in the chunk.
        """
        before = 0
        for first in range(0, chunk, _SLICE):
            before += sum(len(x.cells) for x in self._ledgers.read_some(job, first, min(_SLICE, chunk - first)))
            if before >= MAX_ROW:
                return None
        return before + index + 1 if before + index < MAX_ROW else None

    def made(self, campaign: Campaign, content: Content, recipient: Recipient) -> RenderedMessage:
        """Return a recipient's message, with the unsubscribe link of a test. KeyError: the credential was removed.

        Args:
            recipient: the recipient, with their values.
        """
        now = int(self._clock.now() * 1000)
        job = replace(stand_in(campaign, self._settings, new_id(now), now), test=True)
        return Composition(job, content, self._links).of(recipient)

    def _found(self, job: str, row: int) -> tuple[Chunk, int] | None:
        """Return the chunk of a recipient, and their place in it."""
        before, first = 0, 0
        while ledgers := self._ledgers.read_some(job, first, _SLICE):
            for x in ledgers:
                if row <= before + len(x.cells):
                    chunk = self._records.chunk(job, x.chunk)
                    return (chunk, row - before - 1) if chunk else None
                before += len(x.cells)
            first = ledgers[-1].chunk + 1
        return None


def _current(campaign: Campaign) -> str:
    """Return the list that a campaign shows: the one that is read, else the one sent last; empty: there is none."""
    return campaign.ready or next(reversed(campaign.jobs), "")


def _example(campaign: Campaign) -> Recipient:
    address = channel_of(campaign.channel).example
    return Recipient(address, address, values={name: name for name in campaign.lacks(())})
