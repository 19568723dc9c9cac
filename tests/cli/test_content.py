"""`posthaste template versions | diff | delete`, `program …`, `campaign update`, `text list`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli import honest
from tests.cli.fakes import Answer, FakeApi, Run
from tests.cli.scripts import AT, CAMPAIGN, SAYING, TEMPLATE, campaign, problem, template


@pytest.fixture(autouse=True)
def described(folder: Path, api: FakeApi) -> Iterator[None]:
    """The message; afterwards the scripted API must have been one that there could be."""
    (folder / "mail.html").write_text("<p>Good morning</p>", encoding="utf-8")
    yield
    honest.check(api)


def version(number: int, **changes: Any) -> Answer:
    return Answer({**template(number).body, **changes})


def test_two_versions_are_compared_line_by_line(run: Run, api: FakeApi) -> None:
    body = "<p>Hi</p>\n<p>Bye</p>"
    api.answers(version(3, body=body, subject="New"), version(2, body=body.replace("Bye", "See you")))
    done = run("template", "diff", TEMPLATE)
    assert done.out.splitlines() == [
        "--- version 2",
        "+++ version 3",
        "@@ -1,5 +1,5 @@",
        " name: October",
        " from: news@example.com",
        "-subject: Hi {{ name }}",
        "+subject: New",
        " body | <p>Hi</p>",
        "-body | <p>See you</p>",
        "+body | <p>Bye</p>",
    ]
    assert [x.path for x in api.asked] == [f"/templates/{TEMPLATE}", f"/templates/{TEMPLATE}?version=2"]


def test_named_versions_are_compared(run: Run, api: FakeApi) -> None:
    api.answers(version(5), version(1))
    done = run("template", "diff", TEMPLATE, "--from", "1", "--to", "5", "--json")
    assert (done.json["from"]["version"], done.json["to"]["version"]) == (1, 5)
    api.answers(version(5), version(1))
    same = run("template", "diff", TEMPLATE, "--from", "1", "--to", "5")
    assert (same.out, same.err) == ("", "versions 1 and 5 say the same\n")


def test_texts_for_notices_are_compared_too(run: Run, api: FakeApi) -> None:
    sms = {"text": "Hello"}
    api.answers(version(2, sms={"text": "Hi"}), version(1, sms=sms))
    lines = run("template", "diff", TEMPLATE).out.splitlines()
    assert lines[-2:] == ["-sms | Hello", "+sms | Hi"]


def test_a_single_version_cannot_be_compared(run: Run, api: FakeApi) -> None:
    api.answers(version(1))
    assert run("template", "diff", TEMPLATE).code == 2


def test_several_templates_are_deleted(run: Run, api: FakeApi) -> None:
    api.answers(Answer({"deleted": True}))
    done = run("template", "delete", "a" * 26, "b" * 26)
    assert done.out == f"template {'a' * 26} is deleted\ntemplate {'b' * 26} is deleted\n"


def test_settings_of_a_campaign_change_alone(run: Run, api: FakeApi) -> None:
    api.answers(campaign())
    assert run("campaign", "update", CAMPAIGN, "--name", "May", "--no-unsubscribe").code == 0
    assert [(x.method, x.json) for x in api.asked] == [("PATCH", {"name": "May", "unsubscribe": False})]
    assert run("campaign", "update", CAMPAIGN).code == 2


def test_content_that_no_option_names_stays(run: Run, api: FakeApi) -> None:
    api.answers(campaign(), campaign(missing=["city"]))
    done = run("campaign", "update", CAMPAIGN, "--subject", "May")
    assert (done.code, "lacks the columns city" in done.err) == (0, True)
    assert (api.asked[1].method, api.asked[1].path) == ("PUT", f"/campaigns/{CAMPAIGN}/template")
    api.answers(campaign(), campaign(missing=["city"], columns=["city-", "-city"]))
    done = run("campaign", "update", CAMPAIGN, "--subject", "May")
    assert "`city-`, `-city` can each be the column `city`" in done.err
    assert api.asked[1].json == {"subject": "May", "body": SAYING["body"], "from": SAYING["from"]}


def test_a_new_body_takes_the_old_text_part_with_it(run: Run, api: FakeApi) -> None:
    api.answers(campaign(template={**SAYING, "text": "old"}), campaign())
    assert run("campaign", "update", CAMPAIGN, "--template", "mail.html").code == 0
    assert api.asked[1].json == {
        "subject": SAYING["subject"],
        "body": "<p>Good morning</p>",
        "from": SAYING["from"],
    }


def test_a_stored_template_replaces_the_content(run: Run, api: FakeApi) -> None:
    api.answers(campaign())
    assert run("campaign", "update", CAMPAIGN, "--stored-template", TEMPLATE, "--version", "2").code == 0
    assert api.asked[0].json == {"template_id": TEMPLATE, "template_version": 2}
    for words in (("--version", "2"), ("--stored-template", TEMPLATE, "--subject", "x")):
        assert run("campaign", "update", CAMPAIGN, *words).code == 2
    assert len(api.asked) == 1


def program(number: int = 1, status: int = 200) -> Answer:
    step = {"template_id": TEMPLATE, "offset_days": 28, "preferred_time": None, "delivery_method": None}
    known = {"name": "course", "version": number, "metadata": {"title": "Course"}, "steps": [step]}
    return Answer({**known, "created_at": AT, "saved_at": AT}, status)


def test_a_program_is_made_and_then_its_next_version(run: Run, api: FakeApi) -> None:
    steps = ("--step", f"{TEMPLATE}+28@9-12/SMS", "--step", f"{TEMPLATE}+56", "--metadata", "title=Course")
    api.answers(problem(404, "not_found", "No program course."), program(status=201))
    assert run("program", "put", "course", *steps).out == "program course, version 1: 1 step\n"
    wanted = {
        "steps": [
            {"template_id": TEMPLATE, "offset_days": 28, "preferred_time": "9-12", "delivery_method": "SMS"},
            {"template_id": TEMPLATE, "offset_days": 56},
        ],
        "metadata": {"title": "Course"},
    }
    assert [(x.method, x.path, x.json) for x in api.asked] == [
        ("PUT", "/programs/course", wanted),
        ("POST", "/programs", {**wanted, "name": "course"}),
    ]
    api.answers(program(2))
    assert "version 2" in run("program", "put", "course", *steps).out
    assert "title: Course" in run("program", "show", "course").out


def test_a_program_comes_from_a_file(run: Run, api: FakeApi, folder: Path) -> None:
    shown = {"name": "other", "steps": [{"template_id": TEMPLATE, "offset_days": 1}]}
    (folder / "course.json").write_text(json.dumps(shown), encoding="utf-8")
    api.answers(program())
    assert run("program", "put", "course", "--file", "course.json").code == 0
    assert api.asked[0].json == {"steps": shown["steps"]}


@pytest.mark.parametrize(
    "words",
    [(), ("--step", "28"), ("--step", "t+28", "--file", "mail.html"), ("--file", "mail.html"), ("--step", "t+28/FAX")],
)
def test_a_program_that_is_not_understood_is_not_sent(run: Run, api: FakeApi, words: tuple[str, ...]) -> None:
    assert run("program", "put", "course", *words).code == 2
    assert api.asked == []


def test_texts_are_listed_with_what_they_wish(run: Run, api: FakeApi) -> None:
    text = {
        "text_id": "x",
        "received_at": AT,
        "from": "+61491570006",
        "to": None,
        "text": "STOP\x1b[2J",
        "wish": "stop",
        "channel": "sms",
        "credential_id": "texts",
    }
    api.answers(Answer({"items": [text] * 3, "next_cursor": None}))
    done = run("text", "list", "--limit", "2")
    assert done.out.count("stop: suppressed") == 2
    assert "\x1b" not in done.out
    assert done.err == "there are more than 2: --limit N shows N\n"
    assert len(run("text", "list", "--json").lines) == 3
