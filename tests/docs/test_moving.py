"""Pages for people who come from another service, or who work in the console alone, name only what there is."""

import json
import re
from typing import Final

import pytest

from functions.api.requests import FileAttachment, NewBatch
from infra.local.paths import ROOT
from shared.domain.hooks.kinds import HookKind
from shared.providers.sendgrid.carried import CARRIED

DOCS: Final = ROOT / "docs"
VENDORS: Final = ("mailgun", "postmark", "resend")
OPERATIONS: Final = json.loads((ROOT / "functions/api/openapi.json").read_text("utf-8"))["paths"]
SPAN: Final = re.compile(r"`([^`]+)`")
CALL: Final = re.compile(r"(GET|POST|PUT|PATCH|DELETE) (/[^`?\s]*)")
LABEL: Final = re.compile(r"(?<![*\w])\*([^*\n]+)\*(?![*\w])")
SENDGRID: Final = "POST /v3/mail/send"
PLAIN: Final = {"Authorization: Bearer …", "Authorization: Bearer ph_live_…", "Idempotency-Key", "ph_test_…"}
"""What is given in headers, or is a key."""


def rows(page: str, heading: str) -> list[list[str]]:
    """Return the cells of the table under a heading, without its head."""
    _, _, rest = page.partition(f"## {heading}\n")
    lines = [line for line in rest.partition("\n## ")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def exists(call: str) -> bool:
    """Tell whether the API has an operation, written as `POST /batches`."""
    found = CALL.match(call)
    return found is not None and found[1].lower() in OPERATIONS.get(found[2], {})


def fields() -> set[str]:
    """Return the names of the fields of a batch, and of an attachment."""
    found: set[str] = set()
    for model in (NewBatch, FileAttachment):
        found |= set(model.model_json_schema()["properties"])
    return found


@pytest.mark.parametrize("vendor", VENDORS)
def test_each_call_of_another_service_has_one_that_there_is(vendor: str) -> None:
    table = rows((DOCS / f"coming-from-{vendor}.md").read_text("utf-8"), "Calls")
    assert len(table) > 10
    for _, ours, more in table:
        named = [x for cell in (ours, more) for x in SPAN.findall(cell) if CALL.match(x)]
        assert named or "posthaste " in ours, ours
        assert all(map(exists, named)), named


@pytest.mark.parametrize("vendor", VENDORS)
def test_each_field_of_another_service_has_one_that_there_is(vendor: str) -> None:
    known = fields() | PLAIN
    for _, ours, _ in rows((DOCS / f"coming-from-{vendor}.md").read_text("utf-8"), "Fields of a message"):
        if SENDGRID in ours:
            carried = " ".join(CARRIED)
            assert all(x in carried for x in SPAN.findall(ours) if x != SENDGRID), ours
        else:
            assert ours == "none" or set(SPAN.findall(ours)) <= known, ours


@pytest.mark.parametrize("vendor", VENDORS)
def test_each_event_of_another_service_has_one_that_there_is(vendor: str) -> None:
    kinds = {str(kind) for kind in HookKind}
    for _, ours in rows((DOCS / f"coming-from-{vendor}.md").read_text("utf-8"), "Events"):
        assert set(SPAN.findall(ours)) <= kinds, ours
        assert ours.startswith(("`", "none"))


def test_the_page_of_the_spreadsheet_names_what_the_console_shows() -> None:
    sources = [*(ROOT / "functions/console").rglob("*.html"), *(ROOT / "functions/console").rglob("*.py")]
    shown = "\n".join(file.read_text("utf-8") for file in sources).lower()
    page = (DOCS / "spreadsheet-campaign.md").read_text("utf-8")
    labels = {label.lower() for label in LABEL.findall(page)} - {"the mailbox does not exist (5.1.1)"}
    assert len(labels) > 25
    assert sorted(label for label in labels if label not in shown) == []
