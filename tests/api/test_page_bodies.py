"""Bodies that pages show as JSON are what the API takes."""

import json
import re
from pathlib import Path

from functions.api.requests import NewBatch
from tests.api.conftest import Api

DOCS = Path(__file__).parents[2] / "docs"


def bodies(name: str) -> list[str]:
    """Return the blocks of JSON of a page that are objects."""
    text = (DOCS / f"{name}.md").read_text("utf-8")
    return re.findall(r"^```json\n(\{.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_template_of_the_page_is_stored(api: Api) -> None:
    (body,) = bodies("templates")
    got = api.call("POST", "/templates", json.loads(body))
    assert (got.status, got.json["delivery_methods"]) == (201, ["SMS", "IVR"])


def test_the_policy_of_the_page_is_stored(api: Api) -> None:
    (policy,) = [body for body in bodies("digests") if '"template"' in body]
    got = api.call("PUT", "/digest-policies/acme", json.loads(policy))
    assert got.status == 200
    assert api.call("GET", "/digest-policies/acme/preview").status == 200


def test_the_batches_of_the_table_are_taken() -> None:
    rows = re.findall(r"^\| `(\{.*\})` \| ", (DOCS / "api.md").read_text("utf-8"), re.MULTILINE)
    found = [NewBatch.model_validate_json(row) for row in rows]
    assert [batch.channel for batch in found] == ["sms", "voice"]
