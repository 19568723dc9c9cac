"""Each button that changes something asks first, or the page of the console says why it does not."""

import re
from typing import Final

import pytest

from functions.console.screens import ROUTES
from infra.local.paths import ROOT
from tests.console.console import Console

POSTS: Final = {route.path: route.name for route in ROUTES if route.method == "POST"}
ASKED: Final = {
    POSTS[route.path] for route in ROUTES if route.name.startswith("ask ") and route.path in POSTS and not route.public
}
ASKS_ITSELF: Final = "suppress an address"
"""Its first form is answered by a question."""
ROW: Final = re.compile(r"^\| ([^|]+) \| ([^|]+\.) \|$", re.MULTILINE)


def unasked() -> dict[str, str]:
    """Return the changes that do not ask, with their reasons, as the page of the console names them."""
    page = (ROOT / "docs" / "console.md").read_text("utf-8")
    table = page.partition("### What asks first")[2].partition("\n### ")[0]
    return {name: why for names, why in ROW.findall(table) for name in names.split(", ")}


def test_each_change_asks_first_or_has_a_reason_not_to() -> None:
    assert set(POSTS.values()) == ASKED | {ASKS_ITSELF} | set(unasked())
    assert not ASKED & set(unasked())


def test_a_question_may_be_read_by_those_who_may_answer_it() -> None:
    needed = {(route.method, route.path): (route.scope, route.operators) for route in ROUTES}
    for path, name in POSTS.items():
        if name in ASKED:
            assert needed["GET", path] == needed["POST", path], name


def test_a_suppression_is_not_stored_before_its_question_is_answered(console: Console) -> None:
    console.member()
    asked = console.post(f"/{console.account}/suppressions/add", address="ann@example.org", list="all")
    assert asked.status == 200
    assert "Send nothing more to ann@example.org?" in asked.text
    assert "ann@example.org" not in console.shown("/suppressions?list=all")


@pytest.mark.parametrize("what", ["mails/{}/hurry", "hooks/{}/enable"])
def test_a_question_about_what_is_not_there_is_refused(console: Console, what: str) -> None:
    console.member()
    assert console.get(f"/{console.account}/{what.format('0' * 26)}?address=ann%40example.org").status == 404
