"""Dead letters of a queue, with what each is about; they are redriven after a question that names their number."""

from typing import Final
from urllib.parse import quote

from functions.console import lists
from functions.console.call import ConsoleCall
from functions.console.pages.dead_letters.routes import names_of
from functions.console.pages.pressing import press
from functions.console.screen import Denial, PageRoute, absent
from shared.web.http import Answer

SHOWN: Final = 20
"""Letters on the page that asks."""
DIGITS: Final = 7


def ask_to_redrive(call: ConsoleCall) -> Answer:
    """Show what is dead in a queue, and ask whether it is to be worked on again."""
    name = _queue(call)
    found = press(call, "GET", f"/queues/{quote(name, safe='')}/letters", {"limit": SHOWN})
    return call.services.pages.page(call, "dead_letters/redrive.html", {"found": found})


def redrive(call: ConsoleCall) -> Answer:
    """Have dead letters worked on again while a page has time, and say how many were."""
    name, many = _queue(call), lists.number(call.form.get("limit", ""), DIGITS)
    run = call.form.get("run", "")
    if not many:
        raise Denial(422, "This is no number", "Open the page again.")
    body = {"run": run, "limit": many, "discard": bool(call.form.get("discard"))}
    done = press(call, "POST", f"/queues/{quote(name, safe='')}/redrive", body)
    rest = max(0, many - done["moved"]) if done["more"] else 0
    context = {"done": done, "rest": rest, "discard": body["discard"]}
    return call.services.pages.page(call, "dead_letters/redriven.html", context)


def _queue(call: ConsoleCall) -> str:
    name = call.path["queue"]
    if name not in names_of(call):
        raise absent("queue")
    return name


ROUTES: Final = (
    PageRoute("GET", "/console/dead-letters/{queue}", "ask to redrive a queue", ask_to_redrive, operators=True),
    PageRoute("POST", "/console/dead-letters/{queue}", "redrive a queue", redrive, operators=True),
)
