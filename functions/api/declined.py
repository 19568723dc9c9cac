"""What the intake declines, as problems of the API."""

from typing import TypeVar

from shared.engine.intake.declined import Declined, FieldFault
from shared.web.problems import FieldError, Problem

T = TypeVar("T")


def accepted(found: T | Declined) -> T:
    """Return what was accepted; Problem for what was declined."""
    if isinstance(found, Declined):
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
