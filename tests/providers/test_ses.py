import base64
import hashlib
import json
from dataclasses import replace
from email.header import decode_header, make_header
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.content.content import Attachment, Content, Mailbox
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.outcomes import Accepted, NotStarted, Rejected
from shared.ports import Provider, Sized, Target
from shared.providers import registry
from shared.providers._common import JOIN, REF_ARG, STANDARD, TO_ARG, digest
from shared.providers.registry import AwsAccount, Needs
from shared.providers.ses.events import CREDENTIAL_ARG
from shared.providers.ses.request import literal
from shared.providers.ses.send import MAX_INLINE, PER_CALL
from shared.sigv4 import AwsKeys
from simulator.vendors.aws.ses import render
from tests.providers.contract import CONTENT, target
from tests.providers.fakes import NOW, FakeHttp, Fixed
from tests.providers.ses_calls import DECLARED, ID, KEYS, ROLE, TAKEN, down, request_of, ses, tags

# The request

FULL = Content(
    Mailbox("news@sender.example", 'News "quoted", \\ Ω'),
    "Grüße {{name}} \U0001f600",
    html='<p>Hällo \u2028 "x" {{{y}}} \\{{z</p>',
    text="Hällo\r\n\ttab",
    reply_to=Mailbox("answers@sender.example", "Answers"),
    headers=(("X-Campaign", "spring"), ("List-Unsubscribe", "<https://x.example/u>")),
    attachments=(
        Attachment("a b.txt", "text/plain", base64.b64encode(b"hello\x00\xff").decode()),
        Attachment("logo.png", "image/png", "aWNvbg==", content_id="logo"),
    ),
)


def test_one_recipient_goes_by_send_email() -> None:
    t = Target(target(0).ref, Recipient("Ada@example.com", "ada@example.com", "Ada"))
    operation, body = request_of(FULL, [t])
    assert operation == "SendEmail"
    assert body["Destination"] == {"ToAddresses": ['"Ada" <Ada@example.com>']}
    assert tags(body["EmailTags"]) == {REF_ARG: t.ref, CREDENTIAL_ARG: "ses-main"}
    assert body["ConfigurationSetName"] == "events"
    assert body["ReplyToAddresses"] == ['"Answers" <answers@sender.example>']
    name, _, address = body["FromEmailAddress"].rpartition(" ")
    assert address == "<news@sender.example>"
    assert str(make_header(decode_header(name))) == FULL.sender.display
    simple = body["Content"]["Simple"]
    assert simple["Subject"] == {"Data": FULL.subject, "Charset": "UTF-8"}
    assert simple["Body"] == {
        "Text": {"Data": FULL.text, "Charset": "UTF-8"},
        "Html": {"Data": FULL.html, "Charset": "UTF-8"},
    }
    assert {h["Name"]: h["Value"] for h in simple["Headers"]} == dict(FULL.headers)
    first, second = simple["Attachments"]
    assert base64.b64decode(first["RawContent"]) == b"hello\x00\xff"
    assert (first["FileName"], first["ContentType"], first["ContentDisposition"]) == (
        "a b.txt",
        "text/plain",
        "ATTACHMENT",
    )
    assert "ContentId" not in first
    assert (second["ContentDisposition"], second["ContentId"]) == ("INLINE", "logo")


def test_several_recipients_go_by_send_bulk_email_and_see_no_other() -> None:
    targets = [target(n) for n in range(3)]
    operation, body = request_of(FULL, targets)
    assert operation == "SendBulkEmail"
    assert [e["Destination"] for e in body["BulkEmailEntries"]] == [
        {"ToAddresses": [t.recipient.address]} for t in targets
    ]
    assert [tags(e["ReplacementTags"]) for e in body["BulkEmailEntries"]] == [
        {REF_ARG: t.ref, CREDENTIAL_ARG: "ses-main"} for t in targets
    ]
    template = body["DefaultContent"]["Template"]
    values = json.loads(template["TemplateData"])
    texts = template["TemplateContent"]
    assert [render(texts, name, values) for name in ("Subject", "Text", "Html")] == [
        FULL.subject,
        FULL.text,
        FULL.html,
    ]
    assert len(template["Attachments"]) == 2
    assert {h["Name"] for h in template["Headers"]} == {"X-Campaign", "List-Unsubscribe"}


@given(st.text(st.sampled_from('{}\\ab0 \n"&')))
def test_no_text_is_taken_for_a_tag(text: str) -> None:
    """A model of Handlebars' rules: a tag must not touch a brace or backslash of the text around it."""
    values: dict[str, str] = {}
    made = literal(text, values)
    assert render({"Html": made}, "Html", values) == text
    assert all(name.isalnum() for name in values)
    for name in values:
        for before, after in _around(made, f"{{{{{name}}}}}"):
            assert before not in ("{", "\\")
            assert after != "}"


def _around(text: str, tag: str) -> list[tuple[str, str]]:
    places = [n for n in range(len(text)) if text.startswith(tag, n)]
    return [(text[n - 1 : n], text[n + len(tag) : n + len(tag) + 1]) for n in places]


def test_events_of_copies_are_distinguished_from_the_recipients() -> None:
    content = replace(CONTENT, cc=(Mailbox("cc@example.com", "C"),), bcc=(Mailbox("b@example.com"),))
    t = target(0)
    _, body = request_of(content, [t])
    assert body["Destination"] == {
        "ToAddresses": [t.recipient.address],
        "CcAddresses": ['"C" <cc@example.com>'],
        "BccAddresses": ["b@example.com"],
    }
    assert tags(body["EmailTags"])[TO_ARG] == digest(t.ref, t.recipient.address)


def test_the_body_is_what_was_signed_whole_or_in_parts() -> None:
    for content in (CONTENT, replace(CONTENT, html="x" * (JOIN + 1))):
        http = FakeHttp(TAKEN)
        provider = ses(http)
        provider.send(content, [target(0)], deadline=NOW + 5)
        provider.send(content, [target(1)], deadline=NOW + 5)
        assert http.parts == (1 if content is CONTENT else 2)
        for _, url, headers, body in http.requests:
            part = provider._one.signer.headers(KEYS, hashlib.sha256(body).hexdigest(), NOW)
            assert headers == {**STANDARD, **part}, url
        assert http.requests[0][3] != http.requests[1][3]


def test_how_many_go_into_a_call() -> None:
    provider = ses(FakeHttp(TAKEN))
    assert isinstance(provider, Sized)
    file = Attachment("a", "text/plain", "x" * MAX_INLINE)
    for content, expected in (
        (CONTENT, PER_CALL),
        (replace(CONTENT, html="x" * (MAX_INLINE + 1)), 1),
        (replace(CONTENT, html='"' * (MAX_INLINE // 2)), 1),
        (replace(CONTENT, attachments=(file,)), 1),
        (replace(CONTENT, cc=(Mailbox("c@example.com"),)), 1),
    ):
        assert provider.per_call_of(content) == expected


def test_a_content_for_one_call_each_begins_with_the_first() -> None:
    content = replace(CONTENT, html="x" * (MAX_INLINE + 1))
    http = FakeHttp(TAKEN)
    outcomes = ses(http).send(content, [target(0), target(1), target(2)], deadline=NOW + 5)
    assert outcomes == [Accepted(ID), NotStarted(), NotStarted()]
    assert len(http.requests) == 1


def test_an_address_that_is_not_ascii_is_left_to_others() -> None:
    refused = Rejected("smtputf8_not_supported", permanent=False, about_message=True)
    http = FakeHttp(TAKEN)
    assert ses(http).send(CONTENT, [target(0, "é@example.com"), target(1)], deadline=NOW + 5) == [refused, Accepted(ID)]
    assert len(http.requests) == 1
    assert ses(http).send(CONTENT, [target(0, "é@example.com")], deadline=NOW + 5) == [refused]
    foreign = replace(CONTENT, cc=(Mailbox("é@example.com"),))
    assert ses(http).send(foreign, [target(0)], deadline=NOW + 5) == [refused]
    assert len(http.requests) == 1


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"headers": tuple((f"X-{n}", "x") for n in range(16))}, "headers_not_allowed"),
        ({"headers": (("X-A", "x" * 996),)}, "headers_not_allowed"),
        ({"headers": (("X-A", "x" * 994),)}, "headers_not_allowed"),
        ({"headers": (("X-" + "A" * 100, "x" * 895),)}, "headers_not_allowed"),
        ({"headers": (("X-A", "é"),)}, "headers_not_allowed"),
        ({"headers": (("X-A", ""),)}, "headers_not_allowed"),
        ({"attachments": (Attachment("x" * 256, "text/plain", ""),)}, "attachments_not_allowed"),
        ({"attachments": (Attachment("x", "a/" + "b" * 77, ""),)}, "attachments_not_allowed"),
        ({"attachments": (Attachment("x", "a/b", "", "c" * 79),)}, "attachments_not_allowed"),
    ],
)
def test_what_ses_cannot_send_is_not_sent_and_left_to_others(changes: dict[str, Any], code: str) -> None:
    http = FakeHttp(TAKEN)
    for targets in ([target(0)], [target(0), target(1)]):
        outcomes = ses(http).send(replace(CONTENT, **changes), targets, deadline=NOW + 5)
        assert outcomes == [Rejected(code, permanent=False, about_message=True)] * len(targets)
    assert http.requests == []


# What it is built from


def built(http: FakeHttp, **needs: Any) -> Provider:
    return registry.provider("ses")(
        Needs(http, Fixed(), **{"secret": {}, "credential": DECLARED, "aws": ROLE, **needs})
    )


def test_the_role_signs_if_the_secret_is_empty() -> None:
    http = FakeHttp(TAKEN)
    assert built(http).send(CONTENT, [target(0)], deadline=NOW + 5) == [Accepted(ID)]
    _, url, headers, body = http.requests[0]
    assert url == "https://email.eu-west-1.amazonaws.com/v2/email/outbound-emails"
    assert headers["Authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKROLE/")
    assert headers["X-Amz-Security-Token"] == "token"
    assert json.loads(body)["ConfigurationSetName"] == "posthaste-dev-ses-main"


def test_the_role_s_keys_are_asked_for_at_every_call() -> None:
    made = iter([AwsKeys("AK1", "a"), AwsKeys("AK2", "b")])
    http = FakeHttp(TAKEN)
    provider = built(http, aws=AwsAccount("eu-west-1", lambda: next(made)))
    for _ in range(2):
        provider.send(CONTENT, [target(0)], deadline=NOW + 5)
    assert ["AK1" in http.requests[0][2]["Authorization"], "AK2" in http.requests[1][2]["Authorization"]] == [
        True,
        True,
    ]


def test_the_secret_s_keys_come_first_and_the_settings_region() -> None:
    http = FakeHttp(TAKEN)
    secret = {"access_key_id": "AKSECRET", "secret_access_key": "s", "region": "us-east-2"}
    built(http, secret=secret).send(CONTENT, [target(0)], deadline=NOW + 5)
    built(http, secret=secret, credential=replace(DECLARED, region="cn-north-1")).send(
        CONTENT, [target(0)], deadline=NOW + 5
    )
    urls = [url.partition("/v2")[0] for _, url, _, _ in http.requests]
    assert urls == ["https://email.us-east-2.amazonaws.com", "https://email.cn-north-1.amazonaws.com.cn"]
    assert all("Credential=AKSECRET/" in headers["Authorization"] for _, _, headers, _ in http.requests)
    assert all("X-Amz-Security-Token" not in headers for _, _, headers, _ in http.requests)


@pytest.mark.parametrize(
    ("needs", "code"),
    [
        ({"aws": None}, "no_region"),
        ({"aws": None, "secret": {"region": "eu-west-1"}}, "no_aws_keys"),
        ({"aws": AwsAccount("eu-west-1", lambda: None)}, "no_aws_keys"),
        ({"secret": {"access_key_id": "AK"}, "aws": AwsAccount("eu-west-1", lambda: None)}, "no_aws_keys"),
        ({"secret": {"region": "eu-west-1.evil.example/?"}}, "no_region"),
    ],
)
def test_without_keys_or_region_nothing_is_sent(needs: dict[str, Any], code: str) -> None:
    http = FakeHttp(TAKEN)
    assert built(http, **needs).send(CONTENT, [target(0), target(1)], deadline=NOW + 5) == [down(code)] * 2
    assert http.requests == []


@pytest.mark.parametrize("sender", ["news@example.com", "News@sub.example.com", "x@a.b.example.com"])
def test_a_credential_with_domains_sends_from_them_and_from_their_subdomains(sender: str) -> None:
    http = FakeHttp(TAKEN)
    provider = built(http, credential=replace(DECLARED, domains=("example.org", "example.com")))
    content = replace(CONTENT, sender=Mailbox(sender))
    assert provider.send(content, [target(0)], deadline=NOW + 5) == [Accepted(ID)]


@pytest.mark.parametrize("sender", ["news@example.net", "news@badexample.com", "example.com@example.net"])
def test_a_message_of_another_domain_is_left_to_others_before_ses_refuses_the_credential(sender: str) -> None:
    http = FakeHttp(TAKEN)
    provider = built(http, credential=replace(DECLARED, domains=("example.org", "example.com")))
    content = replace(CONTENT, sender=Mailbox(sender))
    refused = Rejected("domain_not_listed", permanent=False, about_message=True)
    assert provider.send(content, [target(0), target(1)], deadline=NOW + 5) == [refused] * 2
    assert http.requests == []
