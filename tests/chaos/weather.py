"""How providers behave from one moment to the next, drawn from a seed."""

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from shared.domain.jobs.outcomes import Absent, Accepted, Finding, Outcome, Rejected, Throttled, Unknown
from shared.ports import Target
from tests.chaos.words import broken_words
from tests.fakes.provider import ResolvingProvider, Script, Swallowed


class Weather(StrEnum):
    """What a provider is like for a while."""

    FAIR = "fair"
    SHOWERS = "showers"
    """Every call comes out at random."""
    DOWN = "down"
    REFUSING = "refusing"
    """The account is refused."""
    DEAF = "times out"
    """Calls time out, and half of them were taken."""
    BROKEN = "broken"
    """Every other call is taken, and answered with a 500, 502 or 504 in some vendor's own words."""
    BUSY = "throttling"


DRAWN: Final[Mapping[Weather, int]] = {
    Weather.FAIR: 6,
    Weather.SHOWERS: 3,
    Weather.DOWN: 2,
    Weather.REFUSING: 1,
    Weather.DEAF: 1,
    Weather.BROKEN: 2,
    Weather.BUSY: 1,
}
"""Weather → how often it is drawn."""
BROKEN_SHARE: Final = 0.03
"""Share of the calls in showers that are taken and answered with a 500, 502 or 504."""


@dataclass(frozen=True, slots=True)
class Spell:
    """A provider's weather until a moment (Unix seconds)."""

    weather: Weather
    until: float


class StormyProvider(ResolvingProvider):
    """A provider under the weather; `calm` ends it. What it answers depends on the seed and on nothing else.

    `down`: it refuses every call, whatever the weather. `broken`: how many messages it took and answered with a 500,
    502 or 504, by the vendor in whose words.
    """

    calm = False
    down = False

    def settle_on(self, seed: int) -> None:
        """Draw the weather from a seed."""
        self._rng = random.Random(f"{seed}-{self.name}")  # noqa: S311 - weather
        self._spell = Spell(Weather.FAIR, 0.0)
        self.broken: Counter[str] = Counter()
        self._words = broken_words()  # now: a fault during a call counts as one of the adapter's

    def _find(self, target: Target, at: float) -> Finding:
        found = super()._find(target, at)
        doubtful = not self.calm and self._rng.random() < 0.3
        return Unknown("timeout") if doubtful and not isinstance(found, Absent) else found

    def _one(self, target: Target, at: float) -> Outcome | Exception:
        if self._spell.until <= at:
            kinds, weights = zip(*DRAWN.items(), strict=True)
            self._spell = Spell(self._rng.choices(kinds, weights)[0], at + self._rng.uniform(5, 120))
        weather = Weather.DOWN if self.down else self._spell.weather
        self.answer = None if self.calm else self._said(weather)
        return super()._one(target, at)

    def _said(self, weather: Weather) -> Script | None:
        luck = self._rng.random()
        if weather is Weather.SHOWERS:
            return self._shower(luck)
        if weather is Weather.DEAF:
            return Swallowed() if luck < 0.5 else Unknown("timeout")
        if weather is Weather.BROKEN:
            return self._broken() if luck < 0.5 else None
        return {
            Weather.DOWN: Rejected("http_503", permanent=False),
            Weather.REFUSING: Rejected("unauthorized", permanent=False, provider_down=True),
            Weather.BUSY: Throttled(3) if luck < 0.7 else None,
        }.get(weather)

    def _broken(self) -> Swallowed:
        said = self._rng.choice(self._words)
        self.broken[said.vendor] += 1
        return Swallowed(said.outcome)

    def _shower(self, luck: float) -> Script | None:
        if luck >= 1 - BROKEN_SHARE:
            return self._broken()
        table: tuple[tuple[float, Script], ...] = (
            (0.05, Rejected("http_503", permanent=False)),
            (0.08, Rejected("invalid", permanent=True)),
            (0.10, Swallowed()),
            (0.12, Unknown("timeout")),
            (0.15, Throttled(2)),
            (0.16, RuntimeError("a fault of the adapter")),
            (0.17, Accepted(f"odd-{luck}")),
        )
        return next((said for below, said in table if luck < below), None)
