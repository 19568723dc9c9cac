import json
from pathlib import Path

import pytest

from tests.cli.conftest import stored_secret
from tests.cli.fakes import Answer, FakeApi, Run

SECRET = "SG.hush-hush-0123456789"
GOOD = json.dumps({"api_key": SECRET, "webhook_public_key": "MFkw"})

pytestmark = pytest.mark.usefixtures("aws")


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_a_secret_comes_from_a_file(run: Run, folder: Path, flags: tuple[str, ...]) -> None:
    file = folder / "secret.json"
    file.write_text("\ufeff" + GOOD, encoding="utf-8")
    done = run("credential", "set", "sendgrid-main", "--file", str(file), *flags)
    assert done.code == 0
    assert json.loads(stored_secret() or "") == json.loads(GOOD)
    assert SECRET not in done.out + done.err
    if flags:
        assert done.json == {"credential_id": "sendgrid-main", "stage": "dev", "fields": 2}


def test_a_secret_comes_from_a_pipe(run: Run) -> None:
    done = run("credential", "set", "sendgrid-main", input=GOOD + "\n")
    assert done.code == 0
    assert json.loads(stored_secret() or "")["api_key"] == SECRET
    assert SECRET not in done.out + done.err


def test_what_is_not_an_object_of_texts_is_refused_unshown_and_not_stored(run: Run) -> None:
    for text in (
        SECRET,
        f'{{"api_key": "{SECRET}"',
        f'["{SECRET}"]',
        f'"{SECRET}"',
        f'{{"api_key": ["{SECRET}"]}}',
        f'{{"{SECRET}": 1}}',
        f'{{"{SECRET}": ""}}',
        "{}",
        "",
        "[" * 60_000,
        json.dumps({"api_key": SECRET * 5000}),
        b"\xff\xfe{}",
    ):
        done = run("credential", "set", "sendgrid-main", input=text)
        assert (done.code, done.out) == (2, "")
        assert done.err.count("\n") == 1
        assert SECRET not in done.err
    assert stored_secret() is None


def test_a_secret_in_the_wrong_place_is_not_repeated(run: Run) -> None:
    for words in (
        ("sendgrid-main", GOOD),
        ("sendgrid-main", "--file", GOOD),
        ("sendgrid-main", "--file", SECRET),
        ("sendgrid-main", f"--api-key={SECRET}"),
        ("sendgrid-main", "--api-key", SECRET),
        (SECRET,),
    ):
        done = run("credential", "set", *words, input=GOOD)
        assert done.code == 2
        assert SECRET not in done.out + done.err
        assert done.err.count("\n") == 1
    assert stored_secret() is None


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_credentials_are_listed_with_their_breakers(run: Run, api: FakeApi, flags: tuple[str, ...]) -> None:
    common = {"channel": "email", "rate": 50.0, "declared_rate": 100.0, "in_flight": 7, "paused": False}
    opened = {"state": "open", "reason": "http_503", "since": "2026-11-20T09:00:00.000Z"}
    items = [
        {"id": "one", "provider": "sendgrid", "breaker": {"state": "closed", "reason": None, "since": None}, **common},
        {"id": "two", "provider": "mailgun", "breaker": opened, **common, "paused": True},
    ]
    api.answers(Answer({"items": items, "next_cursor": None}))
    done = run("credential", "list", *flags)
    assert (done.code, api.asked[0].path) == (0, "/credentials")
    if flags:
        assert done.json["items"] == items
    else:
        assert [" ".join(row.split()) for row in done.out.splitlines()] == [
            "id provider channel rate declared rate paused in flight breaker reason since",
            "one sendgrid email 50.0 100.0 7 closed",
            "two mailgun email 50.0 100.0 paused 7 open http_503 2026-11-20T09:00:00.000Z",
        ]


def test_a_credential_that_is_not_deployed_is_exit_code_3(run: Run) -> None:
    done = run("credential", "set", "mailgun-eu", input=GOOD)
    assert done.code == 3
    assert "cdk.json" in done.err
    assert SECRET not in done.out + done.err


def test_the_built_in_credential_has_no_secret(run: Run) -> None:
    assert run("credential", "set", "test", input=GOOD).code == 2
