"""The page that leads through the code of one message names the functions that are called, in their order."""

import re
import sys
from types import FrameType
from typing import Any, Final

from infra.settings import ROOT
from tests.api.conftest import Api

ROW: Final = re.compile(r"^\| *\w* *\| `([\w/]+\.py)` \| `([\w.]+)` \|", re.MULTILINE)


def named() -> list[tuple[str, str]]:
    """Return place and function of each step of the page."""
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    (section,) = re.findall(r"^## One message, call by call\n(.*?)^## ", page, re.MULTILINE | re.DOTALL)
    return ROW.findall(section)


def test_one_message_is_accepted_sent_and_logged_by_the_calls_of_the_page(api: Api) -> None:
    steps = named()
    wanted = set(steps)
    called: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            code = frame.f_code
            place = code.co_filename.removeprefix(f"{ROOT}/"), code.co_qualname
            if place in wanted:
                called.append(place)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        api.world.jobs.append(api.batch(["ben@example.org"]).json["job_id"])
        api.world.settle()
    finally:
        sys.setprofile(before)
    assert len(steps) > 20
    assert [step for step in steps if step not in called] == []
    rest = iter(called)
    assert [step for step in steps if step not in rest] == [], "in this order"
