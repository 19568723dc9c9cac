"""One page that asks before something is changed, with the number of what it is about; its button does it."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Final, TypeVar

from functions.console.call import ConsoleCall
from functions.console.screen import Denial, redirect
from shared.engine.intake.declined import Declined
from shared.frozen import dataclass
from shared.web.http import Answer
from shared.web.problems import Problem

T = TypeVar("T")
SURE: Final = "sure"
"""The field of a form that asks about what was posted to it: the visitor has answered."""
MAX_REASON: Final = 100
"""Characters."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the form that answers it.

    Attributes:
        section: of the menu.
        title: the question itself.
        count: of what the change is about; None: of nothing that can be counted.
        what: the rest of the sentence that begins with the count, or what the change does.
        label: of the button.
        back: address of the page that it came from, below the account.
        fields: name → value of the form's further fields.
        danger: it takes something away.
        reason: the form has a field for why.
    """

    section: str
    title: str
    count: int | None
    what: str
    label: str
    back: str
    fields: Mapping[str, str] = field(default_factory=dict)
    danger: bool = True
    reason: bool = False


def ask(call: ConsoleCall, question: Question) -> Answer:
    """Ask; what is posted goes to the address of the page itself."""
    return call.services.pages.page(call, "ask.html", {"question": question})


def done(found: T | Declined) -> T:
    """Return what was done.

    Raises:
        Denial: a use case declined to.
    """
    if not isinstance(found, Declined):
        return found
    problem = Problem(found.code, errors=[(fault.field, fault.text) for fault in found.faults])
    said = " ".join(error.message for error in problem.field_errors) or problem.sentence
    raise Denial(problem.status, "This is not possible", said)


def turned(call: ConsoleCall, change: Callable[[str, str], bool], back: str) -> Answer:
    """Turn a switch of operators in the visitor's name; one that is so already stays.

    Args:
        look: the visit; its form may have a reason.
        change: turns it, given the actor and the reason.
        back: the page to show then, below the console.
    """
    reason = call.form.get("reason", "").strip() or "operator"
    if len(reason) > MAX_REASON:
        raise Denial(422, "This reason is too long", f"Type up to {MAX_REASON} characters.")
    try:
        change(call.actor, reason)
    except ValueError as refused:
        raise Denial(422, "Nothing was changed", f"{refused}.") from None
    return redirect(f"{call.home}{back}")
