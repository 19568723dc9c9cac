"""The tutorial's commands, typed in their order into one shell on the local cloud."""

import csv
import io
import re
from pathlib import Path
from typing import Final

import pytest

from infra.local.cloud import Cloud
from infra.local.paths import ROOT
from infra.local.processes import wait_for
from tests.deployed.api import Api
from tests.deployed.shell import checkout, typed

pytestmark = pytest.mark.deployed

BLOCKS: Final[list[str]] = re.findall(
    r"^```sh\n(.*?)^```$", (ROOT / "docs" / "tutorial.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
)
BOUNCED: Final = "/suppressions/bounce@example.net"


@pytest.fixture
def folder(cloud: Cloud, tmp_path: Path) -> Path:
    return checkout(cloud, tmp_path)


def test_a_newcomer_types_the_tutorial(cloud: Cloud, api: Api, folder: Path) -> None:
    start, *steps, end = BLOCKS
    assert (start, end) == ("make up\n", "make down\n")
    first = typed(steps[0], folder)
    assert "3 recipients" in first
    assert "done" in first
    assert wait_for(lambda: api.call("GET", BOUNCED).status == 200, 60)

    said = typed("\n".join(steps), folder)
    (batch,) = re.findall(r"^batch (\w+) accepted", first, re.MULTILINE)
    assert f"batch {batch} accepted" in said, "the same key gives the same batch"
    assert re.search(r"failed .*bounce@example\.net", said)
    assert '"reason"' in said
    assert "invalid_address" in said
    rows = csv.DictReader(io.StringIO((folder / ".local" / "tutorial-result.csv").read_text("utf-8-sig")))
    assert {row["recipient"]: row["state"] == "skipped" for row in rows if "@" in row["recipient"]} == {
        "ada@example.com": False,
        "grace@example.org": False,
        "bounce@example.net": True,
    }
    assert api.call("DELETE", BOUNCED).status < 300
