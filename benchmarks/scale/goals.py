"""The goals of the simulated day: each with what was found, and whether it is met."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.scale.hot import READS, WRITES
from benchmarks.scale.page import Shown, table
from benchmarks.scale.scenes import LOADS
from shared.domain.times import Seconds

ALIKE: Final = 1.1
"""The costs at three loads differ by less than this factor."""
NOON: Final = ("busiest", "noon", "products")
WAITS: Final[Mapping[tuple[str, str], tuple[Seconds, Seconds]]] = {
    ("busiest", "single"): (1.0, 2.0),
    ("noon", "single"): (1.0, 2.0),
    ("night", "single"): (1.0, 2.0),
    ("failing", "single"): (5.0, 10.0),
    ("hour", "single"): (10.0, 30.0),
    ("busiest", "bulk"): (5.0, 10.0),
    ("noon", "bulk"): (5.0, 10.0),
    ("products", "notice"): (15.0, 30.0),
    ("products", "digest"): (3.0, 5.0),
    ("products", "mail"): (1.0, 2.0),
    ("products", "webhook"): (15.0, 20.0),
}
"""Scene and kind → seconds that 95 and 99 of a hundred messages wait at the most."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal. `found`, `most`: in words."""

    name: str
    found: str
    most: str
    met: bool


def goals(shown: Mapping[str, Shown]) -> list[Goal]:
    """Return the goals that some scenes can show. `shown`: by the scene's name in `DAY`."""
    return [*_each(shown), *_noon(shown), *_waits(shown), *_costs(shown)]


def markdown(found: Sequence[Goal]) -> str:
    """Return the table of goals."""
    rows = [(x.name, x.found, x.most, "ok" if x.met else "**not**") for x in found]
    return table(("goal", "found", "at the most", ""), rows)


def _each(shown: Mapping[str, Shown]) -> Iterator[Goal]:
    """Yield what must hold in each scene; what was found is that of the worst one."""
    counts: Mapping[str, tuple[Callable[[Shown], float], float]] = {
        "messages sent twice": (lambda x: x.twice, 0),
        "messages not sent": (lambda x: x.left, 0),
        "worst second, % of the credential's rate": (lambda x: x.worst, 100),
        "worst day, % of the credential's quota": (lambda x: x.quota, 100),
        "events that an endpoint did not hear": (lambda x: x.heard[0] - x.heard[1], 0),
        "sweeps that did not see everything": (lambda x: x.swept[0] - x.swept[1], 0),
        "calls for which a partition had no room": (lambda x: x.throttled, 0),
    }
    for name, (of, most) in counts.items():
        if shown:
            worst = max(shown.values(), key=of)
            where = f" ({worst.name})" if of(worst) else ""
            yield Goal(name, f"{of(worst):,.0f}{where}", f"{most:,.0f}", of(worst) <= most)


def _noon(shown: Mapping[str, Shown]) -> Iterator[Goal]:
    for index, (what, most) in enumerate((("write", WRITES), ("read", READS))):
        for name in NOON:
            if name in shown:
                units = shown[name].busiest[index]
                title = f"busiest partition, {what} units/s, {shown[name].name}"
                yield Goal(title, f"{units:,.0f}", f"{most:,.0f}", units <= most)


def _waits(shown: Mapping[str, Shown]) -> Iterator[Goal]:
    for (name, kind), most in WAITS.items():
        if name in shown and kind in shown[name].waits:
            found = tuple(shown[name].waits[kind][1:])
            title = f"seconds of {kind}, p95 and p99, {shown[name].name}"
            met = all(x <= y for x, y in zip(found, most, strict=True))
            yield Goal(title, f"{found[0]:.1f}, {found[1]:.1f}", f"{most[0]:.0f}, {most[1]:.0f}", met)


def _costs(shown: Mapping[str, Shown]) -> Iterator[Goal]:
    found = [shown[f"load-{n}"].cost for n in LOADS if f"load-{n}" in shown]
    if len(found) == len(LOADS):
        times = max(found) / min(found)
        words = ", ".join(f"{x:.2f}" for x in found)
        title = f"dollars a million messages at {', '.join(map(str, LOADS))} million a day, dearest by cheapest"
        yield Goal(title, f"{times:.2f} ({words})", f"{ALIKE:.2f}", times <= ALIKE)
