"""The tutorial's commands, typed in their order into one shell on the local cloud."""

import csv
import io
import re
from collections.abc import Callable
from typing import Final

import pytest

from infra.local.processes import wait_for
from tests.deployed import guides
from tests.deployed.api import LOOK_SECONDS, Api
from tests.deployed.following import Reader

pytestmark = pytest.mark.deployed

BOUNCED: Final = "/suppressions/bounce@example.net"
ENDS: Final = {"delivered", "failed", "skipped"}


def test_a_newcomer_types_the_tutorial(api: Api, opened: Callable[[], Reader]) -> None:
    first, *steps = guides.steps(guides.page("tutorial"))
    reader = opened()
    (batch,) = re.findall(r"^batch (\w+) accepted", reader.follow([first]), re.MULTILINE)
    assert wait_for(lambda: api.call("GET", BOUNCED).status == 200, 60, LOOK_SECONDS)
    assert wait_for(lambda: {line["state"] for line in api.lines(batch)} <= ENDS, 60, LOOK_SECONDS)
    *campaign, export = steps
    reader.follow(campaign)
    (newest,) = api.get("/campaigns?limit=1")["items"]
    where = f"/campaigns/{newest['campaign_id']}/messages"
    assert wait_for(lambda: {line["state"] for line in api.items(where)} <= ENDS, 60, LOOK_SECONDS)
    reader.follow([export])

    rows = csv.DictReader(io.StringIO((reader.folder / ".local" / "tutorial-result.csv").read_text("utf-8-sig")))
    assert {row["recipient"]: row["state"] == "skipped" for row in rows if "@" in row["recipient"]} == {
        "ada@example.com": False,
        "grace@example.org": False,
        "bounce@example.net": True,
    }
    assert api.call("DELETE", BOUNCED).status < 300
