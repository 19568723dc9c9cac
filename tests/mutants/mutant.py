"""What a sabotage is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    """One sabotage.

    Attributes:
        name: what the sabotaged code does.
        promise: number in docs/promises.md that it breaks.
        file: path from the root; `old` stands in it exactly once and becomes `new`.
        test: node id of the one test that must turn red.
    """

    name: str
    promise: int
    file: str
    old: str
    new: str
    test: str
