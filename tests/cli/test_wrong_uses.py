"""Every command in its wrong uses: nothing set, no argument, an unknown option, an id that there is not."""

from pathlib import Path
from typing import Final

import pytest

from tests.cli import printed
from tests.cli.fakes import FakeApi, Run
from tests.cli.test_defaults import COMMANDS, ELSEWHERE
from tests.cli.tree import params

ALL: Final = sorted(set(COMMANDS) | ELSEWHERE)
STARTS: Final = ELSEWHERE
"""Commands that would start or stop processes."""
ID: Final = "0123456789abcdefghijklmnop"
ASKING: Final[tuple[tuple[str, ...], ...]] = (
    ("batch", "send", "batch.json"),
    ("campaign", "run", "list.csv", "--template", "mail.html", "--subject", "S", "--from", "a@example.com"),
    ("campaign", "send", ID),
    ("mail", "send", "mail.html", "--from", "a@example.com", "--to", "b@example.org"),
    ("campaign", "override-bounce-guard", ID),
    ("batch", "override-bounce-guard", ID),
    ("campaign", "approve", ID),
    *((kind, verb, ID) for kind in ("batch", "campaign") for verb in ("resume", "retry")),
    *((kind, "reschedule", ID, "--now") for kind in ("batch", "campaign")),
    ("digest", "close", ID),
    ("erase", "ann@example.org"),
    ("account", "delete", "acme"),
    ("account", "depart", "acme", "acme.jsonl", "--to", "https://b.example.com"),
    ("rehash",),
    ("restore", "copy", "ops=x"),
    ("restore", "release", "--all"),
    ("redrive", "log"),
    ("sender", "forget", "example.com"),
    ("pause", "--all"),
    ("resume", "--all"),
)
"""Every command that asks, with words by which it would."""
NO_VALUES: Final = ("zz!", "-1")
"""What no number from 0, no choice, no day and no id is."""
LIBRARIES: Final = ("Input should", "Value error", "unable to parse", "String should", "pydantic")
"""How sentences of libraries begin, which are for programmers."""


@pytest.mark.parametrize("command", [x for x in ALL if x not in STARTS], ids=" ".join)
def test_a_command_without_words_and_settings(run: Run, folder: Path, command: tuple[str, ...]) -> None:
    done = run(*command)
    assert "unexpected" not in done.err
    assert done.code in {0, 2, 4}, done.err
    printed.check("bare", command, printed.masked(done, folder=folder))


@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_an_unknown_option_is_named_with_the_help_to_read(run: Run, command: tuple[str, ...]) -> None:
    done = run(*command, "--zzzz")
    where = " ".join(("posthaste", *command))
    assert (done.code, done.out) == (2, "")
    assert done.err == f"error: No such option: --zzzz; see `{where} --help`\n"


@pytest.mark.parametrize("command", [x for x in ALL if x not in STARTS], ids=" ".join)
def test_a_wrong_value_has_no_sentence_of_a_library(run: Run, command: tuple[str, ...]) -> None:
    takes = params(command)
    arguments = [x for x in takes if x.param_type_name == "argument" and x.required]
    options = [x.opts[0] for x in takes if x.param_type_name == "option" and not x.is_flag]
    for value in NO_VALUES:
        for option in ((), *((name, value) for name in options)):
            done = run(*command, *option, "--", *(value for _ in arguments))
            assert not [x for x in LIBRARIES if x in done.err], done.err
            assert "unexpected" not in done.err, done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("campaign", "run", "list.csv", "--rate", "-1"), "--rate must be at least 0, not '-1'"),
        (("rate", "set", "one", "abc"), "RATE must be a number, not 'abc'"),
        (("campaign", "logs", ID, "--state", "gone"), "--state: 'gone' is not one of 'queued', 'sending', 'sent', "),
        (("campaign", "preview", ID, "--row", "x"), "--row must be a whole number, not 'x'"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, tuple) else "",
)
def test_a_wrong_value_is_named_with_what_is_right(run: Run, words: tuple[str, ...], said: str) -> None:
    done = run(*words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {said}")


@pytest.mark.parametrize("words", ASKING, ids=" ".join)
@pytest.mark.parametrize("mode", ["piped", "json", "json on a terminal"])
def test_what_cannot_be_taken_back_needs_yes_without_a_terminal(
    run: Run, api: FakeApi, folder: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], mode: str
) -> None:
    (folder / "batch.json").write_text('{"to": ["a@example.org"]}')
    (folder / "list.csv").write_text("recipient\na@example.org\n")
    (folder / "mail.html").write_text("<p>Hi</p>")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    done = run(*words, *(["--json"] if "json" in mode else []), terminal="terminal" in mode)
    assert (done.code, done.out) == (2, "")
    assert done.err == "error: not a terminal: add --yes to go on without a question\n"
    assert api.asked == []


def test_no_command_that_asks_is_left_out() -> None:
    asking = {x for x in ALL if any(option.name == "yes" for option in params(x))}
    assert {command for command in asking for words in ASKING if words[: len(command)] == command} == asking
