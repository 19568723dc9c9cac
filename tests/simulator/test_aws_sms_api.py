"""AWS's own SDK against the simulator, and what it refuses."""

from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.session import get_session

from simulator import Simulator
from simulator.vendors.aws.signing import SECRET_KEY
from simulator.vendors.aws.sms import NUMBER, WORDS, AwsSms

TEXT: dict[str, Any] = {
    "DestinationPhoneNumber": "+15550100000",
    "OriginationIdentity": NUMBER,
    "MessageBody": "Hi",
    "MessageType": "TRANSACTIONAL",
    "Context": {"posthaste_ref": "ref-1"},
}
CALL = {k: v for k, v in TEXT.items() if k != "MessageType"} | {"VoiceId": "NICOLE"}


def client(sim: Simulator, key: str = AwsSms.default_key, secret: str = SECRET_KEY) -> Any:
    return get_session().create_client(
        "pinpoint-sms-voice-v2",
        region_name="eu-west-1",
        endpoint_url=sim.base_url("aws-sms", "sdk"),
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        config=Config(retries={"total_max_attempts": 1}),
    )


@pytest.fixture(autouse=True)
def clean(sim: Simulator) -> None:
    sim.control.reset()
    sim.control.webhooks("aws-sms", "sdk", mix={"silent": 1})


def test_the_sdk_sends_texts_and_calls(sim: Simulator) -> None:
    made = [client(sim).send_text_message(**TEXT), client(sim).send_voice_message(**CALL)]
    log = sim.control.log("aws-sms", "sdk")
    assert [line["message_id"] for line in log] == [x["MessageId"] for x in made]
    assert [(line["ref"], line["recipient"]) for line in log] == [("ref-1", "+15550100000")] * 2


def test_a_dry_run_sends_nothing(sim: Simulator) -> None:
    assert client(sim).send_text_message(**TEXT, DryRun=True)["MessageId"]
    assert sim.control.log("aws-sms", "sdk") == []


@pytest.mark.parametrize(
    ("changes", "keys", "code"),
    [
        ({"DestinationPhoneNumber": "+15005550004"}, {}, "ConflictException"),
        ({"DestinationPhoneNumber": "+15005550003"}, {}, "ValidationException"),
        ({"OriginationIdentity": "unknown-1"}, {}, "ResourceNotFoundException"),
        ({"ConfigurationSetName": "unknown-1"}, {}, "ResourceNotFoundException"),
        ({}, {"key": "AKOTHER"}, "UnrecognizedClientException"),
        ({}, {"secret": "other"}, "InvalidSignatureException"),
    ],
)
def test_what_is_refused(sim: Simulator, changes: dict[str, str], keys: dict[str, str], code: str) -> None:
    with pytest.raises(ClientError) as refused:
        client(sim, **keys).send_text_message(**TEXT | changes)
    assert refused.value.response["Error"]["Code"] == code
    assert sim.control.log("aws-sms", "sdk") == []


def test_texts_and_calls_have_the_same_behaviours() -> None:
    texts = {name for name in WORDS if ":" not in name}
    assert {f"call:{name}" for name in texts} == set(WORDS) - texts
