"""The scenes of the simulated day: which credentials, at which load, and what fails."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil, inf
from typing import Final

from benchmarks.scale.hot import A_DAY, CREDENTIALS, PEAK, zipf
from shared.domain.times import Seconds

NIGHT: Final = 0.2
"""Of the average load."""
_MILLION: Final = 1_000_000
LOADS: Final = (1, 10, 100)
"""Million messages a day whose costs are compared."""
BEGIN: Final[Seconds] = 1_790_000_000.0
NEARLY_THREE: Final[Seconds] = 1_790_002_770.0
"""Half a minute before an hour."""
Span = tuple[Seconds, Seconds]
"""From and to, in seconds of a scene."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Some minutes of some lanes.

    Attributes:
        ranks: of the credentials, 1 for the one with the largest share. Two after each other are a route: each carries
            what the other cannot.
        load: multiple of the average load.
        seconds: for which messages are posted. The scene ends once all are sent, or after `most` more.
        down: rank → when its provider fails.
        hiccup: when DynamoDB has one.
        products: share of the messages, besides, that are records of a notifier, events of digests, and mails, each.
        begins: Unix seconds.
        quota: messages a day that the first credential may send; 0: no quota.
        batch: messages of a batch; 0: as many as come in some seconds.
        few: rate and workers are those of a stage for this load, not for that of the goal.
    """

    name: str
    about: str
    ranks: tuple[int, ...]
    load: float
    seconds: Seconds
    most: Seconds = 600.0
    down: Mapping[int, Span] = field(default_factory=dict)
    hiccup: Span = (inf, inf)
    products: float = 0.0
    begins: Seconds = BEGIN
    quota: int = 0
    batch: int = 0
    few: bool = False

    def messages(self, rank: int, load: float | None = None) -> float:
        """Return a credential's messages a second."""
        return A_DAY / 86_400 * zipf(CREDENTIALS) / rank * (self.load if load is None else load)

    def part(self, share: float) -> "Scene":
        """Return the scene with a share of its time, its troubles included."""
        down = {rank: (begin * share, end * share) for rank, (begin, end) in self.down.items()}
        hiccup = (self.hiccup[0] * share, self.hiccup[1] * share)
        quota = ceil(self.quota * share)
        return replace(self, seconds=self.seconds * share, down=down, hiccup=hiccup, quota=quota)

    @property
    def work(self) -> float:
        """The messages that are posted: about what it takes to run the scene."""
        return self.seconds * sum(map(self.messages, self.ranks))

    @property
    def trouble(self) -> Span | None:
        """When something fails; None if nothing does."""
        begin, end = min([self.hiccup, *self.down.values()])
        return None if begin == inf else (begin, end)

    @property
    def share(self) -> float:
        """The scene's part of all messages."""
        return sum(zipf(CREDENTIALS) / rank for rank in self.ranks)


DAY: Final[Mapping[str, Scene]] = {
    "busiest": Scene(
        "noon, the busiest credential", "The credential with a fifth of all messages, at noon.", (1,), PEAK, 60
    ),
    "noon": Scene("noon, two credentials", "Credentials 10 and 11 by size, at noon.", (10, 11), PEAK, 120),
    "night": Scene("night, the busiest credential", "The same credential at a fifth of the average.", (1,), NIGHT, 300),
    "failing": Scene(
        "two of a hundred fail",
        "Ten credentials at noon, of which one fails for a fifth of the time.",
        tuple(range(41, 51)),
        PEAK,
        200,
        down={41: (60, 100)},
    ),
    "hiccup": Scene(
        "five minutes of DynamoDB",
        "DynamoDB refuses three of ten calls for a while, and takes ten to fifty times as long for the others.",
        (30, 31),
        PEAK,
        420,
        hiccup=(60, 360),
    ),
    "hour": Scene(
        "an hour without a provider",
        "The provider of one of two credentials fails.",
        (90, 91),
        PEAK,
        4000,
        down={90: (300, 3900)},
    ),
    "products": Scene(
        "noon, notices, digests and mails",
        "Credentials 20 and 21 by size. Besides, a tenth as many notices, events of digests, and finished mails, each.",
        (20, 21),
        PEAK,
        120,
        products=0.1,
        begins=NEARLY_THREE,
    ),
    "quota": Scene(
        "a quota of a day",
        "The first of two credentials may send half of what is posted to it. The rest goes to the other.",
        (40, 41),
        PEAK,
        120,
        quota=1600,
    ),
    **{
        f"load-{times}": Scene(
            f"{times:,} million a day",
            "The busiest credential on average. Batches have 100 messages.",
            (1,),
            times * _MILLION / A_DAY,
            60 * 100 / times,
            batch=100,
            few=True,
        )
        for times in LOADS
    },
}
"""Name → scene."""
