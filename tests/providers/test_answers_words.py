"""The words of each provider's refusal, as its documentation shows them: people read them in the log of a message."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from shared.contracts import Credential
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.outcomes import RECIPIENT, Outcome, Rejected
from shared.ports import Response, Target
from shared.providers import registry
from shared.providers.registry import AwsAccount, Needs
from shared.sigv4 import AwsKeys
from tests.providers.contract import CHANNELS, CONTENT, target
from tests.providers.fakes import NOW, FakeHttp, Fixed

PHONE = replace(target(0), recipient=Recipient("+15005550001", "+15005550001"))
MAIL = target(0)
SECRET = {
    "api_key": "SK1:key",
    "domain": "mg.sender.example",
    "account_sid": "AC" + "0" * 32,
    "auth_token": "token",
    "from": "+15005550006",
    "webhook_url": "https://api.example/webhooks/twilio/main",
    "origination_identity": "+15005550006",
}
ANSWERS: tuple[tuple[str, Target, int, Mapping[str, str], Any, str], ...] = (
    (
        "sendgrid",
        MAIL,
        400,
        {},
        {"errors": [{"message": "Does not contain a valid address.", "field": "personalizations.0.to.0.email"}]},
        "Does not contain a valid address.",
    ),
    (
        "mailgun",
        MAIL,
        400,
        {},
        {"message": "to parameter is not a valid address. please check documentation"},
        "to parameter is not a valid address. please check documentation",
    ),
    (
        "postmark",
        MAIL,
        200,
        {},
        [
            {
                "ErrorCode": 406,
                "Message": "You tried to send to a recipient that has been marked as inactive. "
                f"Found inactive addresses: {MAIL.recipient.address}.",
            }
        ],
        "You tried to send to a recipient that has been marked as inactive. Found inactive addresses: {0}.",
    ),
    (
        "resend",
        MAIL,
        422,
        {},
        {
            "statusCode": 422,
            "name": "invalid_attachment",
            "message": "Attachment must have either a `content` or `path`.",
        },
        "Attachment must have either a `content` or `path`.",
    ),
    (
        "ses",
        MAIL,
        400,
        {"x-amzn-errortype": "MessageRejected"},
        {"message": f"Email address is not verified: {MAIL.recipient.address}"},
        "Email address is not verified: {0}",
    ),
    (
        "twilio",
        PHONE,
        400,
        {},
        {"code": 21211, "message": "The 'To' number +15005550001 is not a valid phone number.", "status": 400},
        "The 'To' number {0} is not a valid phone number.",
    ),
    (
        "aws-sms",
        PHONE,
        400,
        {"x-amzn-errortype": "ConflictException"},
        {"Message": "Destination phone number is opted out", "Reason": "DESTINATION_PHONE_NUMBER_OPTED_OUT"},
        "Destination phone number is opted out",
    ),
)


def sent(name: str, response: Response | Exception, *targets: Target) -> list[Outcome]:
    role = AwsAccount("eu-west-1", lambda: AwsKeys("AKID", "secret"))
    credential = Credential("main", name, CHANNELS.get(name, "email"), 10)
    needs = Needs(FakeHttp(response), Fixed(), SECRET, credential=credential, aws=role)
    return registry.provider(name)(needs).send(replace(CONTENT, text="Hi"), [*targets], deadline=NOW + 5)


@pytest.mark.parametrize(("name", "to", "status", "headers", "answer", "words"), ANSWERS, ids=[x[0] for x in ANSWERS])
def test_a_refusal_has_the_provider_s_words(
    name: str, to: Target, status: int, headers: Mapping[str, str], answer: Any, words: str
) -> None:
    (outcome,) = sent(name, Response(status, headers, json.dumps(answer).encode()), to)
    assert isinstance(outcome, Rejected), outcome
    assert outcome.detail == words.format(RECIPIENT)


@pytest.mark.parametrize("name", [x[0] for x in ANSWERS])
@pytest.mark.parametrize(
    "body", [b"", b"<html>gateway</html>", b"[]", b'{"message": {"a": 1}, "errors": [{"message": 1}]}']
)
def test_an_answer_without_words_has_none(name: str, body: bytes) -> None:
    to = PHONE if name in CHANNELS else MAIL
    (outcome,) = sent(name, Response(401, {}, body), to)
    assert not isinstance(outcome, Rejected) or outcome.detail == ""


def test_words_about_one_recipient_of_a_call_are_no_other_s() -> None:
    errors = [{"message": "Does not contain a valid address.", "field": "personalizations.1.to.0.email"}]
    first, second = sent("sendgrid", Response(400, {}, json.dumps({"errors": errors}).encode()), MAIL, target(1))
    assert isinstance(second, Rejected)
    assert (getattr(first, "detail", ""), second.detail) == ("", "Does not contain a valid address.")


def test_words_of_ses_about_one_entry_are_its_own() -> None:
    results = [
        {"Status": "SUCCESS", "MessageId": "id"},
        {"Status": "MESSAGE_REJECTED", "Error": "Email address is not verified"},
    ]
    body = json.dumps({"BulkEmailEntryResults": results}).encode()
    _, second = sent("ses", Response(200, {}, body), MAIL, target(1))
    assert isinstance(second, Rejected)
    assert second.detail == "Email address is not verified"
