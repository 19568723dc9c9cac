"""Sabotages of the rules of runs: what is withdrawn, expired or closed is never sent (N)."""

from typing import Final

from tests.mutants.mutant import Mutant

_RULES: Final = "shared/domain/jobs/runs.py"

RUNS: Final = (
    Mutant(
        "a recipient is called for after its time",
        1,
        "shared/engine/lane/lease.py",
        "if 0 < not_after < end]",
        "if 0 < not_after < 0]",
        "tests/engine/test_runs.py::test_who_has_expired_is_not_called_for",
    ),
    Mutant(
        "a claimed recipient is withdrawn",
        1,
        _RULES,
        "if cells[i] & 15 in (Cell.QUEUED, Cell.RETRY):",
        "if cells[i] & 15 in (Cell.QUEUED, Cell.RETRY, Cell.CLAIMED):",
        "tests/domain/test_runs.py::test_only_what_waits_is_taken_out[2-13]",
    ),
    Mutant(
        "a late refusal reopens a closed recipient",
        1,
        "shared/domain/jobs/states.py",
        "Cell.UNKNOWN_CLOSED: 5,",
        "Cell.UNKNOWN_CLOSED: 1,",
        "tests/domain/test_runs.py::test_nothing_but_a_delivery_or_a_bounce_changes_a_closed_cell[dropped-12]",
    ),
    Mutant(
        "an owner stops a run",
        4,
        "shared/engine/jobs/stop.py",
        "if job is None or job.owned_by_notices:",
        "if job is None:",
        "tests/engine/test_runs.py::test_nobody_stops_resumes_or_retries_a_run",
    ),
)
