"""Requests of Postmark's and Resend's clients, and SendGrid's lists, with the rights of a deployed function."""

from typing import Any
from urllib.parse import quote

import pytest

from simulator.client import ControlClient
from tests.deployed.api import Api

pytestmark = pytest.mark.deployed

SENDER = "news@example.com"


def postmark(to: str) -> dict[str, Any]:
    return {"From": SENDER, "To": to, "Subject": "Hello", "TextBody": "Hi"}


def resend(to: str) -> dict[str, Any]:
    return {"from": SENDER, "to": to, "subject": "Hello", "text": "Hi"}


@pytest.mark.promise(1)
def test_what_each_client_sends_arrives_once(api: Api, control: ControlClient, tag: str) -> None:
    to = {name: f"{name}.{tag}@example.org" for name in ("one", "two", "three", "four", "five", "six")}
    key = f"door-{tag}"
    single = api.call("POST", "/email", postmark(to["one"]))
    many = api.call("POST", "/email/batch", [postmark(to["two"]), postmark("nobody"), postmark(to["three"])])
    other = api.call("POST", "/emails", resend(to["four"]))
    batch = [resend(to["five"]), resend(to["six"])]
    first, again = (api.call("POST", "/emails/batch", batch, idempotency_key=key) for _ in range(2))
    assert [x.status for x in (single, many, other, first, again)] == [200] * 5
    assert [x["ErrorCode"] for x in many.body] == [0, 300, 0]
    assert first.body == again.body
    jobs = [single.body["MessageID"], other.body["id"], *(x["id"] for x in first.body["data"])]
    jobs += [x["MessageID"] for x in many.body if not x["ErrorCode"]]
    for job in jobs:
        counts = api.finished(job, leaves=("sent",))["counts"]
        assert counts["sent"] + counts["delivered"] == 1
    assert sorted(row["recipient"] for row in control.log() if tag in row["recipient"]) == sorted(to.values())


def test_sendgrids_lists_show_what_is_suppressed_and_let_it_go(api: Api, tag: str) -> None:
    address = f"left.{tag}@example.org"
    there = quote(address, safe="")
    assert api.call("PUT", f"/suppressions/{there}?scope=campaigns", {}).status == 200
    assert address in [x["email"] for x in api.get("/v3/suppression/unsubscribes?limit=500")]
    assert api.call("DELETE", f"/v3/asm/suppressions/global/{there}").status == 204
    assert address not in [x["email"] for x in api.get("/v3/suppression/unsubscribes")]
    assert address not in [x["email"] for x in api.get("/v3/suppression/bounces")]
    assert api.call("DELETE", f"/v3/suppression/bounces/{there}").status == 204
