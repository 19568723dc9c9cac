"""What our providers send, and what the simulator takes and says, beside the vendors' own OpenAPI documents.

The documents are in `tests/fixtures/vendors`, one operation of each, with source, commit and licence. Amazon SES is
held to botocore's service model in `test_ses.py`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from email.parser import BytesParser
from itertools import count
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl

import pytest
from jsonschema import Draft202012Validator

from shared.adapters.http.transport import HttpClient
from shared.contracts import Credential
from shared.domain.content.content import Attachment, Content, Mailbox
from shared.domain.content.streams import Body, whole
from shared.domain.jobs.outcomes import Accepted
from shared.ports import Response
from shared.providers import registry
from shared.providers.registry import Needs
from simulator.run import Simulator
from tests.fakes.shifted import ShiftedClock
from tests.providers.contract import CONTENT, FAR, target

FOLDER: Final = Path(__file__).parents[1] / "fixtures" / "vendors"
DOCUMENTS: Final = {x.stem: json.loads(x.read_text("utf-8")) for x in sorted(FOLDER.glob("*.json"))}
FREE: Final[Mapping[str, tuple[str, ...]]] = {"mailgun": ("h:", "v:"), "twilio": (), "sendgrid": (), "resend": ()}
"""Beginnings of the names that a vendor lets its clients choose."""
NULLS: Final = {("sendgrid", "help")}
"""Fields that are null in the answers that a vendor publishes, though its document says that they are objects."""
ATTEMPTS: Final = count(1)
UNNAMED: Final[Mapping[str, frozenset[str]]] = {"mailgun": frozenset({"recipient-variables"})}
"""Documented on a page of the vendor's, and missing in its document: batch sending."""
FULL: Final = Content(
    Mailbox("news@sender.example", "News “quoted” Ω"),
    "Grüße \U0001f600",
    html='<p>Hällo "x"</p>',
    text="Hällo",
    reply_to=Mailbox("answers@sender.example", "Answers"),
    headers=(("X-Campaign", "spring"),),
    attachments=(
        Attachment("a.txt", "text/plain", "aGVsbG8="),
        Attachment("logo.png", "image/png", "aWNvbg==", content_id="logo"),
    ),
)
COPIED: Final = replace(
    FULL,
    beside=(Mailbox("to@x.example", "Té"),),
    cc=(Mailbox("cc@x.example", "Cé"),),
    bcc=(Mailbox("bcc@x.example"),),
)


@dataclass
class Far:
    """A provider before the simulator, and every call between them."""

    name: str
    http: HttpClient
    clock: ShiftedClock
    url: str
    secret: Mapping[str, str]
    calls: list[tuple[str, Mapping[str, str], bytes, Response]]

    def request(self, method: str, url: str, *, headers: Mapping[str, str], body: Body, deadline: float) -> Response:
        """Pass a call on, and keep it. Implements `ports.Http`."""
        answer = self.http.request(method, url, headers=headers, body=body, deadline=deadline)
        self.calls.append((url, headers, whole(body), answer))
        return answer

    def send(self, content: Content, size: int = 1) -> list[Any]:
        """Send to so many recipients in one call."""
        channel = "sms" if self.name == "twilio" else "email"
        needs = Needs(
            http=self,
            clock=self.clock,
            secret=self.secret,
            base_url=self.url,
            credential=Credential(f"vendor-{self.name}", self.name, channel, 10),
            public_url="https://api.example",
        )
        provider = registry.provider(self.name)(needs)
        people = [target(n, attempt=next(ATTEMPTS), channel=channel) for n in range(size)]
        return provider.send(content, people, deadline=self.clock.now() + FAR)

    def again(self, body: bytes) -> Response:
        """Make the last call once more, with another body, and for Resend under another key."""
        url, headers, _, _ = self.calls[-1]
        other = {**headers, **({"Idempotency-Key": f"key-{next(ATTEMPTS)}"} if "Idempotency-Key" in headers else {})}
        return self.http.request("POST", url, headers=other, body=body, deadline=self.clock.now() + FAR)


@pytest.fixture(params=sorted(DOCUMENTS))
def far(request: pytest.FixtureRequest, simulator: Simulator, http: HttpClient, clock: ShiftedClock) -> Iterator[Far]:
    name = request.param
    keys = simulator.control.keys(name)
    credential = f"vendor-{name}"
    simulator.control.webhooks(name, credential, mix={"silent": 1})
    simulator.control.faults(name, credential)
    secret = {"api_key": keys.pop("keys")[0], **keys}
    yield Far(name, http, clock, simulator.base_url(name, credential), secret, [])
    simulator.control.faults(name, credential)


def strict(schema: Any) -> Any:
    """Return a schema that knows its fields: the vendors' documents leave further ones open."""
    if isinstance(schema, list):
        return [strict(x) for x in schema]
    if not isinstance(schema, dict):
        return schema
    out = {name: strict(value) for name, value in schema.items()}
    if "properties" in out and "additionalProperties" not in out:
        out["additionalProperties"] = False
    if out.pop("nullable", False) and isinstance(out.get("type"), str):  # OpenAPI 3.0
        out["type"] = [out["type"], "null"]
    return out


def faults(schema: Any, value: Any) -> list[str]:
    return [f"{'/'.join(map(str, e.path))}: {e.message}"[:200] for e in Draft202012Validator(schema).iter_errors(value)]


def written(headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
    """Return a body's fields: of JSON, a form, or multipart."""
    kind = headers["Content-Type"]
    if kind == "application/json":
        found: dict[str, Any] = json.loads(body)
        return found
    if kind == "application/x-www-form-urlencoded":
        pairs = parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=True)
    else:
        parsed = BytesParser().parsebytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
        pairs = [
            (str(part.get_param("name", header="content-disposition")), str(part.get_payload()))
            for part in parsed.walk()
            if not part.is_multipart()
        ]
    fields: dict[str, Any] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value)
    return fields


def as_typed(schema: Any, fields: Mapping[str, list[str]]) -> dict[str, Any]:
    """Return a form's fields as the document types them: a list, a number or one text."""
    out: dict[str, Any] = {}
    for name, values in fields.items():
        kind = schema["properties"].get(name, {}).get("type")
        one: Any = values[0] if len(values) == 1 else values
        out[name] = values if kind == "array" else int(values[0]) if kind == "integer" else one
    return out


def document(name: str) -> Any:
    (content,) = DOCUMENTS[name]["request"].values()
    return strict({**content["schema"], "additionalProperties": False})


@pytest.mark.parametrize(
    ("content", "size"), [(CONTENT, 1), (FULL, 1), (COPIED, 1), (FULL, 3)], ids=["plain", "full", "copied", "three"]
)
def test_what_is_sent_is_what_the_vendor_documents_and_the_simulator_takes(
    far: Far, content: Content, size: int
) -> None:
    size = 1 if far.name in ("resend", "twilio") else size
    outcomes = far.send(content, size)
    assert [type(o) for o in outcomes] == [Accepted] * size
    (_, headers, body, answer), schema = far.calls[-1], document(far.name)
    fields = written(headers, body)
    if headers["Content-Type"] != "application/json":
        fields = as_typed(schema, fields)
    chosen = {x for x in fields if x.startswith(FREE[far.name] or ("\0",))} | UNNAMED.get(far.name, frozenset())
    assert faults(schema, {name: value for name, value in fields.items() if name not in chosen}) == []
    documented = DOCUMENTS[far.name]["answers"].get(str(answer.status))
    if documented is not None:
        assert faults(strict(documented["application/json"]["schema"]), json.loads(answer.body)) == []


def test_the_simulator_refuses_a_call_without_what_the_vendor_requires(far: Far) -> None:
    far.send(CONTENT)
    _, headers, body, _ = far.calls[-1]
    required = document(far.name).get("required", [])
    assert required
    for name in required:
        if headers["Content-Type"] == "application/json":
            short = json.dumps({k: v for k, v in json.loads(body).items() if k != name}).encode()
        else:
            short = b"&".join([pair for pair in body.split(b"&") if not pair.startswith(name.encode() + b"=")])
        assert short != body, name
        assert far.again(short).status in (400, 422), name


@pytest.mark.parametrize("mode", ["401", "429", "500"])
def test_the_simulator_refuses_in_the_form_that_the_vendor_documents(far: Far, simulator: Simulator, mode: str) -> None:
    own = {"own": True} if mode == "500" else {}
    simulator.control.faults(far.name, f"vendor-{far.name}", **{"mode": mode, **own})
    far.send(CONTENT)
    *_, answer = far.calls[-1]
    assert answer.status == int(mode)
    documented = DOCUMENTS[far.name]["answers"].get(mode)
    if documented is None:
        return
    schema = documented["application/json"]["schema"]
    said = answer.body.decode() if schema.get("type") == "string" else json.loads(answer.body)
    found = [x for x in faults(strict(schema), said) if (far.name, x.partition(":")[0].rpartition("/")[2]) not in NULLS]
    assert found == []


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_every_document_names_its_source_and_licence(name: str) -> None:
    about = DOCUMENTS[name]
    assert about["source"].startswith("https://github.com/")
    assert len(about["commit"]) == 40
    assert about["licence"].split(",")[0] in ("MIT", "Apache-2.0")
    assert "opyright" in (FOLDER / f"{name}.LICENSE").read_text("utf-8")
