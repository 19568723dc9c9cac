"""Amazon SES over a fake transport."""

import json
from collections.abc import Mapping
from typing import Any

from botocore.session import get_session
from botocore.validate import ParamValidator

from shared.contracts import Credential
from shared.domain.content.content import Content
from shared.domain.jobs.outcomes import Outcome, Rejected
from shared.ports import Response, Target
from shared.providers.registry import AwsAccount
from shared.providers.ses.send import Ses
from shared.sigv4 import AwsKeys
from tests.providers.contract import CONTENT, target
from tests.providers.fakes import NOW, FakeHttp, Fixed

KEYS = AwsKeys("AKID", "secret")
ROLE = AwsAccount("eu-west-1", lambda: AwsKeys("AKROLE", "role-secret", "token"))
DECLARED = Credential("ses-main", "ses", "email", 14, configuration_set="posthaste-dev-ses-main")
ID = "0100018f0f0f0f0f-11111111-2222-3333-4444-555555555555-000000"
TAKEN = Response(200, {}, json.dumps({"MessageId": ID}).encode())
SHAPES: Any = get_session().get_service_model("sesv2")


def ses(http: FakeHttp) -> Ses:
    return Ses(
        http,
        "https://email.eu-west-1.amazonaws.com",
        region="eu-west-1",
        keys=lambda: KEYS,
        configuration_set="events",
        credential="ses-main",
        clock=Fixed(),
    )


def outcomes_of(answer: Response | Exception, targets: int = 1) -> list[Outcome]:
    return ses(FakeHttp(answer)).send(CONTENT, [target(n) for n in range(targets)], deadline=NOW + 5)


def request_of(content: Content, targets: list[Target]) -> tuple[str, dict[str, Any]]:
    """Send, and return the URL and the body, which the vendor's own service model must allow."""
    http = FakeHttp(TAKEN)
    ses(http).send(content, targets, deadline=NOW + 5)
    ((method, url, headers, body),) = http.requests
    assert method == "POST"
    assert headers["Content-Type"] == "application/json"
    operation = "SendBulkEmail" if "bulk" in url else "SendEmail"
    model = SHAPES.operation_model(operation)
    assert url == "https://email.eu-west-1.amazonaws.com" + model.http["requestUri"]
    found = json.loads(body)
    report = ParamValidator().validate(found, model.input_shape)
    assert not report.has_errors(), report.generate_report()
    return operation, found


def tags(found: list[Mapping[str, str]]) -> dict[str, str]:
    return {tag["Name"]: tag["Value"] for tag in found}


def results(*statuses: str, text: str = "") -> Response:
    rows = [
        {"Status": s, "MessageId": f"{ID}-{n}"} if s == "SUCCESS" else {"Status": s, "Error": text}
        for n, s in enumerate(statuses)
    ]
    return Response(200, {}, json.dumps({"BulkEmailEntryResults": rows}).encode())


def down(code: str, *, by_text: bool = False) -> Rejected:
    return Rejected(code, permanent=False, provider_down=True, by_text=by_text)
