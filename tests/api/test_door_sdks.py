"""The vendor's own SDKs against the door, over HTTP: their calls are taken, and they understand its refusals."""

from collections.abc import Iterator
from typing import Any

import pytest
import sendgrid.helpers.mail as sdk

from shared.domain.content.content import Content, Mailbox
from shared.engine.lane.compose import Composition
from tests.api.conftest import SENDER, Api
from tests.api.site import pages
from tests.fixtures.sdks import Sent, by_node, by_python


@pytest.fixture
def url(api: Api) -> Iterator[str]:
    with pages(api) as address:
        yield address


def made(api: Api, sent: Sent) -> dict[str, Content]:
    """Return what each recipient's message says."""
    assert (sent.status, sent.errors) == (202, None)
    assert sent.message is not None
    job, content = api.world.job(sent.message), api.world.records.content(sent.message)
    assert content is not None
    composed = Composition(job, content)
    found: dict[str, Content] = {}
    for n in range(job.chunks):
        chunk = api.world.records.chunk(job.id, n)
        assert chunk is not None
        for recipient in chunk.recipients:
            message = composed.of(recipient).content
            assert isinstance(message, Content)
            found[recipient.address] = message
    return found


def test_python_sends_one_message(api: Api, url: str) -> None:
    mail = sdk.Mail((SENDER, "Shop"), [("ann@example.org", "Ann"), "ben@example.org"], "Hello", "Hi", "<p>Hi</p>")
    found = made(api, by_python(url, api.key, mail))
    assert list(found) == ["ann@example.org"]
    (message,) = found.values()
    assert (message.sender, message.subject) == (Mailbox(SENDER, "Shop"), "Hello")
    assert (message.text, message.html) == ("Hi", "<p>Hi</p>")
    assert message.beside == (Mailbox("ben@example.org"),)


def test_python_sends_many_messages(api: Api, url: str) -> None:
    to = [sdk.To(f"{n}@example.org", substitutions={"-name-": n.title()}, subject=f"For {n}") for n in ("ann", "ben")]
    mail = sdk.Mail(SENDER, to, "Hello", html_content="<p>-name-</p>", is_multiple=True)
    found = made(api, by_python(url, api.key, mail))
    assert {name: (x.subject, x.html) for name, x in found.items()} == {
        "ann@example.org": ("For ann", "<p>Ann</p>"),
        "ben@example.org": ("For ben", "<p>Ben</p>"),
    }


@pytest.mark.slow
def test_node_sends_one_message(api: Api, url: str) -> None:
    mail = {
        "to": ["Ann <ann@example.org>", "ben@example.org"],
        "cc": "cleo@example.org",
        "from": {"email": SENDER, "name": "Shop"},
        "replyTo": "help@example.com",
        "subject": "Hello",
        "text": "Hi {{name}}",
        "html": "<p>{{name}}</p>",
        "substitutions": {"name": "Ann"},
        "headers": {"X-One": "1"},
        "categories": ["orders"],
        "customArgs": {"order": "7"},
        "trackingSettings": {"clickTracking": {"enable": False}},
        "attachments": [{"content": "QQ==", "filename": "a.txt", "type": "text/plain", "disposition": "attachment"}],
    }
    (message,) = made(api, by_node(url, api.key, mail)).values()
    assert (message.text, message.html, message.headers) == ("Hi Ann", "<p>Ann</p>", (("X-One", "1"),))
    assert (message.beside, message.cc) == ((Mailbox("ben@example.org"),), (Mailbox("cleo@example.org"),))
    assert (message.reply_to, message.attachments[0].filename) == (Mailbox("help@example.com"), "a.txt")


@pytest.mark.slow
def test_node_sends_many_messages(api: Api, url: str) -> None:
    mail = {"to": ["ann@example.org", "ben@example.org"], "from": SENDER, "subject": "Hello", "text": "Hi"}
    found = made(api, by_node(url, api.key, mail, "sendMultiple"))
    assert {name: (x.text, x.copied) for name, x in found.items()} == {
        "ann@example.org": ("Hi", False),
        "ben@example.org": ("Hi", False),
    }


@pytest.mark.slow
def test_both_fill_in_a_stored_template(api: Api, url: str) -> None:
    said = {"from": SENDER, "subject": "Hello {{ first_name }}", "body": "<p>{{ total }}</p>"}
    name = api.call("POST", "/templates", {"name": "t", "channel": "email", **said}).json["template_id"]
    mail = sdk.Mail(SENDER, "ann@example.org")
    mail.template_id = f"d-{name}"
    mail.dynamic_template_data = {"first_name": "Ann", "total": 3}
    node: dict[str, Any] = {"to": "ann@example.org", "from": SENDER, "templateId": f"d-{name}"}
    node["dynamicTemplateData"] = {"first_name": "Ann", "total": 3}
    for sent in (by_python(url, api.key, mail), by_node(url, api.key, node)):
        (message,) = made(api, sent).values()
        assert (message.subject, message.html) == ("Hello Ann", "<p>3</p>")


@pytest.mark.slow
def test_both_are_told_what_is_wrong(api: Api, url: str) -> None:
    mail = sdk.Mail(SENDER, "ann@example.org", "Hello", "Hi")
    mail.asm = sdk.Asm(sdk.GroupId(1))
    node = {"to": "ann@example.org", "from": SENDER, "subject": "Hello", "text": "Hi", "asm": {"groupId": 1}}
    for sent in (by_python(url, api.key, mail), by_node(url, api.key, node)):
        assert sent.status == 400
        assert sent.errors is not None
        assert [e["field"] for e in sent.errors] == ["asm"]
    for sent in (by_python(url, "ph_live_wrong", mail), by_node(url, "ph_live_wrong", node)):
        assert (sent.status, sent.message) == (401, None)
        assert sent.errors is not None
        assert sent.errors[0]["message"].startswith("Send a valid API key: ")
