"""What accounts have spent, in memory."""

from collections import Counter
from collections.abc import Mapping

from shared.domain.spending.limits import Charge, Exceeded
from shared.ports import Clock


class FakeSpending:
    """`ports.Spending` in memory."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._used: Counter[tuple[str, str, str, str]] = Counter()

    def take(self, charge: Charge) -> Exceeded | None:
        parts = list(charge.parts())
        for key, measure, amount, most in parts:
            used = self._used[charge.account, charge.day, key, measure]
            if used + amount > most:
                return Exceeded(measure, most, used, amount, int(self._clock.now() * 1000), key=bool(key))
        for key, measure, amount, _ in parts:
            self._used[charge.account, charge.day, key, measure] += amount
        return None

    def give_back(self, charge: Charge) -> None:
        for key, measure, amount, _ in charge.parts():
            self._used[charge.account, charge.day, key, measure] -= amount

    def used(self, account: str, day: str, key: str = "") -> Mapping[str, int]:
        found = self._used.items()
        return {name: n for (whose, on, of, name), n in found if (whose, on, of) == (account, day, key)}
