"""What the browser says of elements that a page replaces."""

import pytest

from tests.fakes.browser import MOVING, BrowserError


@pytest.mark.parametrize(
    ("value", "moves"),
    [
        ({"error": "stale element reference", "message": ""}, True),
        (
            {"error": "unknown error", "message": "unknown error: Node with given id does not belong to the document"},
            True,
        ),
        ({"error": "unknown error", "message": "unknown error: the tab crashed"}, False),
        ({"error": "no such element", "message": "no such element"}, False),
    ],
)
def test_an_element_that_is_replaced_is_looked_for_again(value: dict[str, str], *, moves: bool) -> None:
    assert (BrowserError(value).kind in MOVING) is moves
