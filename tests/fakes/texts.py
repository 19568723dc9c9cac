"""Texts that recipients wrote, in memory."""

from shared.domain.texts import KEPT_DAYS, ReceivedText
from shared.domain.times import DAY_MS
from tests.fakes.faults import Tap
from tests.fakes.journal import FakeJournal


class FakeTexts:
    """`ports.Texts` in memory. `items`: by account and id."""

    def __init__(self, journal: FakeJournal | None = None, tap: Tap | None = None) -> None:
        self.items: dict[tuple[str, str], ReceivedText] = {}
        self._journal = journal or FakeJournal()
        self._tap = tap or Tap()

    def add(self, received: ReceivedText) -> None:
        def put() -> None:
            if (received.account, received.id) not in self.items:
                self.items[received.account, received.id] = received
                self._journal.keep(received.event())

        self._tap("texts.add", put)

    def page(self, account: str, *, after: str, limit: int, now: int) -> tuple[list[ReceivedText], str]:
        def found() -> tuple[list[ReceivedText], str]:
            mine = {f"{x.at:015d}#{x.id}": x for x in self.items.values() if x.account == account}
            places = sorted((p for p in mine if not after or p < after), reverse=True)
            page = [mine[p] for p in places[:limit] if mine[p].at + KEPT_DAYS * DAY_MS > now]
            return page, places[limit - 1] if len(places) > limit else ""

        return self._tap("texts.page", found)
