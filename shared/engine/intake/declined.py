"""Why a request is not accepted, as a value that every door turns into its own form of answer."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from shared.domain.ids import named
from shared.domain.spending.limits import BARRED, Exceeded
from shared.frozen import dataclass

P = ParamSpec("P")
T = TypeVar("T")

INVALID = "validation_failed"
NO_GUEST: Final = "Team keys send only to guests of the account. Have an address added: PUT /guests/{address}."
MAX_COUNTRIES: Final = 10
"""Countries that a refusal names."""


@dataclass(frozen=True, slots=True)
class FieldFault:
    """A fault of one field.

    Attributes:
        field: path of the field, for example `cc.0`.
        text: a sentence for people.
        code: of a template, a mail or a recipient: what is wrong, stable.
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
    """A request that is not accepted. `code`: stable, one of docs/errors.md; `faults`: by field.

    `excess`: the limit that it would exceed, of a `quota_exceeded` or `too_many_schedules`.
    """

    code: str
    faults: tuple[FieldFault, ...] = ()
    excess: Exceeded | None = None


class Decline(Exception):
    """Leaves the rules as soon as one is broken; callers of the intake get its `declined` as a value."""

    def __init__(self, code: str, *faults: FieldFault) -> None:
        super().__init__(code)
        self.declined = Declined(code, faults)


def overspent(excess: Exceeded) -> Decline:
    """Return the refusal of a request that would exceed a limit."""
    found = Decline(excess.code)
    found.declined = Declined(excess.code, excess=excess)
    return found


def barred(countries: Sequence[str]) -> Decline:
    """Return the refusal of numbers of countries to which an account does not send."""
    named = ", ".join(countries[:MAX_COUNTRIES]) + (" and others" if len(countries) > MAX_COUNTRIES else "")
    text = f"Operators have not allowed this account to send to numbers of {named or 'no country'}."
    return Decline(BARRED, FieldFault("to", text))


def invalid(field: str, text: str) -> Decline:
    """Return the refusal of one field."""
    return Decline(INVALID, FieldFault(field, text))


def no_credential(field: str, name: str) -> Decline:
    """Return the refusal of a credential that is not there, or not for this account."""
    return Decline("credential_not_found", FieldFault(field, credential_words(name)))


def credential_words(name: str) -> str:
    """Return that a credential is not there, as a sentence that names it."""
    return f"No {named('credential', name)} is open to this account. GET /credentials lists those that are."


def no_sender(field: str, sender: str) -> Decline:
    """Return the refusal of a sender that is not the account's; `sender`: its normalised address."""
    text = f"This account may not send from {sender}. Prove its domain, or ask an operator."
    return Decline("from_not_allowed", FieldFault(field, text))


def as_value(rule: Callable[P, T]) -> Callable[P, T | Declined]:
    """Return a rule that returns why it declines, instead of raising it."""

    @wraps(rule)
    def valued(*args: P.args, **kwargs: P.kwargs) -> T | Declined:
        try:
            return rule(*args, **kwargs)
        except Decline as found:
            return found.declined

    return valued
