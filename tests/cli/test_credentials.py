import json
from pathlib import Path

import pytest

from tests.cli.conftest import stored_secret
from tests.cli.fakes import Run

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


def test_a_credential_that_is_not_deployed_is_exit_code_3(run: Run) -> None:
    done = run("credential", "set", "mailgun-eu", input=GOOD)
    assert done.code == 3
    assert "cdk.json" in done.err
    assert SECRET not in done.out + done.err


def test_the_built_in_credential_has_no_secret(run: Run) -> None:
    assert run("credential", "set", "test", input=GOOD).code == 2
