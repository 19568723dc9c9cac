"""Twilio's messages: what its SDK sends is accepted, what it refuses is refused in its words, callbacks are signed."""

import base64
import http.client
import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import pytest
from twilio.base.exceptions import TwilioRestException
from twilio.http.http_client import TwilioHttpClient
from twilio.request_validator import RequestValidator
from twilio.rest import Client

from simulator import ControlError, Simulator
from simulator.vendors.twilio.api import ACCOUNT
from simulator.vendors.twilio.messages import SENDER, Twilio, segments
from tests.simulator.conftest import STANDARD, Answer, Target

PROVIDER, CREDENTIAL = "twilio", "main"
KEY = "SK" + "6" * 32 + ":simulator"
TEXT = {"To": "+15550100000", "From": SENDER, "Body": "Hi"}
PATH = f"/2010-04-01/Accounts/{ACCOUNT}/Messages.json"
NUMBERS = {"+15550100001": "bounce", "+15550100002": "lost_segment", "+15550100003": "silent"}
REF = "job-1-0-1"


class Redirected(TwilioHttpClient):  # type: ignore[misc]  # the package has no types
    """The vendor's transport, to the simulator."""

    base_url = ""

    def request(self, method: str, url: str, **options: Any) -> Any:
        return super().request(method, url.replace("https://api.twilio.com", self.base_url), **options)


@pytest.fixture
def vendor(sim: Simulator) -> Any:
    transport = Redirected(pool_connections=False)
    transport.base_url = sim.base_url(PROVIDER, CREDENTIAL)
    sim.control.webhooks(
        PROVIDER, CREDENTIAL, url="", delay={"ms": 1}, parallel=1, duplicate=0, mix={}, behaviours=NUMBERS
    )
    return Client(*KEY.split(":"), account_sid=ACCOUNT, http_client=transport)


def send(sim: Simulator, body: Any = None, *, path: str = PATH, method: str = "POST", key: str = KEY) -> Answer:
    parts = urlsplit(sim.base_url(PROVIDER, CREDENTIAL))
    connection = http.client.HTTPConnection(parts.netloc, timeout=10)
    authorization = "Basic " + base64.b64encode(key.encode()).decode()
    headers = {"Authorization": authorization, "Content-Type": "application/x-www-form-urlencoded", **STANDARD}
    try:
        data = body if isinstance(body, bytes) else urlencode(TEXT if body is None else body, doseq=True)
        connection.request(method, parts.path + path, data, headers)
        response = connection.getresponse()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    finally:
        connection.close()


def log(sim: Simulator) -> list[dict[str, Any]]:
    return sim.control.log(PROVIDER, CREDENTIAL)


def test_a_text_of_the_vendors_sdk_is_accepted(sim: Simulator, vendor: Any) -> None:
    made = vendor.messages.create(
        to="+15550100003", from_=SENDER, body="Grüße {}", status_callback=f"https://x.example/a?ref={REF}"
    )
    assert (made.status, made.num_segments, made.error_code, made.direction) == ("queued", "1", None, "outbound-api")
    assert (made.to, made.from_, made.body, made.account_sid) == ("+15550100003", SENDER, "Grüße {}", ACCOUNT)
    (line,) = log(sim)
    assert (line["message_id"], line["recipient"], line["ref"]) == (made.sid, "+15550100003", REF)
    assert sim.control.json("GET", f"/inbox/{line['seq']}.json")["text"] == "Grüße {}"


def test_a_messaging_service_has_no_sender_and_no_segments_yet(sim: Simulator, vendor: Any) -> None:
    service = "MG" + "0" * 32
    made = vendor.messages.create(to="+15550100000", messaging_service_sid=service, body="Hi", validity_period=36_000)
    found = (made.status, made.num_segments, made.from_, made.messaging_service_sid)
    assert found == ("accepted", "0", None, service)
    assert len(log(sim)) == 1


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 1),
        ("x" * 160, 1),
        ("x" * 161, 2),
        ("x" * 306, 2),
        ("x" * 307, 3),
        ("€" * 80, 1),
        ("€" * 81, 2),
        ("ж" * 70, 1),
        ("ж" * 71, 2),
        ("ж" * 134, 2),
        ("ж" * 135, 3),
        ("\U0001f600" * 35, 1),
        ("\U0001f600" * 36, 2),
        ("`" * 71, 2),
        ("$@\n[" * 32, 1),
    ],
)
def test_segments(text: str, count: int) -> None:
    assert segments(text) == count


def test_the_answer_counts_segments(sim: Simulator) -> None:
    assert send(sim, {**TEXT, "Body": "x" * 161}).json()["num_segments"] == "2"


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"key": "SK1:wrong"}, 401, 20003),
        ({"key": f"{ACCOUNT}:wrong"}, 401, 20003),
        ({"path": PATH.replace(ACCOUNT, "AC1")}, 401, 20003),
        ({"path": "/2010-04-01/Messages.json"}, 404, 20404),
        ({"method": "GET"}, 405, 20004),
    ],
)
def test_keys_paths_and_methods(sim: Simulator, changes: dict[str, str], status: int, code: int) -> None:
    answer = send(sim, **changes)
    assert (answer.status, answer.json()["code"], answer.json()["status"]) == (status, code, status)
    assert log(sim) == []


def test_the_account_calls_with_its_token(sim: Simulator) -> None:
    token = sim.control.keys(PROVIDER)["auth_token"]
    assert send(sim, key=f"{ACCOUNT}:{token}").status == 201


WRONG: dict[str, tuple[Any, int, int]] = {
    "no to": ({**TEXT, "To": ""}, 400, 21604),
    "bad to": ({**TEXT, "To": "15550100000"}, 400, 21211),
    "invalid to": ({**TEXT, "To": "+15005550001"}, 400, 21211),
    "no route": ({**TEXT, "To": "+15005550002"}, 400, 21612),
    "region": ({**TEXT, "To": "+15005550003"}, 400, 21408),
    "stopped": ({**TEXT, "To": "+15005550004"}, 400, 21610),
    "not mobile": ({**TEXT, "To": "+15005550009"}, 400, 21614),
    "to itself": ({**TEXT, "To": SENDER}, 400, 21266),
    "no from": ({**TEXT, "From": ""}, 400, 21603),
    "invalid from": ({**TEXT, "From": "+15005550001"}, 400, 21212),
    "malformed from": ({**TEXT, "From": "a@b"}, 400, 21212),
    "another's from": ({**TEXT, "From": "+15005550007"}, 400, 21606),
    "full queue": ({**TEXT, "From": "+15005550008"}, 400, 21611),
    "no service": ({**TEXT, "MessagingServiceSid": "MG1"}, 404, 21701),
    "no body": ({**TEXT, "Body": ""}, 400, 21602),
    "long body": ({**TEXT, "Body": "x" * 1601}, 400, 21617),
    "callback": ({**TEXT, "StatusCallback": "nowhere"}, 400, 21609),
    "validity 0": ({**TEXT, "ValidityPeriod": "0"}, 400, 21626),
    "validity too long": ({**TEXT, "ValidityPeriod": "36001"}, 400, 21626),
    "unknown field": ({**TEXT, "Subject": "x"}, 400, 20001),
    "twice": ({**TEXT, "To": ["+15550100000", "+15550100001"]}, 400, 20001),
    "no form": (b"To=%ff", 400, 20001),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_request_has_the_vendors_error_and_stores_nothing(sim: Simulator, name: str) -> None:
    body, status, code = WRONG[name]
    answer = send(sim, body)
    assert (answer.status, answer.json()["code"]) == (status, code)
    assert set(answer.json()) == {"code", "message", "more_info", "status"}
    assert log(sim) == []


def test_the_vendors_sdk_reads_refusals(sim: Simulator, vendor: Any) -> None:
    with pytest.raises(TwilioRestException) as raised:
        vendor.messages.create(to="+15005550004", from_=SENDER, body="Hi")
    assert (raised.value.status, raised.value.code) == (400, 21610)
    for mode, status, code in (("429", 429, 20429), ("503", 503, 20503), ("401", 401, 20003)):
        sim.control.faults(PROVIDER, CREDENTIAL, mode=mode)
        with pytest.raises(TwilioRestException) as raised:
            vendor.messages.create(to="+15550100000", from_=SENDER, body="Hi")
        assert (raised.value.status, raised.value.code) == (status, code)
    sim.control.faults(PROVIDER, CREDENTIAL, mode="429", retry_after_s=3)
    assert send(sim).headers["retry-after"] == "3"
    assert log(sim) == []


# Callbacks


def test_each_callback_is_a_post_that_the_vendors_package_verifies(sim: Simulator, vendor: Any, target: Target) -> None:
    callback = f"{target.url}?ref={REF}"
    made = vendor.messages.create(to="+15550100002", from_=SENDER, body="Hi", status_callback=callback)
    assert sim.control.flush()["failed"] == 0
    validator = RequestValidator(sim.control.keys(PROVIDER)["auth_token"])
    found = []
    for post in target.posts:
        fields = dict(parse_qsl(post.body.decode(), keep_blank_values=True))
        signature = post.headers["x-twilio-signature"]
        assert validator.validate(callback, fields, signature)
        assert not validator.validate(callback + "0", fields, signature)
        assert not validator.validate(callback, {**fields, "MessageStatus": "x"}, signature)
        assert (fields["MessageSid"], fields["To"], fields["From"]) == (made.sid, "+15550100002", SENDER)
        assert fields["AccountSid"] == ACCOUNT
        found.append((fields["MessageStatus"], fields.get("ErrorCode", "")))
    assert found == [("sent", ""), ("undelivered", "30005"), ("delivered", "")]
    assert "ErrorMessage" in parse_qs(target.posts[1].body.decode(), keep_blank_values=True)


def test_without_a_callback_nothing_is_posted(sim: Simulator, vendor: Any, target: Target) -> None:
    vendor.messages.create(to="+15550100000", from_=SENDER, body="Hi")
    sim.control.flush()
    assert target.posts == []


def test_a_callback_may_name_the_service(sim: Simulator, vendor: Any, target: Target) -> None:
    service = "MG" + "0" * 32
    vendor.messages.create(to="+15550100000", messaging_service_sid=service, body="Hi", status_callback=target.url)
    sim.control.flush()
    assert {dict(parse_qsl(p.body.decode()))["MessagingServiceSid"] for p in target.posts} == {service}


def test_an_unknown_behaviour_is_refused(sim: Simulator) -> None:
    with pytest.raises(ControlError, match="no behaviour explode"):
        sim.control.webhooks(PROVIDER, CREDENTIAL, behaviours={"+15550100000": "explode"})


def test_the_auth_token_is_kept_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "twilio.pem"
    first = Twilio(file).describe()
    assert file.stat().st_mode & 0o777 == 0o600
    assert Twilio(file).describe() == first
    assert json.dumps(first) != json.dumps(Twilio(None).describe())
