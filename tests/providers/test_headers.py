"""What our calls say of themselves, beside what each vendor's SDK says: both go to the same server on loopback."""

import contextlib
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import boto3
import pytest
import resend
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from mailgun.client import Client as Mailgun
from sendgrid import SendGridAPIClient
from twilio.base.exceptions import TwilioException
from twilio.http.http_client import TwilioHttpClient
from twilio.rest import Client as Twilio

from shared.adapters.http.transport import HttpClient
from shared.contracts import Credential
from shared.providers import registry
from shared.providers.registry import Needs
from tests.fakes.shifted import ShiftedClock
from tests.providers.contract import CONTENT, FAR, target
from tests.simulator.conftest import Post, Target, listening

TRANSPORT = frozenset({"host", "connection", "content-length", "accept-encoding"})
"""Headers of the connection rather than of the call."""
EXTRA = frozenset({"amz-sdk-invocation-id", "amz-sdk-request", "x-twilio-client", "accept-charset"})
"""What botocore tells of its own retries, twilio-python of its version, and that answers are UTF-8, as all JSON is."""
SECRET = {
    "api_key": "key",
    "domain": "mg.sender.example",
    "access_key_id": "AKIA0",
    "secret_access_key": "secret",
    "region": "eu-west-1",
    "account_sid": "AC" + "1" * 32,
    "auth_token": "token",
    "from": "+15005550006",
}


class Elsewhere(TwilioHttpClient):  # type: ignore[misc]  # the package has no types
    """The vendor's transport, but to another server."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._server = urlsplit(url)

    def request(self, method: str, url: str, *args: Any, **options: Any) -> Any:
        return super().request(
            method, urlunsplit(urlsplit(url)._replace(scheme="http", netloc=self._server.netloc)), *args, **options
        )


def by_sendgrid(url: str) -> None:
    SendGridAPIClient("key", host=url).client.mail.send.post(request_body={"subject": "Hello"})


def by_mailgun(url: str) -> None:
    with Mailgun(auth=("api", "key"), api_url=url) as client:
        client.messages.create(data={"to": "a@example.com"}, domain="mg.sender.example")


def by_resend(url: str) -> None:
    resend.api_url, resend.api_key = url, "key"
    mail: Any = {"from": "a@x.example", "to": "b@x.example", "subject": "Hello", "text": "Hi"}
    with contextlib.suppress(resend.exceptions.ResendError):  # the server has no answer of Resend's
        resend.Emails.send(mail, {"idempotency_key": "key"})


def by_ses(url: str) -> None:
    config = Config(retries={"total_max_attempts": 1})
    client = boto3.client(
        "sesv2",
        "eu-west-1",
        endpoint_url=url,
        aws_access_key_id="AKIA0",
        aws_secret_access_key="secret",
        config=config,
    )
    with contextlib.suppress(ClientError, BotoCoreError):
        client.send_email(Destination={"ToAddresses": ["a@example.com"]}, Content={"Raw": {"Data": b""}})


def by_twilio(url: str) -> None:
    client = Twilio("AC" + "1" * 32, "token", http_client=Elsewhere(url))
    with contextlib.suppress(ValueError, TwilioException):
        client.messages.create(to="+15551234567", from_="+15005550006", body="Hi")


SDKS: Mapping[str, Callable[[str], None]] = {
    "sendgrid": by_sendgrid,
    "mailgun": by_mailgun,
    "resend": by_resend,
    "ses": by_ses,
    "twilio": by_twilio,
}


def ours(name: str, url: str) -> None:
    clock = ShiftedClock()
    http = HttpClient(clock)
    channel = "sms" if name == "twilio" else "email"
    lane = Credential("main", name, channel, 10)
    secret = {**SECRET, "api_key": "SK1:secret"} if name == "twilio" else SECRET
    provider = registry.provider(name)(Needs(http, clock, secret, url, credential=lane, public_url="https://a.example"))
    provider.send(CONTENT, [target(0, channel=channel)], deadline=clock.now() + FAR)
    http.close()


def said(post: Post) -> dict[str, str]:
    return {name: value for name, value in post.headers.items() if name not in TRANSPORT | EXTRA}


@pytest.mark.parametrize("name", SDKS)
def test_a_call_says_all_that_the_vendor_s_sdk_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resend, "api_url", resend.api_url)
    monkeypatch.setattr(resend, "api_key", resend.api_key)
    with listening() as server:
        url = server.url.removesuffix("/hook")
        SDKS[name](url)
        ours(name, url)
        theirs, mine = map(said, _two(server))
    assert set(mine) >= set(theirs)
    assert mine["user-agent"]
    assert theirs.get("accept", "*/*") in ("*/*", mine["accept"])
    scheme = theirs["authorization"].split(" ")[0]
    assert mine["authorization"].split(" ")[0] == scheme


def _two(server: Target) -> list[Post]:
    assert len(server.posts) == 2
    return server.posts
