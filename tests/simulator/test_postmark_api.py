"""Postmark's API: what its SDK sends is accepted, and what it refuses is refused in its words."""

from typing import Any

import pytest
from postmarker.core import PostmarkClient
from postmarker.exceptions import ClientError

from simulator import Simulator
from simulator.vendors.postmark import MAX_BATCH, Postmark

PROVIDER, CREDENTIAL = "postmark", "main"
MAIL: dict[str, Any] = {"From": "news@sender.example", "To": "ada@example.com", "Subject": "Hello", "TextBody": "Hi"}


@pytest.fixture
def vendor(sim: Simulator) -> PostmarkClient:
    sim.control.webhooks(PROVIDER, CREDENTIAL, url="", delay={"ms": 1}, parallel=1, duplicate=0, mix={})
    return client(sim, Postmark.default_key)


def client(sim: Simulator, token: str) -> PostmarkClient:
    """Return the SDK, which would drop the path of the base URL."""
    made = PostmarkClient(server_token=token, root_api_url=f"{sim.base_url(PROVIDER, CREDENTIAL)}/")
    call = made._call
    made._call = lambda method, root, endpoint, *a, **k: call(method, root, endpoint.lstrip("/"), *a, **k)
    return made


def log(sim: Simulator) -> list[dict[str, Any]]:
    return sim.control.log(PROVIDER, CREDENTIAL)


def test_a_batch_of_the_sdk_is_accepted_message_by_message(sim: Simulator, vendor: PostmarkClient) -> None:
    results = vendor.emails.send_batch(
        {**MAIL, "Cc": ["c@example.com"], "Metadata": {"posthaste_ref": "r1"}, "Headers": {"X-A": "b"}},
        {**MAIL, "To": "no address"},
        {**MAIL, "To": "inactive@example.com"},
        {**MAIL, "Attachments": [("a.txt", "aGVsbG8=", "text/plain")]},
    )
    assert [r["ErrorCode"] for r in results] == [0, 300, 406, 0]
    assert [(line["recipient"], line["role"], line["ref"]) for line in log(sim)] == [
        ("ada@example.com", "to", "r1"),
        ("c@example.com", "cc", "r1"),
        ("ada@example.com", "to", ""),
    ]
    assert {line["message_id"] for line in log(sim)} == {results[0]["MessageID"], results[3]["MessageID"]}


def test_a_single_mail_is_accepted(sim: Simulator, vendor: PostmarkClient) -> None:
    answer = vendor.emails.send(**MAIL)
    assert answer["MessageID"] == log(sim)[0]["message_id"]
    with pytest.raises(ClientError, match="406"):
        vendor.emails.send(**{**MAIL, "To": "inactive@example.com"})
    partly = vendor.emails.send(**{**MAIL, "Cc": "inactive@example.com"})
    assert partly["Message"].startswith("Message OK, but will not deliver to these inactive addresses")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"From": ""}, 300),
        ({"From": "news@unknown.example"}, 400),
        ({"TextBody": ""}, 300),
        ({"Subject": 1}, 403),
        ({"Nothing": "x"}, 403),
        ({"MessageStream": "none"}, 1235),
        ({"Metadata": {"n" * 21: "x"}}, 300),
        ({"Metadata": {"n": "x" * 81}}, 300),
        ({"Metadata": {str(n): "x" for n in range(11)}}, 300),
        ({"Metadata": {"n": 1}}, 403),
        ({"Headers": "x"}, 403),
        ({"Bcc": ",".join(f"b{n}@example.com" for n in range(50))}, 300),
    ],
)
def test_what_is_refused(sim: Simulator, vendor: PostmarkClient, change: dict[str, Any], code: int) -> None:
    (result,) = vendor.call("POST", "/email/batch", data=[{**MAIL, **change}])
    assert result["ErrorCode"] == code
    assert log(sim) == []


def test_calls_that_are_refused_as_a_whole(sim: Simulator, vendor: PostmarkClient) -> None:
    for data, code in (([MAIL] * (MAX_BATCH + 1), 410), ({}, 403)):
        with pytest.raises(ClientError, match=str(code)):
            vendor.call("POST", "/email/batch", data=data)
    with pytest.raises(ClientError, match="10"):
        client(sim, "wrong").emails.send(**MAIL)
    assert log(sim) == []


def test_messages_are_found_by_one_field_of_metadata(sim: Simulator, vendor: PostmarkClient) -> None:
    vendor.emails.send_batch(*[{**MAIL, "Metadata": {"posthaste_ref": f"r{n}"}} for n in range(3)])
    found = vendor.call("GET", "/messages/outbound", count=10, offset=0, metadata_posthaste_ref="r1")
    assert (found["TotalCount"], [m["Metadata"] for m in found["Messages"]]) == (1, [{"posthaste_ref": "r1"}])
    assert vendor.call("GET", "/messages/outbound", count=2, offset=2)["TotalCount"] == 3
    for query in ({"count": 501, "offset": 0}, {"count": 10}, {"count": 1, "offset": 0, "nothing": "x"}):
        with pytest.raises(ClientError, match="300"):
            vendor.call("GET", "/messages/outbound", **query)
