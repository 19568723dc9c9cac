"""`posthaste local fail`: against a real simulator, as the local cloud has one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator import Simulator
from tests.cli.fakes import Run

CREDENTIAL = "sendgrid-main"


@pytest.fixture(scope="module")
def running() -> Iterator[Simulator]:
    with Simulator(seed="tests") as sim:
        yield sim


@pytest.fixture
def sim(running: Simulator, folder: Path) -> Simulator:
    """The simulator of a local cloud in the current folder, which knows two credentials."""
    running.control.reset()
    for provider, credential in (("sendgrid", CREDENTIAL), ("mailgun", "mailgun-main")):
        running.control.faults(provider, credential)
    (folder / ".local").mkdir()
    (folder / ".local" / "env").write_text(f"export SIMULATOR_URL={running.control.url}\n", encoding="utf-8")
    return running


def rules(sim: Simulator) -> list[dict[str, object]]:
    found = sim.control.json("GET", f"/_control/sendgrid/{CREDENTIAL}/faults")["rules"]
    return [{name: x[name] for name in ("mode", "seconds", "probability")} for x in found]


@pytest.mark.parametrize(
    ("word", "mode"), [("503", "503"), ("429", "429"), ("slow", "slow"), ("drop", "accept_and_drop")]
)
def test_a_provider_fails_until_it_is_switched_off(run: Run, sim: Simulator, word: str, mode: str) -> None:
    done = run("local", "fail", CREDENTIAL, word)
    assert (done.code, done.out.startswith(f"{CREDENTIAL} (sendgrid) ")) == (0, True)
    assert done.err == f"to end it:  posthaste local fail {CREDENTIAL} off\n"
    assert rules(sim) == [{"mode": mode, "seconds": None, "probability": 1.0}]
    shown = {x["credential"]: x["trouble"] for x in run("local", "fail", "--json").lines}
    assert shown == {CREDENTIAL: word, "mailgun-main": None}
    assert "works again" in run("local", "fail", CREDENTIAL, "off").out
    assert rules(sim) == []


def test_trouble_can_end_by_itself_and_hit_a_share_of_calls(run: Run, sim: Simulator) -> None:
    done = run("local", "fail", CREDENTIAL, "503", "--for", "8", "--share", "0.5", "--json")
    assert done.json == {"credential": CREDENTIAL, "provider": "sendgrid", "trouble": "503", "seconds": 8}
    assert rules(sim) == [{"mode": "503", "seconds": 8, "probability": 0.5}]
    listed = run("local", "fail").out.splitlines()
    assert [line.split() for line in listed] == [
        ["credential", "provider", "trouble", "calls", "hit"],
        ["mailgun-main", "mailgun", "none", "0"],
        [CREDENTIAL, "sendgrid", "503", "0"],
    ]


@pytest.mark.parametrize("words", [(CREDENTIAL,), (CREDENTIAL, "explode"), (CREDENTIAL, "503", "--share", "2")])
def test_what_is_not_understood_changes_nothing(run: Run, sim: Simulator, words: tuple[str, ...]) -> None:
    assert run("local", "fail", *words).code == 2
    assert rules(sim) == []


def test_an_unknown_credential_names_the_known_ones(run: Run, sim: Simulator) -> None:
    done = run("local", "fail", "sendgrid-mian", "503")
    assert (done.code, done.err) == (
        3,
        f"error: no simulated provider for sendgrid-mian; there are mailgun-main, {CREDENTIAL}\n",
    )


def test_without_a_local_cloud_nothing_is_touched(run: Run, folder: Path) -> None:
    done = run("local", "fail", CREDENTIAL, "503")
    assert (done.code, done.err) == (1, "error: no local cloud is up: start one with `posthaste local up`\n")
    (folder / ".local").mkdir()
    (folder / ".local" / "env").write_text("export SIMULATOR_URL=https://example.com\n", encoding="utf-8")
    assert run("local", "fail", CREDENTIAL, "503").code == 2
    (folder / ".local" / "env").write_text("export SIMULATOR_URL=http://127.0.0.1:9\n", encoding="utf-8")
    assert run("local", "fail", CREDENTIAL, "503").code == 5
