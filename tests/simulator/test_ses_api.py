"""SES's operations: what botocore's client sends is accepted, what SES refuses is refused in its words."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.session import get_session
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from simulator import Simulator
from simulator.vendors.aws.ses import Ses
from simulator.vendors.aws.signing import SECRET_KEY
from tests.simulator.conftest import post

CREDENTIAL = "main"
FROM = "News <news@sender.example>"
BODY = {"Subject": {"Data": "Hello"}, "Body": {"Text": {"Data": "Hi"}, "Html": {"Data": "<p>Hi</p>"}}}
MAIL: dict[str, Any] = {
    "FromEmailAddress": FROM,
    "Destination": {"ToAddresses": ["ada@example.com"]},
    "Content": {"Simple": BODY},
    "EmailTags": [{"Name": "ref", "Value": "job-1-0-1"}],
    "ConfigurationSetName": "events",
}


def bulk(*addresses: str, **changes: Any) -> dict[str, Any]:
    return {
        "FromEmailAddress": FROM,
        "DefaultContent": {
            "Template": {
                "TemplateContent": {"Subject": "Hello {{name}}", "Text": "Hi {{name}}"},
                "TemplateData": '{"name": "you"}',
            }
        },
        "BulkEmailEntries": [
            {
                "Destination": {"ToAddresses": [a]},
                "ReplacementTags": [{"Name": "ref", "Value": f"job-1-{n}-1"}],
            }
            for n, a in enumerate(addresses)
        ],
        **changes,
    }


def client(sim: Simulator, key: str = Ses.default_key, secret: str = SECRET_KEY) -> Any:
    retries: Any = {"total_max_attempts": 1}
    return get_session().create_client(
        "sesv2",
        region_name="eu-west-1",
        endpoint_url=sim.base_url("ses", CREDENTIAL),
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        config=Config(retries=retries),
    )


@pytest.fixture
def vendor(sim: Simulator) -> Iterator[Any]:
    made = client(sim)
    yield made
    made.close()


def refused(call: Any, **mail: Any) -> tuple[int, str, str]:
    with pytest.raises(ClientError) as caught:
        call(**mail)
    found = caught.value.response
    return found["ResponseMetadata"]["HTTPStatusCode"], found["Error"]["Code"], found["Error"]["Message"]


def log(sim: Simulator) -> list[dict[str, Any]]:
    return sim.control.log("ses", CREDENTIAL)


def test_the_vendor_s_client_sends_a_mail(sim: Simulator, vendor: Any) -> None:
    answer = vendor.send_email(**MAIL)
    (line,) = log(sim)
    assert line["message_id"] == answer["MessageId"]
    assert (line["recipient"], line["role"], line["ref"], line["subject"]) == (
        "ada@example.com",
        "to",
        "job-1-0-1",
        "Hello",
    )


def test_the_vendor_s_client_sends_copies_headers_and_files(sim: Simulator, vendor: Any) -> None:
    extras = {
        "Headers": [{"Name": "X-A", "Value": "b"}],
        "Attachments": [{"RawContent": b"\x00\xff", "FileName": "a.bin", "ContentDisposition": "ATTACHMENT"}],
    }
    destination = {
        "ToAddresses": ["a@x.example"],
        "CcAddresses": ['"C, D" <c@x.example>'],
        "BccAddresses": ["b@x.example"],
    }
    vendor.send_email(**{**MAIL, "Destination": destination, "Content": {"Simple": {**BODY, **extras}}})
    assert [(line["recipient"], line["role"]) for line in log(sim)] == [
        ("a@x.example", "to"),
        ("c@x.example", "cc"),
        ("b@x.example", "bcc"),
    ]
    (seq, *_) = [line["seq"] for line in log(sim)]
    shown = sim.control.json("GET", f"/inbox/{seq}.json")
    assert (shown["attachments"], shown["headers"]) == (["a.bin"], {"X-A": "b"})


def test_the_vendor_s_client_sends_many(sim: Simulator, vendor: Any) -> None:
    mail = bulk("a@x.example", "throttled@x.example", "b@unverified.example", "d@x.example")
    mail["BulkEmailEntries"][3]["ReplacementEmailContent"] = {
        "ReplacementTemplate": {"ReplacementTemplateData": '{"name": "D"}'}
    }
    results = vendor.send_bulk_email(**mail)["BulkEmailEntryResults"]
    assert [r["Status"] for r in results] == ["SUCCESS", "ACCOUNT_THROTTLED", "MESSAGE_REJECTED", "SUCCESS"]
    found = [(line["ref"], line["subject"], line["message_id"]) for line in log(sim)]
    assert found == [
        ("job-1-0-1", "Hello you", results[0]["MessageId"]),
        ("job-1-3-1", "Hello D", results[3]["MessageId"]),
    ]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"FromEmailAddress": "news@unverified.example"}, (400, "MessageRejected")),
        ({"FromEmailAddress": "news"}, (400, "BadRequestException")),
        ({"FromEmailAddress": "Ω <news@x.example>"}, (400, "BadRequestException")),
        ({"ConfigurationSetName": "unknown-set"}, (404, "NotFoundException")),
        ({"Destination": {}}, (400, "BadRequestException")),
        ({"Destination": {"ToAddresses": ["x"]}}, (400, "BadRequestException")),
        ({"Destination": {"ToAddresses": [f"a{n}@x.example" for n in range(51)]}}, (400, "BadRequestException")),
        ({"EmailTags": [{"Name": "ref", "Value": "a.b"}]}, (400, "BadRequestException")),
        ({"EmailTags": [{"Name": "ref", "Value": "a@b"}]}, (400, "BadRequestException")),
        ({"ReplyToAddresses": ["x"]}, (400, "BadRequestException")),
        ({"Content": {"Simple": {**BODY, "Body": {}}}}, (400, "BadRequestException")),
        ({"Content": {"Simple": {**BODY, "Headers": [{"Name": "X", "Value": "é"}]}}}, (400, "BadRequestException")),
        (
            {"Content": {"Simple": {**BODY, "Headers": [{"Name": f"X-{n}", "Value": "x"} for n in range(16)]}}},
            (400, "BadRequestException"),
        ),
    ],
)
def test_what_is_refused(sim: Simulator, vendor: Any, changes: dict[str, Any], expected: tuple[int, str]) -> None:
    assert refused(vendor.send_email, **{**MAIL, **changes})[:2] == expected
    assert log(sim) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"BulkEmailEntries": []},
        bulk(*[f"a{n}@x.example" for n in range(51)]),
        bulk("a@x.example", "x"),
        {"DefaultContent": {"Template": {"TemplateContent": {"Text": "{{#if x}}"}, "TemplateData": "{}"}}},
        {"DefaultContent": {"Template": {"TemplateContent": {"Text": "x"}, "TemplateData": "["}}},
        {"DefaultContent": {"Template": {"TemplateContent": {"Text": "x" * 10**6}, "TemplateData": "{}"}}},
    ],
)
def test_a_call_of_several_is_refused_as_a_whole(sim: Simulator, vendor: Any, changes: dict[str, Any]) -> None:
    assert refused(vendor.send_bulk_email, **{**bulk("a@x.example"), **changes})[:2] == (400, "BadRequestException")
    assert log(sim) == []


def test_a_wrong_key_or_signature(sim: Simulator) -> None:
    assert refused(client(sim, key="AKOTHER").send_email, **MAIL)[:2] == (403, "UnrecognizedClientException")
    assert refused(client(sim, secret="other").send_email, **MAIL)[:2] == (403, "InvalidSignatureException")
    assert log(sim) == []


def test_another_path_is_no_operation(sim: Simulator) -> None:
    answer = post(sim.base_url("ses", CREDENTIAL), b"{}")
    assert (answer.status, answer.headers["x-amzn-errortype"]) == (404, "UnknownOperationException")


def test_a_body_that_was_changed_on_its_way(sim: Simulator, vendor: Any) -> None:
    def change(request: Any, **_: Any) -> None:
        request.body = request.body.replace(b"ada@", b"eve@")

    vendor.meta.events.register("before-send.sesv2.SendEmail", change)
    assert refused(vendor.send_email, **MAIL)[:2] == (403, "InvalidSignatureException")
    assert log(sim) == []


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("429", (429, "TooManyRequestsException")),
        ("401", (403, "UnrecognizedClientException")),
        ("503", (503, "ServiceUnavailableException")),
    ],
)
def test_faults_speak_as_ses_does(sim: Simulator, vendor: Any, mode: str, expected: tuple[int, str]) -> None:
    sim.control.faults("ses", CREDENTIAL, mode=mode)
    assert refused(vendor.send_email, **MAIL)[:2] == expected
    assert log(sim) == []


def test_what_a_credential_s_secret_needs(sim: Simulator, tmp_path: Path) -> None:
    keys = sim.control.keys("ses")
    assert keys["keys"] == [keys["access_key_id"]] == [Ses.default_key]
    assert keys["secret_access_key"] == SECRET_KEY
    file = tmp_path / "ses.pem"
    made = Ses(file)
    again = Ses(file)
    assert load_pem_private_key(file.read_bytes(), None)
    assert file.stat().st_mode & 0o777 == 0o600
    headers, body = again.post([{"id": "a", "event": {}}], "http://127.0.0.1/hook", 0)
    assert headers["x-amz-sns-message-type"] == "Notification"
    assert base64.b64decode(json.loads(body)["Signature"])
    assert made.describe()["topic_arn"] == again.describe()["topic_arn"]
