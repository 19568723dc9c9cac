"""Requests that the use cases decline, as problems of the operators' routes."""

from typing import TypeVar

from shared.engine.intake.declined import Declined
from shared.web.problems import FieldError, Problem

T = TypeVar("T")


def accepted(found: T | Declined, *, absent: str = "") -> T:
    """Return what was accepted; Problem for what was declined.

    The command prints messages only, so each names its field.

    Args:
        absent: what is said if the thing itself is not there.
    """
    if not isinstance(found, Declined):
        return found
    faults = [FieldError(field=x.field, message=f"{x.field}: {x.text.rstrip('.')}") for x in found.faults]
    if found.code == "not_found":
        raise Problem("not_found", absent)
    # A credential that is not there is a fault of the field that names it.
    raise Problem("validation_failed" if found.code == "credential_not_found" else found.code, "", faults)
