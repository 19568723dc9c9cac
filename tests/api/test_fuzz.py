"""Promise 10: bad input is a clear 4xx and stores nothing. The inputs are made from the document itself."""

import json
from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.parameters import ParameterLocation
from schemathesis.core.result import Ok
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from functions.api.openapi import FILE
from functions.api.uploads.routes import FILE as LIST_FILE
from functions.api.uploads.routes import WORKBOOKS
from shared.contracts import WEBHOOK_PATH
from shared.domain.content.unsubscribe import Unsubscription
from tests.api import refused_patterns
from tests.api.conftest import SENDER, Api, event
from tests.api.test_apart import BODIES
from tests.fakes.links import FakeLinks

Environ = dict[str, Any]
Start = Callable[[str, list[tuple[str, str]]], object]
EXAMPLES = 12
ADDRESS, MAILED = "ann@example.com", "ben@example.com"
"""Of a suppression, a guest and a link; of a mail."""
DOMAIN, PREFIX, PROGRAM = "my.example.org", "acme", "course"
NEVER_THERE = {"GET /messages/{message_id}", "GET /message_updates/{range}"}
"""Operations whose things only another function makes."""
BY_CONDITION = {"idempotency_mismatch", "event_id_taken"}
"""Refusals that a write finds by its condition: it is tried, and stores nothing."""
pytestmark = pytest.mark.slow
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
]


@schemathesis.serializer("message/rfc822", LIST_FILE, *WORKBOOKS)
def as_it_is(_context: Any, value: Any) -> bytes:
    """Return a message or a file as a body."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


class Gateway:
    """API Gateway as a WSGI application: each request becomes an event."""

    def __init__(self) -> None:
        self.api: Api | None = None

    def __call__(self, environ: Environ, start: Start) -> Iterable[bytes]:
        api = self.api
        assert api is not None
        length = int(environ.get("CONTENT_LENGTH") or 0)
        headers = {k[5:].replace("_", "-").lower(): v for k, v in environ.items() if k.startswith("HTTP_")}
        headers["content-type"] = environ.get("CONTENT_TYPE", "")
        headers.pop("accept-encoding", None)  # this client of WSGI decompresses nothing, whatever it accepts
        body = environ["wsgi.input"].read(length)
        what = event(
            environ["REQUEST_METHOD"],
            # WSGI gives the path decoded as Latin-1 (PEP 3333); what is "%" in it, API Gateway leaves escaped.
            environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace").replace("%", "%25"),
            body=body.decode("utf-8", "surrogateescape") if body else None,
            headers=headers,
            query=environ.get("QUERY_STRING", ""),
        )
        got = api.handle(what)
        start(f"{got.status} {got.status}", [(k, v) for k, v in got.headers.items()])
        return [got.text.encode()]


@dataclass
class Things:
    """What the account has: operations are tried on these, not on ids of nothing."""

    api: Api
    turn: Iterator[int] = field(default_factory=count)
    jobs: list[str] = field(default_factory=list)
    campaigns: list[str] = field(default_factory=list)
    templates: list[str] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    uploads: dict[str, str] = field(default_factory=dict)
    hooks: list[str] = field(default_factory=list)
    login: tuple[str, str] = ("", "")
    others: dict[str, list[str]] = field(default_factory=dict)
    """Ids by the parameter that names them."""
    answered: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    """Status codes by operation."""

    def make(self) -> None:
        """Make one of everything, and a campaign in each state."""
        self.login = self.api.notifier()
        for made in dict.fromkeys(self.makers().values()):
            made()

    def makers(self) -> dict[str, Callable[[], None]]:
        """Return what makes things, by the first part of the paths that name them."""
        return {
            "jobs": self._jobs,
            "templates": self._templates,
            "campaigns": self._campaigns,
            "hooks": self._hooks,
            "mails": self._mails,
            "digests": self._digests,
            "digest-policies": self._digests,
            "programs": self._programs,
            "guests": self._people,
            "suppressions": self._people,
            "senders": self._senders,
            "images": self._images,
        }

    def _jobs(self) -> None:
        self.jobs = [self.api.accepted()]
        wanted = Unsubscription(self.api.account, ADDRESS, self.jobs[0])
        self.others["token"] = [FakeLinks().sign(wanted)]

    def _templates(self) -> None:
        said = {"name": "x", "channel": "email", "from": SENDER, "subject": "x", "body": "x"}
        self.templates = [self.api.call("POST", "/templates", said).json["template_id"]]

    def _campaigns(self) -> None:
        """Make one with a place for a file, one with a list, and one that is sent."""
        api = self.api
        api.world.clock.advance(3600)  # the places for files that are open end
        self.campaigns = [api.campaign() for _ in range(3)]
        draft, ready, sent = self.campaigns
        self.uploads = {draft: api.call("POST", f"/campaigns/{draft}/uploads", {}).json["upload_id"]}
        self.uploads |= {x: api.listed(x) for x in (ready, sent)}
        self.jobs = [self.jobs[0], api.sent(sent)]

    def _hooks(self) -> None:
        api = self.api
        for path, body in (("/hooks", {"url": "https://example.com/", "events": ["*"]}), ("/hooks/listen", {})):
            api.call("POST", path, body)  # refused while there are twenty
        self.hooks = [x["id"] for x in api.call("GET", "/hooks").json["items"]]
        deliveries = [api.call("POST", f"/hooks/{hook}/test") for hook in self.hooks]
        self.others["delivery_id"] = [x.json["id"] for x in deliveries if x.status == 202]

    def _mails(self) -> None:
        envelope = {"mail_from": SENDER, "destinations": [{"address": MAILED}]}
        posted = self.api.call("POST", "/mails", {**envelope, "content": f"From: {SENDER}\r\n\r\nx\r\n"})
        self.others["mail_id"] = [posted.json["mail_id"]]

    def _digests(self) -> None:
        api, body = self.api, BODIES["POST", "/events"]
        api.call("PUT", f"/digest-policies/{PREFIX}", BODIES["PUT", "/digest-policies/{prefix}"])
        events = [api.call("POST", "/events", {**body, "batch_key": f"{PREFIX}/{x}"}) for x in "ab"]
        self.others |= {"prefix": [PREFIX], "window_id": [x.json["items"][0]["window_id"] for x in events]}

    def _programs(self) -> None:
        said = {"name": "x", "channel": "sms", "body": "x"}
        text = self.api.call("POST", "/templates", said).json["template_id"]
        self.api.call("POST", "/programs", {"name": PROGRAM, "steps": [{"template_id": text, "offset_days": 1}]})
        self.others["program"] = [PROGRAM]

    def _people(self) -> None:
        for path in (f"/guests/{ADDRESS}", f"/suppressions/{ADDRESS}"):
            self.api.call("PUT", path)
        self.others["address"] = [ADDRESS]

    def _senders(self) -> None:
        self.api.call("POST", "/senders", {"domain": DOMAIN})
        self.others["domain"] = [DOMAIN]

    def _images(self) -> None:
        self.images = [self.api.call("POST", "/images", BODIES["POST", "/images"]).json["id"]]

    def name(self, path: str) -> dict[str, str]:
        """Return the parameters of a path: one thing after the other, and now and then one that is not there."""
        number = next(self.turn)
        some = {"campaigns": self.campaigns, "templates": self.templates, "images": self.images}
        kind = some.get(path.split("/")[1], self.jobs)
        found = [*kind, "0" * 26][number % (len(kind) + 1)]
        others = {name: [*some, "x"][number % (len(some) + 1)] for name, some in self.others.items()}
        if "{mail_id}" in path:
            others["address"] = MAILED
        return {
            **others,
            "id": found,
            "upload_id": self.uploads.get(found, "0" * 26),
            "message": "0.0",
            "hook_id": [*self.hooks, "hook_x"][number % (len(self.hooks) + 1)],
            "name": "clinic",
            "message_id": "A-1",
            "range": "20260901-20260902",
        }

    def authorization(self, operation: dict[str, Any]) -> str:
        """Return the credentials that an operation takes: the account's key, or the notifier's password."""
        if {"key": []} in operation.get("security", [{"key": []}]):
            return f"Bearer {self.api.key}"
        return f"Basic {b64encode(':'.join(self.login).encode()).decode()}"

    def settle(self, label: str, response: schemathesis.Response) -> None:
        """Have lists read that came in, note a new password, and make again what has ended.

        Args:
            label: method and path of the operation.
            response: its answer.
        """
        self.answered[label].add(response.status_code)
        if label.startswith("PUT ") and response.status_code == 202:
            self.api.lists.read()
        if label == "POST /notifiers/{name}/rotate" and response.status_code == 200:
            self.login = (self.login[0], response.json()["password"])
        made = self.makers().get(label.split("/")[1])
        if made and label.startswith("DELETE ") and response.status_code == 200:
            made()


refused_patterns.install()
gateway = Gateway()
schema = schemathesis.openapi.from_dict(json.loads(FILE.read_text(encoding="utf-8")))
schema.app = gateway
ours = schema.exclude(path=WEBHOOK_PATH)
"""Webhooks are another function's, fuzzed in tests/webhooks."""
OPERATIONS = {x.ok().label: x.ok() for x in ours.get_all_operations() if isinstance(x, Ok)}


@pytest.fixture(scope="module")
def things(calm: Api) -> Iterator[Things]:
    calm.services.accounts.create_account("Bystander")
    calm.call("PUT", "/suppressions/ann@example.com")
    made = Things(calm)
    made.make()
    gateway.api = calm
    yield made
    gateway.api = None


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def _tried(case: schemathesis.Case[Any], things: Things) -> None:
    """What is asked of each case of an operation."""
    api = things.api
    if case.meta is not None and not case.meta.is_negative_at(ParameterLocation.PATH):
        names = things.name(case.path)
        case.path_parameters.update({name: names[name] for name in case.path_parameters if name in names})
    api.world.clock.advance(1)  # or else nearly all would be told that they ask too often
    before, made = len(api.client.writes), len(api.client.made)
    response = case.call(headers={"Authorization": things.authorization(case.operation.definition.raw)})
    case.validate_response(response, checks=CHECKS)
    if response.status_code >= 400:
        assert api.client.made[made:] == []
        assert api.client.writes[before:] == [] or response.json()["code"] in BY_CONDITION
    things.settle(case.operation.label, response)


@pytest.mark.promise(10)
@pytest.mark.parametrize("label", OPERATIONS)
def test_what_the_document_allows_and_what_it_does_not(label: str, things: Things) -> None:
    # `ours.parametrize()` makes the cases of all operations when tests are collected, in each process of a run.
    tried = build_operation_test(
        config=ours.config, operation=OPERATIONS[label], test_func=_tried, given_kwargs={}, feedback=FeedbackSources()
    )
    tried(things=things)
    deep = {code for code in things.answered[label] if code not in (401, 404, 405, 415)}
    assert deep or label in NEVER_THERE, f"only ever {things.answered[label]}: nothing that it could be about is there"
