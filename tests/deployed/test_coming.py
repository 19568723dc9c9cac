"""Applications that use SendGrid's SDKs, with the address and a key of the deployed stack: what they said arrives."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import sendgrid.helpers.mail as sdk

from infra.local.cloud import Cloud
from infra.local.paths import ROOT
from infra.local.processes import wait_for
from simulator.client import ControlClient
from tests.deployed.api import Api
from tests.deployed.mail_door import SOON
from tests.fixtures.sdks import Sent, by_node, by_python

pytestmark = pytest.mark.deployed

PAGE: Final = (ROOT / "docs" / "coming-from-sendgrid.md").read_text("utf-8")
SENDER: Final = "news@example.com"


class Arrivals:
    """What the simulated services have accepted for a test's people."""

    def __init__(self, api: Api, control: ControlClient, tag: str) -> None:
        self.api = api
        self.control = control
        self.tag = tag

    def to(self, name: str) -> str:
        return f"{name}.{self.tag}@example.org"

    def rows(self) -> list[dict[str, Any]]:
        return [row for row in self.control.log() if self.tag in row["recipient"]]

    def shown(self, sent: Sent, count: int) -> dict[str, dict[str, Any]]:
        """Wait until a job is over; return what each of its people got, by name: in all so many copies."""
        assert (sent.status, sent.errors) == (202, None)
        seen: list[Any] = []

        def over() -> bool:
            seen.append(self.api.get(f"/batches/{sent.message}"))
            return str(seen[-1]["state"]) == "LOGGED"

        ended = wait_for(over, 2 * SOON, pause=0.2)
        assert ended, json.dumps([seen[-1], self.api.get(f"/batches/{sent.message}/logs")])
        rows = self.rows()
        assert len(rows) == count, "each once"
        found = {row["recipient"].partition(".")[0]: row for row in rows}
        return {name: self.control.json("GET", f"/inbox/{row['seq']}.json") | row for name, row in found.items()}


@pytest.fixture
def arrivals(api: Api, control: ControlClient, tag: str) -> Arrivals:
    return Arrivals(api, control, tag)


@pytest.mark.promise(1)
def test_what_python_said_arrives(arrivals: Arrivals, api: Api) -> None:
    mail = sdk.Mail((SENDER, "Shop"), None, "Hello -name-", "Dear -name-", "<p>Dear -name-</p>")
    for name in ("ann", "ben"):
        person = sdk.Personalization()
        person.add_to(sdk.To(arrivals.to(name), name.title()))
        person.add_cc(sdk.Cc(arrivals.to(f"cc-{name}")))
        person.add_substitution(sdk.Substitution("-name-", f"<{name}>"))
        mail.add_personalization(person)
    mail.add_attachment(sdk.Attachment("QQ==", "a.txt", "text/plain"))
    found = arrivals.shown(by_python(api.url, api.key, mail), 4)
    assert {name: (x["role"], x["subject"], x["text"], x["html"]) for name, x in found.items()} == {
        **{n: ("to", f"Hello <{n}>", f"Dear <{n}>", f"<p>Dear <{n}></p>") for n in ("ann", "ben")},
        **{f"cc-{n}": ("cc", f"Hello <{n}>", f"Dear <{n}>", f"<p>Dear <{n}></p>") for n in ("ann", "ben")},
    }
    assert {str(x["attachments"]) for x in found.values()} == {"['a.txt']"}
    assert {x["from"] for x in found.values()} == {SENDER}


@pytest.mark.promise(1)
def test_what_node_said_arrives(arrivals: Arrivals, api: Api) -> None:
    mail = {
        "to": [arrivals.to("ann"), arrivals.to("ben")],
        "bcc": arrivals.to("bcc"),
        "from": {"email": SENDER, "name": "Shop"},
        "subject": "Hello",
        "text": "Hi {{name}}",
        "substitutions": {"name": "all"},
    }
    found = arrivals.shown(by_node(api.url, api.key, mail), 3)
    assert {name: (x["role"], x["subject"], x["text"]) for name, x in found.items()} == {
        "ann": ("to", "Hello", "Hi all"),
        "ben": ("to", "Hello", "Hi all"),
        "bcc": ("bcc", "Hello", "Hi all"),
    }
    assert len({x["ref"] for x in found.values()}) == 1, "one message"


def test_a_stored_template_and_a_refusal(arrivals: Arrivals, api: Api) -> None:
    said = {"name": "t", "channel": "email", "from": SENDER, "subject": "Hi {{ name }}", "body": "<p>{{ n }}</p>"}
    name = api.call("POST", "/templates", said).body["template_id"]
    mail = {"to": arrivals.to("ann"), "from": SENDER, "templateId": f"d-{name}"}
    found = arrivals.shown(by_node(api.url, api.key, {**mail, "dynamicTemplateData": {"name": "Ann", "n": 3}}), 1)
    assert (found["ann"]["subject"], found["ann"]["html"]) == ("Hi Ann", "<p>3</p>")
    refused = by_node(api.url, api.key, {**mail, "sendAt": 9_999_999_999, "batchId": "b"})
    assert (refused.status, refused.message) == (400, None)
    assert [e["field"] for e in refused.errors or ()] == ["batch_id"]


def _run(words: list[str], cloud: Cloud, more: Mapping[str, str]) -> str:
    api = {name: cloud.env[name] for name in ("POSTHASTE_URL", "POSTHASTE_API_KEY")}
    done = subprocess.run(
        words, env={**os.environ, **api, **more}, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_works_as_it_is_written(cloud: Cloud, api: Api, tmp_path: Path) -> None:
    python, *_ = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    node, *_ = re.findall(r"^```js\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    script = tmp_path / "send.cjs"
    script.write_text(node)
    modules = {"NODE_PATH": str(ROOT / "node_modules")}
    printed = _run([sys.executable, "-c", python], cloud, {})
    printed += _run([str(ROOT / ".venv" / "bin" / "node"), str(script)], cloud, modules)
    statuses = re.findall(r"^(\d+) (\S+)$", printed, re.MULTILINE)
    assert [status for status, _ in statuses] == ["202", "202"]
    for _, job in statuses:
        assert api.get(f"/batches/{job}")["total"] == 1
