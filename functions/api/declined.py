"""Requests that the intake declines, as problems of the API."""

from typing import Final, TypeVar

from shared.domain.spending.limits import Exceeded, sentence, shown
from shared.engine.intake.declined import Declined, FieldFault
from shared.web.problems import FieldError, Problem, QuotaFacts
from shared.web.views import moment

T = TypeVar("T")
SAID_ONCE: Final = frozenset({"credential_not_found", "from_not_allowed"})
"""Codes whose field says all that the code means, and names the missing thing."""


def accepted(found: T | Declined, *, absent: Problem | None = None) -> T:
    """Return what was accepted; Problem for what was declined. `absent`: what is raised for something not there."""
    if isinstance(found, Declined):
        if found.code == "not_found" and absent is not None:
            raise absent
        if found.excess is not None:
            raise overspent(found.excess)
        raise Problem(found.code, _detail(found), [_error(fault) for fault in found.faults])
    return found


def overspent(excess: Exceeded) -> Problem:
    """Return the problem of a request that would exceed a limit."""
    limit, used = (shown(excess.measure, x) for x in (excess.limit, excess.used))
    facts = QuotaFacts(excess.measure, limit, used, moment(excess.resets_at) if excess.daily else None)
    return Problem(excess.code, sentence(excess), headers={"Retry-After": str(excess.wait)}, facts=facts)


def _detail(found: Declined) -> str:
    """Return the sentence of the one field that is wrong; empty where fields add to what the code means."""
    faults = found.faults
    return faults[0].text if len(faults) == 1 and found.code in SAID_ONCE else ""


def _error(fault: FieldFault) -> FieldError:
    return FieldError(
        field=fault.field,
        message=fault.text,
        code=fault.code,
        offset=fault.offset,
        line=fault.line,
        column=fault.column,
    )
