"""Why a request is not accepted, as a value that every door turns into its own form of answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from shared.domain.ids import named
from shared.domain.jobs.outcomes import NOT_A_GUEST
from shared.domain.spending.limits import BARRED, CODE, Exceeded

P = ParamSpec("P")
T = TypeVar("T")

INVALID = "validation_failed"
NO_GUEST: Final = "Team keys send only to guests of the account. Have an address added: PUT /guests/{address}."
MAX_COUNTRIES: Final = 10
"""Countries that a refusal names."""
MAX_NAMED: Final = 3
"""Recipients that a refusal names."""


@dataclass(frozen=True, slots=True)
class FieldFault:
    """A fault of one field.

    Attributes:
        field: path of the field, for example `cc.0`.
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
    """A request that is not accepted. `code`: stable, one of docs/errors.md; `faults`: by field.

    `excess`: the limit of a day that it would exceed, of a `quota_exceeded`.
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
    """Return the refusal of a request that would exceed a limit of the day."""
    found = Decline(CODE)
    found.declined = Declined(CODE, excess=excess)
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


def none_left(field: str, kind: str, left: Sequence[tuple[str, str]]) -> Decline:
    """Return the refusal of a request of which no recipient is left. It names the first of them, with the reasons.

    Args:
        kind: what they are called there.
        left: each as it was given, and why it is left out: a code, or a sentence without its period.
    """
    if {why for _, why in left} == {NOT_A_GUEST}:
        return Decline("no_valid_recipient", FieldFault(field, NO_GUEST))
    said = [f"No {kind} is left.", *(f"{name}: {why.replace('_', ' ')}." for name, why in left[:MAX_NAMED])]
    if len(left) > MAX_NAMED:
        said.append(f"{len(left) - MAX_NAMED} more.")
    return Decline("no_valid_recipient", FieldFault(field, " ".join(said)))


def as_value(rule: Callable[P, T]) -> Callable[P, T | Declined]:
    """Return a rule that returns why it declines, instead of raising it."""

    @wraps(rule)
    def valued(*args: P.args, **kwargs: P.kwargs) -> T | Declined:
        try:
            return rule(*args, **kwargs)
        except Decline as found:
            return found.declined

    return valued
