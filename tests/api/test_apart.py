"""Promise 9: nobody reads or writes another account's data. Every operation of the document is tried."""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from functions.api.examples.parts import whole
from functions.api.openapi import FILE
from shared.domain.accounts import ALL_SCOPES, Scope
from tests.api.conftest import Api
from tests.fakes.image_files import png

DOCUMENT = whole(json.loads(FILE.read_text(encoding="utf-8")))
OPERATIONS = [
    (method.upper(), path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    if {"key": []} in operation.get("security", DOCUMENT["security"])
]
SAID = {"from": "news@example.com", "subject": "x", "body": "x"}
ENVELOPE = {"mail_from": "news@example.com", "destinations": [{"address": "a@example.org"}]}
POSTMARK = {"From": SAID["from"], "To": "a@example.org", "Subject": "x", "TextBody": "x"}
RESEND = {"from": SAID["from"], "to": "a@example.org", "subject": "x", "text": "x"}
NAMED = ("{id}", "{name}", "{program}", "{window_id}", "{mail_id}", "{hook_id}", "{domain}")
"""What names a thing of one account."""
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/campaigns"): {"name": "x", "channel": "email", "template": SAID},
    ("PUT", "/campaigns/{id}/template"): SAID,
    ("PUT", "/campaigns/{id}/recipients"): {"recipients": [{"recipient": "a@example.org"}]},
    ("POST", "/campaigns/{id}/test"): {"recipient": "a@example.org"},
    **{("POST", f"/{x}/{{id}}/reschedule"): {"scheduled_at": None} for x in ("jobs", "batches", "campaigns")},
    ("POST", "/campaigns/{id}/approve"): {"approval_id": "0" * 32},
    ("POST", "/campaigns/{id}/refuse"): {"approval_id": "0" * 32},
    ("PUT", "/approval-limit"): {"above": 1_000_000},
    ("POST", "/approval-limit/approve"): {"approval_id": "0" * 32},
    ("POST", "/approval-limit/refuse"): {"approval_id": "0" * 32},
    ("POST", "/templates"): {"name": "x", "channel": "email", **SAID},
    ("PUT", "/templates/{id}"): SAID,
    ("POST", "/images"): {"data": base64.b64encode(png()).decode()},
    ("POST", "/notifiers"): {"name": "theirs", "timezone": "UTC"},
    ("POST", "/programs"): {"name": "course", "steps": [{"template_id": "0" * 26, "offset_days": 1}]},
    ("PUT", "/programs/{program}"): {"steps": [{"template_id": "0" * 26, "offset_days": 1}]},
    ("PUT", "/digest-policies/{prefix}"): {"from": "news@example.com"},
    ("POST", "/events"): {"event_type": "x", "batch_key": "acme/x", "recipients": ["a@example.org"]},
    ("POST", "/v3/mail/send"): {
        "personalizations": [{"to": [{"email": "a@example.org"}]}],
        "from": {"email": SAID["from"]},
        "subject": "x",
        "content": [{"type": "text/plain", "value": "x"}],
    },
    ("POST", "/email"): POSTMARK,
    ("POST", "/email/batch"): [POSTMARK],
    ("POST", "/emails"): RESEND,
    ("POST", "/emails/batch"): [RESEND],
    ("POST", "/mails"): {**ENVELOPE, "content": "From: news@example.com\r\n\r\nx\r\n"},
    ("POST", "/mails/uploads"): ENVELOPE,
    ("POST", "/mails/{mail_id}/destinations/{address}/reschedule"): {"at": "2026-11-20T09:00:00Z"},
    ("PATCH", "/notifiers/{name}"): {"disabled": True},
    ("POST", "/hooks"): {"url": "https://example.com/", "events": ["*"]},
    ("PATCH", "/hooks/{hook_id}"): {"batch": True},
    ("POST", "/hooks/{hook_id}/replay"): {"since": "2026-11-20T09:00:00Z"},
    ("POST", "/hooks/{hook_id}/pending/{delivery_id}/done"): {"status": 200},
    ("POST", "/senders"): {"domain": "theirs.example.net"},
    ("POST", "/batches"): {"from": "news@example.com", "to": "a@example.org", "subject": "x", "text": "x"},
}
ELSEWHERE = {
    ("/approval-limit/approve", 409),
    ("/approval-limit/refuse", 409),
    ("/programs", 422),
    ("/events", 422),
    ("/digest-policies/{prefix}", 404),
}
"""What another account may lack: a proposal, a template, a policy."""
NAMES = [f"{method} {path}" for method, path, _ in OPERATIONS]
each = pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS, ids=NAMES)


@dataclass(frozen=True)
class Owned:
    """What the first account has: a suppression, a notifier, a job, a template, a campaign with a list, one sent."""

    job: str
    template: str
    campaign: str
    upload: str
    sent: str
    sent_job: str
    window: str
    mail: str
    hook: str
    image: str

    def urls(self, path: str) -> list[str]:
        """Return a path with what the account has."""
        path = path.replace("{message}", "0.0").replace("{address}", "sup@example.org")
        path = path.replace("{upload_id}", self.upload).replace("{name}", "clinic").replace("{program}", "x")
        path = path.replace("{prefix}", "acme").replace("{window_id}", self.window)
        path = (
            path.replace("{mail_id}", self.mail).replace("{hook_id}", self.hook).replace("{domain}", "my.example.org")
        )
        kind = path.split("/")[1]
        names = {
            "campaigns": [self.campaign, self.sent],
            "templates": [self.template],
            "images": [self.image],
        }.get(kind, [self.job, self.sent_job])
        return [path.replace("{id}", name) for name in (names if "{id}" in path else names[:1])]


@pytest.fixture(scope="module")
def owned(calm: Api) -> Owned:
    """Return what the first account has."""
    calm.call("PUT", "/suppressions/sup@example.org")
    calm.notifier()
    calm.call("POST", "/senders", {"domain": "my.example.org"})
    job = calm.logged()
    template = calm.call("POST", "/templates", BODIES["POST", "/templates"]).json["template_id"]
    campaign, sent = calm.campaign(), calm.campaign()
    upload = calm.listed(campaign)
    calm.listed(sent)
    calm.call("PUT", "/digest-policies/acme", BODIES["PUT", "/digest-policies/{prefix}"])
    window = calm.call("POST", "/events", BODIES["POST", "/events"]).json["items"][0]["window_id"]
    mail = calm.call("POST", "/mails/uploads", ENVELOPE).json["mail_id"]
    hook = calm.call("POST", "/hooks", BODIES["POST", "/hooks"]).json["id"]
    image = calm.call("POST", "/images", {"data": base64.b64encode(png(7, 7)).decode()}).json["id"]
    return Owned(job, template, campaign, upload, sent, calm.sent(sent), window, mail, hook, image)


@pytest.fixture(scope="module")
def strangers(calm: Api) -> tuple[str, str]:
    """Return the keys of two other accounts: one that only reads, so that it has nothing, and one that writes."""
    accounts = calm.services.accounts
    reader, writer = (accounts.create_account(name, ["example.com"]) for name in ("Reader", "Writer"))
    return accounts.create_key(reader)[0], accounts.create_key(writer)[0]


@pytest.fixture(scope="module")
def scoped(calm: Api) -> Callable[[frozenset[Scope]], str]:
    """Return what gives a key with those scopes alone."""
    return cache(lambda scopes: calm.scoped(*scopes))


def stored_of(api: Api) -> list[Any]:
    """Return what is stored of the account; accounts with endpoints share sixteen lists by chance: its place there."""
    items = [x for x in api.stored() if api.account in str(x)]
    for item in items:
        if item["pk"]["S"].startswith("HS#"):
            item["namespaces"] = {"SS": [name for name in item["namespaces"]["SS"] if name == api.account]}
    return items


@pytest.mark.promise(9)
@each
def test_another_account_s_resources_do_not_exist(
    calm: Api, owned: Owned, strangers: tuple[str, str], method: str, path: str, operation: Any
) -> None:
    api = calm
    stranger = strangers[method != "GET"]
    before = stored_of(api)
    for url in owned.urls(path):
        got = api.call(method, url, BODIES.get((method, path)), key=stranger)
        own = "{address}" in path or "{prefix}" in path
        if any(x in path for x in NAMED) or (own and method == "GET"):
            assert (got.status, got.code) == (404, "not_found")
        else:
            assert got.status in {200, 201, 202, 204} or (path, got.status) in ELSEWHERE
            assert api.account not in got.text
            if operation["tags"] == ["Other services"]:
                assert method != "GET" or got.json == []
                continue
            assert "items" not in got.json or got.json["items"] == [] or path in {"/credentials", "/audit", "/senders"}
    assert stored_of(api) == before


def test_a_stranger_s_upload_is_none_of_one_s_own_campaign(calm: Api, owned: Owned) -> None:
    mine = calm.campaign(key=calm.other())
    url = f"/campaigns/{mine}/uploads/{owned.upload}"
    assert calm.call("GET", url, key=calm.other()).code == "not_found"
    assert calm.call("POST", f"{url}/complete", key=calm.other()).code == "not_found"
    body = {"template_id": owned.template}
    assert calm.call("PUT", f"/campaigns/{mine}/template", body, key=calm.other()).code == "not_found"


@pytest.mark.promise(9)
@each
@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer ", "Basic YTpi", "Bearer ph_live_wrong", "Bearer ph_live_" + "A" * 43, "ph_live_x"],
)
def test_without_a_valid_key_there_is_nothing(
    calm: Api, method: str, path: str, operation: Any, header: str | None
) -> None:
    before = len(calm.client.writes)
    url = (
        path.replace("{id}", "0" * 26)
        .replace("{upload_id}", "0" * 26)
        .replace("{message}", "0.0")
        .replace("{address}", "sup@example.org")
        .replace("{name}", "clinic")
    )
    headers = {} if header is None else {"Authorization": header}
    got = calm.call(method, url, BODIES.get((method, path)), key="", headers=headers)
    assert (got.status, got.code) == (401, "unauthorized")
    assert got.headers["www-authenticate"].startswith("Bearer ")
    assert calm.client.writes[before:] == []


@each
def test_a_key_does_no_more_than_its_scopes(
    calm: Api, scoped: Callable[[frozenset[Scope]], str], method: str, path: str, operation: Any
) -> None:
    needed = Scope(operation["x-scope"])
    url = (
        path.replace("{id}", "0" * 26)
        .replace("{upload_id}", "0" * 26)
        .replace("{message}", "0.0")
        .replace("{address}", "sup@example.org")
        .replace("{name}", "clinic")
    )
    key = scoped(frozenset(ALL_SCOPES) - {needed})
    calm.call(method, url, BODIES.get((method, path)), key=key)  # the audit log has it once for this hour
    before = len(calm.client.writes)
    got = calm.call(method, url, BODIES.get((method, path)), key=key)
    assert (got.status, got.code) == (403, "missing_scope")
    assert calm.client.writes[before:] == []
    assert calm.call(method, url, BODIES.get((method, path)), key=scoped(frozenset({needed}))).status != 403


def test_every_read_needs_read_and_every_write_something_else() -> None:
    for method, path, operation in OPERATIONS:
        if path == "/audit":  # who did what is not for every program that reads
            assert operation["x-scope"] == "admin"
        else:
            assert (operation["x-scope"] == "read") == (method == "GET"), path
