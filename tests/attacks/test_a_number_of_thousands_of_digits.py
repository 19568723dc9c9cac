"""Somebody writes a character by a number of thousands of digits, which Python refuses to read: a 500 on every call."""

from typing import Any

import pytest

from tests.api.conftest import SENDER, Api

LONG = "9" * 4301
BODIES = (
    f"<p>&#{LONG};</p>",
    f"<p>&#{LONG}",
    f"<p>&#{'0' * 5000};</p>",
    f"<p>&#{'0' * 5000}65;</p>",
    f"<p>&#x{'f' * 5000};</p>",
    f"<p>x <a href='https://x.example/&#{LONG};'>y</a></p>",
    f"x<img alt='&#{LONG};'>",
)


@pytest.mark.promise(10)
@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_it_is_a_body_like_any_other(api: Api, body: str) -> None:
    mail: dict[str, Any] = {"from": SENDER, "subject": "x", "body": body}
    assert api.call("POST", "/batches", {**mail, "to": "ann@example.org"}).status == 202
    assert api.campaign(template=mail)
    assert api.call("POST", "/templates", {"channel": "email", "name": "x", **mail}).status == 201
