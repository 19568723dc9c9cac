"""Ledgers for tests."""

from dataclasses import replace

from hypothesis import strategies as st

from shared.domain.jobs import ledger as rules
from shared.domain.jobs.ledger import BY_KEYS, Ledger, LedgerStatus
from shared.domain.jobs.passes import PassContext
from shared.domain.jobs.states import Cell

ROUTE = ("one", "two", "three")
NOW = 1_790_000_000_000
JOB = "01j00000000000000000000000"


def ledger(*cells: tuple[Cell, int], route: tuple[str, ...] = ROUTE, limit: int = 6, **fields: object) -> Ledger:
    """Return an idle ledger with the given (state, attempt) cells."""
    new = rules.create(
        job=JOB, chunk=0, skipped=(), size=len(cells), lane=route[0], route=route, limit=limit, ttl=NOW // 1000
    )
    return replace(new, cells=bytes(attempt << 4 | state for state, attempt in cells), **fields)  # type: ignore[arg-type]


def busy(*cells: tuple[Cell, int], **fields: object) -> Ledger:
    """Return a ledger that a worker holds."""
    held = {"status": LedgerStatus.BUSY, "owner": "me", "epoch": 1, "seq": 1, "until": NOW + 1000}
    return ledger(*cells, **{**held, **fields})  # type: ignore[arg-type]


def passing(now: int = NOW, route: tuple[str, ...] = ROUTE, **fields: object) -> PassContext:
    """Return what a release knows; the rounds wait 10, 20, … s."""
    return PassContext(route=route, now=now, delay=lambda n: n * 10_000, **fields)  # type: ignore[arg-type]


def states(x: Ledger) -> list[Cell]:
    """Return the state of every cell."""
    return [x.cell(i)[0] for i in range(len(x.cells))]


def by(x: Ledger, credential: str, route: tuple[str, ...] = ROUTE) -> dict[str, int]:
    """Return the figures of one credential, without zeros."""
    at = route.index(credential) * len(BY_KEYS)
    return {k: v for k, v in zip(BY_KEYS, x.by[at : at + len(BY_KEYS)], strict=True) if v}


CELLS = st.tuples(st.sampled_from(Cell), st.integers(0, 15)).filter(lambda c: c[0] is not Cell.CLAIMED or c[1] > 0)
