"""Every call that docs/campaigns.md shows is made, in the order in which its reader makes it."""

import json
import re
import shlex
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.api.conftest import Api, Reply
from tests.deployed import guides
from tests.deployed.answers import Answers

GUIDE = guides.page("campaigns")
LIST = b"recipient,first_name\nada@example.com,Ada\ngrace@example.org,Grace\nnobody,x\n"
CREDENTIAL = "one"
NAMES = {"campaign_id": "CAMPAIGN", "upload_id": "UPLOAD", "job_id": "JOB", "url": "URL"}
"""Fields of answers that the guide has in variables."""


class Reader:
    """Who follows the guide: a shell that knows curl, and little of it."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.variables = {
            "POSTHASTE_URL": "https://api.example.com",
            "AUTH": f"Authorization: Bearer {api.key}",
            "JSON": "Content-Type: application/json",
        }
        self.answers: list[tuple[str, Reply]] = []

    def run(self, command: str) -> None:
        """Make one call."""
        filled = re.sub(r"\$([A-Z_]+)", lambda found: self.variables[found[1]], command)
        words = iter(shlex.split(filled))
        assert next(words) == "curl"
        method, url, headers, body = "", "", {}, None
        for word in words:
            if word in {"-d", "--data-binary"}:
                method, body = method or "POST", next(words).replace("@list.csv", LIST.decode())
            elif word == "-X":
                method = next(words)
            elif word == "-H":
                name, _, value = next(words).partition(": ")
                headers[name] = value
            elif word == "-T":
                assert next(words) == "list.csv"
                method = "PUT"
            elif word != "-s":
                url = word
        if url == self.variables.get("URL"):
            self.put(method, url, headers)
        else:
            self.call(method or "GET", url, headers, body)

    def put(self, method: str, url: str, headers: dict[str, str]) -> None:
        """Put the file into its place."""
        assert method == "PUT"
        assert headers == {"Content-Type": "text/csv", "If-None-Match": "*"}
        self.api.lists.files.items[urlsplit(url).path.removeprefix("/")] = LIST

    def call(self, method: str, url: str, headers: dict[str, str], body: str | None) -> None:
        """Call the API; what is to be done in the background is done then."""
        parts = urlsplit(url)
        path, query = parts.path, dict(parse_qsl(parts.query))
        got = self.api.call(method, path, body, key="", headers=headers, query=query)
        assert got.status < 300, (method, path, got.text)
        operation = path.replace(self.variables.get("CAMPAIGN", "-"), "{id}")
        self.answers.append((f"{method} {operation.replace(self.variables.get('UPLOAD', '-'), '{upload_id}')}", got))
        self.variables |= {NAMES[k]: v for k, v in got.json.items() if k in NAMES and isinstance(v, str)}
        self.api.lists.read()
        if operation.endswith("/stop"):
            self.api.world.clock.advance(20)
            self.api.world.sweep()
        if operation.endswith("/resume"):
            self.api.world.settle()


def calls(block: str) -> list[str]:
    """Return the calls of a block of the guide."""
    return [x.strip() for x in re.split(r"^(?=curl )", block, flags=re.MULTILINE) if x.startswith("curl ")]


@pytest.mark.slow
def test_the_guide_leads_from_the_template_to_the_export(api: Api) -> None:
    reader = Reader(api)
    answers = Answers()
    for step in guides.steps(GUIDE):
        before = len(reader.answers)
        for command in calls(step.commands):
            reader.run(command)
        said = [json.dumps(got.json) for _, got in reader.answers[before:]]
        answers.check(step.kind, step.answer, "\n".join(said).replace(f'"{CREDENTIAL}"', '"sendgrid-main"'))
    found: dict[str, Any] = {name: got.json for name, got in reader.answers}
    assert found["GET /campaigns/{id}/uploads/{upload_id}"]["accepted"] == 2
    assert found["GET /campaigns/{id}/preview"]["subject"] == "News for Grace"
    assert found["POST /campaigns/{id}/send"]["recipients"] == 2
    assert found["GET /campaigns/{id}/stats"]["total"] == 2
    assert found["POST /campaigns/{id}/resume"]["messages"] == 2
    assert found["GET /campaigns/{id}/export"]["state"] == "preparing"
    api.world.settle()
    assert sorted(t.address for t in api.world.oracle.taken) == [
        "ada@example.com",
        "grace@example.org",
        "me@example.com",
    ]


def test_the_guide_names_every_operation_and_every_refusal_of_campaigns() -> None:
    from functions.api.operations import ROUTES  # noqa: PLC0415 - what is documented, not what is under test

    text = GUIDE
    made = " ".join(call for block in guides.local(GUIDE) for call in calls(block))
    for route in ROUTES:
        if route.path.startswith("/campaigns/{id}/"):
            last = route.path.replace("{id}", "$CAMPAIGN").replace("{upload_id}", "$UPLOAD")
            assert last in made or f"{route.method} …/{route.path.rpartition('/')[2]}" in text, route.path
            missing = {c for c in getattr(route, "problems", ()) if f"`{c}`" not in text}
            assert missing <= {"not_found", "bad_cursor", "too_large"}, (route.path, missing)
