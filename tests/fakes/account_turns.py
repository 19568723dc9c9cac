"""Turns of accounts' work, in memory."""

from collections.abc import Callable

from shared.domain.lists import in_line
from shared.domain.lists.in_line import WaitingLine
from shared.ports import Clock, TurnKind
from tests.fakes.faults import Tap


class FakeAccountTurns:
    """`ports.AccountTurns` in memory. `lines`: by account and kind."""

    def __init__(self, clock: Clock, tap: Tap | None = None) -> None:
        self.lines: dict[tuple[str, TurnKind], WaitingLine] = {}
        self._clock = clock
        self._tap = tap or Tap()

    def enter(self, account: str, kind: TurnKind, name: str, under_way: Callable[[str], bool]) -> str:
        def enter() -> str:
            line = self.lines.get((account, kind), WaitingLine())
            self.lines[account, kind], begins = in_line.entered(line, name, self._now(), under_way)
            return begins

        return self._tap("turns.enter", enter)

    def leave(self, account: str, kind: TurnKind, name: str) -> str:
        def leave() -> str:
            self.lines[account, kind], begins = in_line.left(
                self.lines.get((account, kind), WaitingLine()), name, self._now()
            )
            return begins

        return self._tap("turns.leave", leave)

    def _now(self) -> int:
        return int(self._clock.now() * 1000)
