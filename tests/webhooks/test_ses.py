"""SNS posts to the webhook function."""

import json
from dataclasses import replace
from typing import Any

import pytest

from functions.webhooks import receive
from functions.webhooks.services import Services, build
from shared import contracts
from shared.adapters.http.transport import HttpClient
from shared.contracts import Credential, Settings, load_feedback
from shared.ports import NotSent, Response
from shared.providers.ses.events import SesWebhooks
from tests.providers.fakes import FakeHttp, Fixed
from tests.providers.ses_posts import KEY, PINNED, SECRET, confirmation, pem, post
from tests.webhooks.test_receive import Clock, Queue

SETTINGS = Settings("dev", (Credential("ses-main", "ses", "email", 14),), {"email": ("ses-main",)})


def using(http: FakeHttp, secret: dict[str, str] = SECRET) -> tuple[Services, Queue]:
    reader, queue = SesWebhooks(), Queue()
    reader.fetch_by(http, Fixed())
    return Services(SETTINGS, lambda _: secret, queue, Clock(), lambda _: reader), queue


def call(body: bytes, services: Services) -> tuple[int, Any]:
    answer = receive.receive(
        {
            "pathParameters": {"provider": "ses", "credential_id": "ses-main"},
            "headers": {"Content-Type": "text/plain; charset=UTF-8"},
            "body": body.decode(),
        },
        services,
    )
    return answer["statusCode"], json.loads(answer["body"])


@pytest.mark.promise(7)
def test_a_signed_post_is_queued() -> None:
    services, queue = using(FakeHttp(Response(200, {}, pem(KEY).encode())))
    assert call(post(), services) == call(post(), services) == (200, {"received": 1, "ours": 1})
    assert [load_feedback(body)[0] for body in queue.bodies] == ["ses-main", "ses-main"]
    assert queue.bodies[0] == queue.bodies[1]


def test_a_subscription_is_confirmed_once_its_signature_holds() -> None:
    http = FakeHttp(Response(200, {}, b""))
    services, queue = using(http, PINNED)
    assert call(confirmation(signed_as={"Token": "x"}), services)[0] == 401
    assert http.requests == []
    assert call(confirmation(), services) == (200, {"received": 0, "ours": 0})
    assert len(http.requests) == 1
    assert queue.bodies == []


def test_what_cannot_be_checked_now_is_asked_for_again() -> None:
    services, queue = using(FakeHttp(NotSent("dns")))
    assert call(post(), services)[0] == 503
    assert queue.bodies == []


@pytest.mark.promise(9)
def test_a_topic_of_somebody_else_is_refused() -> None:
    services, queue = using(FakeHttp(Response(200, {}, pem(KEY).encode())))
    stranger = replace(services, secret=lambda _: {"topic_arn": "arn:aws:sns:eu-west-1:1:other"})
    assert call(post(), stranger)[0] == 401
    assert queue.bodies == []


def test_the_reader_gets_a_separate_transport() -> None:
    env = {contracts.ENV_SETTINGS: SETTINGS.dumps(), contracts.ENV_FEEDBACK_QUEUE_URL: "https://sqs.x/feedback"}
    built = build(env, lambda _: None)
    reader = built.reader_of("ses", "ses-main")
    assert isinstance(reader, SesWebhooks)
    assert reader._fetcher is not None
    assert isinstance(reader._fetcher[0], HttpClient)
    assert built.reader_of("ses", "ses-main") is reader
