"""Every command of the runbooks is run on the local cloud, page by page, with a job and a credential of its own.

What needs AWS itself is marked on the page, with its reason. Before the commands run, each page's placeholders are
replaced by what the local cloud has.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from infra.local.cloud import Cloud
from infra.local.processes import wait_for
from shared.domain.spending.limits import MEASURES
from tests.deployed import guides
from tests.deployed.api import LOOK_SECONDS, Api
from tests.deployed.inside import Inside
from tests.deployed.shell import checkout, typed

pytestmark = pytest.mark.deployed

RUNBOOKS: Final = sorted(file.stem for file in (guides.DOCS / "runbooks").glob("*.md"))
LANE: Final = "rate-10"
SHELL: Final = "export STAGE=dev"
"""How the block of operations.md begins that defines the helpers of the runbooks."""
QUESTIONS: Final = re.compile(r"^posthaste (?:redrive|(?:batch|campaign) (?:resume|retry))\b(?!.*--dry-run)")
"""What asks on a terminal. The test has none."""
CHANGED: Final = re.compile(r"\bposthaste (?:pause|stop|rate set)\b")
"""What other pages would notice of a page that was typed."""
RESTORED: Final = (
    f"posthaste resume --credential {LANE} || true\nposthaste rate reset {LANE} || true\n"
    "posthaste resume --account demo || true\n"
)
UNLIMITED: Final = "posthaste account limit demo --countries all " + " ".join(f"--{x} default" for x in MEASURES) + "\n"
"""Other pages send more than the limits of the page of operations."""
SECRET: Final = "posthaste credential set "
"""It asks for secrets, which a test of its own types: tests/cli/test_credentials.py."""


@dataclass(frozen=True, slots=True)
class Shift:
    """An operator at night: a checkout, and what the placeholders of the pages stand for.

    `function`: the name that the helpers find for the lane's sender; it is in `$name`.
    """

    folder: Path
    values: dict[str, str]
    function: str = ""

    def types(self, commands: str) -> str:
        """Type commands into a new shell that has the helpers; return what it prints. `KEY_ID` is a key made for it."""
        if "KEY_ID" in commands:
            made = json.loads(self.types("posthaste key create demo --json"))
            commands = commands.replace("KEY_ID", made["key_id"])
        (helpers,) = [block for block in guides.local(guides.page("operations")) if block.startswith(SHELL)]
        setting = f". ./.local/env\n{guides.PROGRAMS}{helpers}\nname='{self.function}'\n"
        return typed(setting + guides.filled(commands, self.values), self.folder)


@pytest.fixture(scope="module")
def shift(
    cloud: Cloud,
    api: Api,
    inside: Inside,
    aws: Callable[[str], Any],
    forked: dict[str, list[str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Shift:
    """Return a checkout with a finished batch, a campaign, and the ids of a request and of an event source."""
    folder = checkout(cloud, tmp_path_factory.mktemp("shift"))
    guides.add_programs(folder, forked)
    batch = api.post(["runbook@example.com"], LANE)
    api.finished(batch)
    said = {"subject": "Hello", "body": "Hello {{ name }}", "from": "news@example.com"}
    body = {"name": "Runbook", "channel": "email", "credential_id": "campaign-mail", "template": said}
    campaign = api.call("POST", "/campaigns", body).body["campaign_id"]
    rows = {"recipients": [{"recipient": "runbook@example.com", "name": "Ann"}]}
    assert api.call("PUT", f"/campaigns/{campaign}/recipients", rows).status == 202
    assert wait_for(lambda: api.get(f"/campaigns/{campaign}")["state"] == "ready", 60, LOOK_SECONDS)
    api.finished(api.call("POST", f"/campaigns/{campaign}/send", {}).body["job_id"])
    mapping = inside.functions.list_event_source_mappings(FunctionName=inside.names[LANE])["EventSourceMappings"][0]
    rule = aws("events").list_rules(NamePrefix="posthaste-")["Rules"][0]["Name"]
    values = {
        "CREDENTIAL": LANE,
        "RATE": "5",
        "ACCOUNT": "demo",
        "BATCH": batch,
        "JOB": batch,
        "CAMPAIGN": campaign,
        "CIDR": "192.0.2.0/24",
        "QUEUE": "due",
        "THE_ID": api.call("GET", "/jobs").headers["x-request-id"],
        "UUID": mapping["UUID"],
        "NAME": rule,
        "N": "6",
    }
    found = Shift(folder, values).types(f"functions | awk '$1 == \"send-{LANE}\" {{print $2}}'").strip()
    assert found == inside.names[LANE]
    return Shift(folder, values, found)


def test_the_commands_of_the_page_of_operations_run(shift: Shift) -> None:
    helpers, *blocks = guides.local(guides.page("operations"))
    assert helpers.startswith(SHELL)
    try:
        for block in blocks:
            shift.types("\n".join(in_a_test(line) for line in block.splitlines()))
    finally:
        shift.types(f"posthaste resume --all --yes || true\n{UNLIMITED}")
        shift.types(f"{RESTORED}posthaste resume --credential sendgrid-main || true\n")


def in_a_test(line: str) -> str:
    """Return a command with the answer to its question, with an account, and with an end."""
    words = agreed(line.partition("  #")[0].rstrip()).replace("acc_…", "demo")
    if words.startswith("posthaste pause --all"):
        words += " --yes"
    return f"timeout 5 {words} || test $? = 124" if "--follow" in words else words


@pytest.mark.parametrize("name", RUNBOOKS)
def test_the_commands_of_a_runbook_run(shift: Shift, name: str) -> None:
    text = guides.page(f"runbooks/{name}")
    pieces = ["\n".join(agreed(line) for line in block.splitlines()) for block in guides.local(text)]
    spans = [span.text for span in guides.spans(text) if not span.reason]
    pieces += [agreed(span) for span in spans if not span.startswith(SECRET)]
    assert pieces
    for piece in pieces:
        shift.types(piece)
    if any(CHANGED.search(piece) for piece in pieces):
        shift.types(RESTORED)


def agreed(command: str) -> str:
    """Return a command with the answer to its question."""
    return f"{command} --yes" if QUESTIONS.search(command) else command
