"""Why a request is not accepted, as a value that every door turns into its own form of answer."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

INVALID = "validation_failed"


@dataclass(frozen=True, slots=True)
class FieldFault:
    """What is wrong with one field.

    Attributes:
        field: path of the field, e.g. `cc.0`.
        text: a sentence for people.
        code: of a template: what is wrong, stable.
        offset: of a template: characters before the place, from 0.
        line: of a template: from 1.
        column: of a template: characters into the line, from 1.
    """

    field: str
    text: str
    code: str | None = None
    offset: int | None = None
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True)
class Declined:
    """A request that is not accepted. `code`: stable, one of docs/errors.md; `faults`: by field."""

    code: str
    faults: tuple[FieldFault, ...] = ()


class Decline(Exception):
    """Leaves the rules as soon as one is broken; callers of the intake get its `declined` as a value."""

    def __init__(self, code: str, *faults: FieldFault) -> None:
        super().__init__(code)
        self.declined = Declined(code, faults)


def invalid(field: str, text: str) -> Decline:
    """Return the refusal of one field."""
    return Decline(INVALID, FieldFault(field, text))


def as_value(rule: Callable[P, T]) -> Callable[P, T | Declined]:
    """Return a rule that returns why it declines, instead of raising it."""

    @wraps(rule)
    def valued(*args: P.args, **kwargs: P.kwargs) -> T | Declined:
        try:
            return rule(*args, **kwargs)
        except Decline as found:
            return found.declined

    return valued
