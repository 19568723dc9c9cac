"""Every command that names something, with a name that there is not, against the real API and the real stores."""

from typing import Final

import pytest

from tests.cli import printed
from tests.cli.fakes import Run
from tests.cli.test_defaults import COMMANDS, Case, case  # noqa: F401 - a fixture
from tests.cli.tree import params

ID: Final = "0123456789abcdefghjkmnpqrs"
ABSENT: Final = {
    **dict.fromkeys(("ID", "ID…", "JOB", "WINDOW", "UPLOAD"), ID),
    **dict.fromkeys(("ACCOUNT", "[ACCOUNT]"), "acc_000000000000"),
    **dict.fromkeys(("DOMAIN", "[DOMAIN]"), "gone.example"),
    **dict.fromkeys(("CREDENTIAL_ID", "DELIVERY", "LOGIN", "MEMBER", "NAME", "QUEUE"), "gone"),
    "ADDRESS": "nobody@example.org",
    "KEY_ID": "0" * 16,
    "PREFIX": "gone/",
}
"""How an argument is called → a name that nothing has."""
OTHERS: Final = {
    "AT": "2026-12-01T00:00:00Z",
    "CHANNEL": "sms",
    "COUNTRY": "DE",
    "HOURS": "22:00-07:00 Europe/Paris",
    "RATE": "5",
    "RECIPIENT": "me@example.com",
    "ROLE": "viewer",
    "VALUE": "gone.example",
    "WHEN": "7d",
    "on|off": "off",
    "[CIDR]...": "192.0.2.0/24",
    "[FILE]": "account.moving",
}
"""How an argument is called that names nothing → a value that it may have."""
OPTIONS: Final[dict[tuple[str, ...], tuple[str, ...]]] = {
    ("account", "approval"): ("--every",),
    ("account", "close"): ("--channel", "sms"),
    ("account", "depart"): ("--to", "https://other.example"),
    ("account", "open"): ("--channel", "sms"),
    **dict.fromkeys((("batch", "reschedule"), ("campaign", "reschedule")), ("--now",)),
    ("campaign", "update"): ("--name", "x"),
    ("credential", "set"): ("--file", "secret.json"),
    ("hook", "replay"): ("--since", "2d"),
    ("hook", "update"): ("--disable",),
    ("notifier", "update"): ("--hours", "8-20"),
}
"""What a command needs besides its arguments."""
MAKES: Final = {
    *(("account", "create"), ("digest", "policy", "set"), ("domain", "add"), ("guest", "add"), ("member", "invite")),
    *(("notifier", "create"), ("program", "put"), ("suppression", "add")),
    *(("notifier", "spool", verb) for verb in ("add", "update", "cancel", "status")),
}
"""Commands whose last name may be new. Those of a spool hand it to the service later."""
ENDS_WELL: Final = {("erase",), ("guest", "remove"), ("suppression", "remove")}
"""Commands that want something to be gone, and it is."""


def names_of(command: tuple[str, ...]) -> list[str]:
    """Return how the arguments of a command are called, if the first of them is a name."""
    found = [str(x.metavar) for x in params(command) if x.param_type_name == "argument"]
    return found if found and found[0] in ABSENT else []


def words_of(command: tuple[str, ...], names: list[str]) -> list[str]:
    """Return the words of a command about what is not there."""
    words = [ABSENT.get(name) or OTHERS[name] for name in names]
    if command == ("message", "show"):
        words = [f"{ID}/0.0"]
    return [*words, *OPTIONS.get(command, ()), *(["--yes"] if any(x.name == "yes" for x in params(command)) else [])]


@pytest.mark.slow
def test_a_command_names_what_is_not_there(run: Run, case: Case) -> None:  # noqa: F811 - a fixture
    found = {command: names for command in sorted(COMMANDS) if (names := names_of(command))}
    for command, names in found.items():
        if command in MAKES and len(names) == 1:
            continue
        done = run(*command, *words_of(command, names))
        printed.check("absent", command, printed.masked(done, stage=case.stage, folder=case.folder))
        said = (done.code, ABSENT[names[0]] in done.err + done.out)
        assert said == (0 if command in ENDS_WELL else 3, command != ("erase",)), (command, done.err)
    assert len(found) > 90


@pytest.mark.slow
def test_a_command_names_the_part_that_is_not_there(run: Run, case: Case) -> None:  # noqa: F811 - a fixture
    found = [x for x in sorted(COMMANDS) if len(names := names_of(x)) > 1 and names[1] in ABSENT and x not in MAKES]
    for command in found:
        words = list(COMMANDS[command](case))
        words[1] = ABSENT[names_of(command)[1]]
        done = run(*command, *words)
        assert (done.code, words[1] in done.err) == (3, True), (command, done.err)
    assert {("key", "revoke"), ("mail", "drop"), ("hook", "retry"), ("campaign", "problems")} <= set(found)
