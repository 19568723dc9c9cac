"""`posthaste template …`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli import honest
from tests.cli.fakes import Answer, FakeApi, Run
from tests.cli.scripts import AT, TEMPLATE, template

WORDS = ("--subject", "Hi {{ name }}", "--from", "news@example.com")


@pytest.fixture(autouse=True)
def described(folder: Path, api: FakeApi) -> Iterator[None]:
    """The message; afterwards the scripted API must have been one that there could be."""
    (folder / "mail.html").write_text("<p>Hi</p>", encoding="utf-8")
    yield
    honest.check(api)


def test_a_template_is_stored_and_then_its_next_version(run: Run, api: FakeApi) -> None:
    api.answers(template(status=201), template(version=2))
    assert run("template", "put", "mail.html", *WORDS).out == f"template {TEMPLATE}, version 1; variables: name\n"
    done = run("template", "put", "mail.html", *WORDS, "--id", TEMPLATE, "--name", "Other", "--json")
    assert done.json["version"] == 2
    said = {"body": "<p>Hi</p>", "from": "news@example.com", "subject": "Hi {{ name }}"}
    assert [(a.method, a.path, a.json) for a in api.asked] == [
        ("POST", "/templates", {**said, "name": "mail", "channel": "email"}),
        ("PUT", f"/templates/{TEMPLATE}", {**said, "name": "Other"}),
    ]
    keys = {a.headers["Idempotency-Key"] for a in api.asked}
    assert len(keys) == 2


def test_texts_for_notices_go_with_a_template(run: Run, api: FakeApi, folder: Path) -> None:
    (folder / "text.txt").write_text("Hello {{ name }}\n", encoding="utf-8")
    api.answers(template(status=201))
    notices = ("--sms", "text.txt", "--say", "text.txt", "--language", "en-AU")
    assert run("template", "put", "mail.html", *WORDS, *notices).code == 0
    assert api.asked[0].json["sms"] == {"text": "Hello {{ name }}"}
    assert api.asked[0].json["voice"] == {"say": "Hello {{ name }}", "language": "en-AU"}
    assert run("template", "put", "mail.html", *WORDS, "--language", "en-AU").code == 2


def test_a_lost_answer_makes_no_second_version(run: Run, api: FakeApi) -> None:
    api.answers(Answer(drop=True), template(version=2))
    assert run("template", "put", "mail.html", *WORDS, "--id", TEMPLATE).code == 0
    assert len({(a.headers["Idempotency-Key"], a.body) for a in api.asked}) == 1
    assert len(api.asked) == 2


def test_a_template_from_stdin_needs_a_name(run: Run, api: FakeApi) -> None:
    assert run("template", "put", "-", *WORDS, input="<p>Hi</p>").code == 2
    assert run("template", "put", "gone.html", *WORDS).code == 2
    assert api.asked == []


def test_templates_are_listed_and_shown(run: Run, api: FakeApi) -> None:
    item = {"template_id": TEMPLATE, "name": "October", "channel": "email", "version": 3, "created_at": AT}
    item["delivery_methods"] = []
    api.answers(Answer({"items": [item | {"saved_at": AT}], "next_cursor": None}))
    assert "October" in run("template", "list").out
    api.answers(template())
    out = run("template", "show", TEMPLATE, "--version", "1").out
    assert "subject: Hi {{ name }}" in out
    assert "body | <p>Hi</p>" in out
    assert api.asked[-1].path == f"/templates/{TEMPLATE}?version=1"
    api.answers(Answer({"items": [], "next_cursor": None}))
    assert run("template", "list").err == "no templates\n"
