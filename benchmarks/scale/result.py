"""The outcome of a scene of the simulated day."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.scale.scenes import Scene
from shared.domain.times import Seconds


@dataclass(frozen=True, slots=True)
class Sample:
    """A moment of a scene. `waiting`: accepted messages that no provider has; `events`: that no tracker has joined."""

    at: Seconds
    waiting: int
    events: int


@dataclass(slots=True)
class Result:
    """The outcome of a scene; waits in seconds.

    Attributes:
        messages: that were accepted; of each kind, `waits` has those of which it counts.
        waits: kind of message → seconds from the begin of its acceptance to the provider's call, sorted.
        worst: the highest share of a declared rate in any second, in percent.
        refused: requests of clients that got an error, and were repeated.
        twice, left: messages that a provider took twice, and that none took.
        swept: runs of the sweeper, and how many of them saw everything.
        throttled: calls that DynamoDB refused for want of room, by partition.
        busiest: units written and read in the busiest second of any partition.
        quota: the highest share of a credential's quota of a day, in percent; 0 if none has one.
        heard: events that endpoints were to hear, that they heard, and that they heard once more.
        written: write units of a table, for a message.
        dollars: for a million messages, by what they are paid for.
    """

    scene: Scene
    messages: int
    waits: Mapping[str, Sequence[Seconds]]
    samples: Sequence[Sample]
    worst: float
    refused: int
    twice: int
    left: int
    swept: tuple[int, int]
    throttled: Mapping[tuple[str, str], int]
    busiest: tuple[float, float]
    quota: float
    heard: tuple[int, int, int]
    written: Mapping[str, float]
    dollars: Mapping[str, float]
    starts: int

    def quantile(self, kind: str, share: float) -> Seconds:
        """Return the wait that a share of the messages does not exceed."""
        found = self.waits[kind]
        return found[min(len(found) - 1, int(share * len(found)))] if found else 0.0

    @property
    def cost(self) -> float:
        """Dollars of a million messages."""
        return sum(self.dollars.values())
