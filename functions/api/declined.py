"""What the intake declines, as problems of the API."""

from typing import TypeVar

from shared.engine.intake.declined import Declined, FieldFault
from shared.web.problems import FieldError, Problem

T = TypeVar("T")


def accepted(found: T | Declined, *, absent: Problem | None = None) -> T:
    """Return what was accepted; Problem for what was declined. `absent`: what is raised for something not there."""
    if isinstance(found, Declined):
        if found.code == "not_found" and absent is not None:
            raise absent
        raise Problem(found.code, errors=[_error(fault) for fault in found.faults])
    return found


def _error(fault: FieldFault) -> FieldError:
    return FieldError(
        field=fault.field,
        message=fault.text,
        code=fault.code,
        offset=fault.offset,
        line=fault.line,
        column=fault.column,
    )
