"""`posthaste relay` as a process: from a program's `smtplib` to the API, also when either end is killed or away."""

import os
import random
import re
import signal
import smtplib
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import typer

from cli.errors import Misused
from cli.relay.command import relay as relay_command
from tests.certificates import self_signed
from tests.cli.relay.api import FakeMailApi, Mood
from tests.cli.relay.serving import secured

RELAY = """
import sys
import typer
from cli.errors import CommandError
from cli.relay import delivering, outage
from cli.relay.command import relay
outage.PAUSES = (0.02, 0.05, 0.1)  # this API is away for moments
delivering.IDLE = 0.05
delivering.RETRIES_MS = (20, 50)
delivering.LATER_MS = 50
try:
    typer.run(relay)
except CommandError as error:
    print(error, file=sys.stderr)
    sys.exit(error.code)
"""
ROOT = Path(__file__).parents[3]
Starter = Callable[..., "Relay"]


class Relay:
    """A relay's process. It listens on a port of its own choice."""

    def __init__(self, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", RELAY, "--listen", "127.0.0.1:0", *options],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.startswith("listening on 127.0.0.1:"):
            pytest.fail(self.process.communicate(timeout=30)[1])
        self.port = int(line.rpartition(":")[2])

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=30)

    def stop(self) -> str:
        """Stop it as a service manager does; return what it told."""
        self.process.send_signal(signal.SIGTERM)
        _, told = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, told
        return told

    def send(self, content: bytes, *recipients: str) -> bool:
        """Send as a program does; return whether it was told that its mail is taken."""
        try:
            with smtplib.SMTP("127.0.0.1", self.port, timeout=60) as smtp:
                smtp.sendmail("app@b.example", list(recipients) or ["c@d.example"], content)
        except (OSError, smtplib.SMTPException):
            return False
        return True


@pytest.fixture
def start(api: FakeMailApi) -> Iterator[Starter]:
    """Start relays, and end them with the test."""
    started: list[Relay] = []

    def begin(*options: str) -> Relay:
        started.append(Relay(*options))
        return started[-1]

    yield begin
    for each in started:
        if each.process.poll() is None:
            each.kill()


def letter(text: object) -> bytes:
    return f"From: app@b.example\r\nSubject: {text}\r\n\r\n.\r\n{text}\r\n".encode()


def subjects(contents: Sequence[bytes]) -> Counter[str]:
    return Counter(x.split(b"\r\n")[1].decode().removeprefix("Subject: ") for x in contents)


@pytest.mark.slow
def test_a_program_s_mail_reaches_the_api(api: FakeMailApi, start: Starter) -> None:
    relay = start()
    assert relay.send(letter("hello"), "c@d.example", "e@d.example")
    assert [(x.sender, x.recipients, x.content) for x in api.mails] == [
        ("app@b.example", ("c@d.example", "e@d.example"), letter("hello"))
    ]
    assert relay.stop().startswith("2 recipients: accepted as ")


def test_without_a_spool_a_mail_is_refused_for_now(api: FakeMailApi, start: Starter) -> None:
    relay = start()
    api.mood = lambda _: Mood(503)
    assert not relay.send(letter("hello"))
    api.mood = lambda _: Mood()
    assert relay.send(letter("hello"))
    assert len(api.mails) == 1


@pytest.mark.slow
def test_a_large_mail_passes(api: FakeMailApi, start: Starter) -> None:
    content = letter("large") + (b"x" * 990 + b"\r\n") * 10_000
    assert start().send(content)
    assert api.mails[0].content == content


@pytest.mark.slow
def test_mail_taken_while_the_api_is_away_is_posted_when_it_is_back(
    api: FakeMailApi, start: Starter, tmp_path: Path
) -> None:
    relay = start("--spool", str(tmp_path / "spool"))
    api.close()
    try:
        assert all(relay.send(letter(n)) for n in range(5))
    finally:
        api.reopen()
    wait_for(lambda: len(api.mails) == 5)
    assert subjects([x.content for x in api.mails]) == {str(n): 1 for n in range(5)}
    told = relay.stop()
    assert "cannot reach" in told
    assert "the API takes mail again; 5 mails to post" in told


@pytest.mark.slow
def test_a_second_relay_cannot_use_the_spool(start: Starter, tmp_path: Path) -> None:
    start("--spool", str(tmp_path / "spool"))
    command = [sys.executable, "-c", RELAY, "--spool", str(tmp_path / "spool")]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stderr) == (1, f"another process uses the queue {tmp_path / 'spool'}\n")


def test_a_relay_for_others_takes_mail_by_tls_and_login(api: FakeMailApi, start: Starter, tmp_path: Path) -> None:
    certificate = self_signed(tmp_path)
    (tmp_path / "password").write_text("secret\n")
    _, trusting = secured(tmp_path)
    relay = start(
        "--certificate", str(certificate), "--user", "app", "--password-file", str(tmp_path / "password")
    )  # fmt: skip
    assert not relay.send(letter("plain"))
    trusting.load_verify_locations(certificate)
    with smtplib.SMTP("127.0.0.1", relay.port, timeout=60) as smtp:
        smtp.starttls(context=trusting)
        smtp.login("app", "secret")
        smtp.sendmail("app@b.example", ["c@d.example"], letter("safe"))
    assert subjects([x.content for x in api.mails]) == {"safe": 1}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--listen", "0.0.0.0:2525"], "beyond this machine, a relay needs --certificate, --user and --password-file"),
        (["--listen", "0.0.0.0:2525", "--user", "app", "--password-file", "FILE"], "beyond this machine"),
        (["--listen", "2525"], "--listen takes HOST:PORT, like 127.0.0.1:2525"),
        (["--listen", "127.0.0.1:70000"], "--listen takes HOST:PORT"),
        (["--user", "app"], "--user and --password-file go together"),
        (["--key", "FILE"], "--key goes with --certificate"),
        (["--certificate", "FILE"], "cannot use the certificate"),
        (["--user", "app", "--password-file", "EMPTY"], "is empty"),
        (["--listen", "192.0.2.1:2525", "--certificate", "CERTIFICATE", "--user", "a", "--password-file", "FILE"],
         "cannot listen on 192.0.2.1:2525"),
    ],
)  # fmt: skip
def test_wrong_options_are_one_line(api: FakeMailApi, tmp_path: Path, options: list[str], says: str) -> None:
    (tmp_path / "FILE").write_text("x")
    (tmp_path / "EMPTY").write_text("\n")
    self_signed(tmp_path).rename(tmp_path / "CERTIFICATE")
    named = {"FILE", "EMPTY", "CERTIFICATE"}
    app = typer.Typer()
    app.command()(relay_command)
    with pytest.raises(Misused, match=re.escape(says)):
        app([str(tmp_path / x) if x in named else x for x in options], standalone_mode=False)


@pytest.mark.slow
def test_other_commands_load_no_server() -> None:
    code = "import sys, cli.main; print({'aiosmtpd', 'cli.relay.spool'} & set(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stdout == "set()\n"


def wait_for(reached: Callable[[], bool]) -> None:
    """Wait until something is so; the test's own time limit ends it."""
    pause = threading.Event()
    while not reached():
        pause.wait(0.02)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_mail_is_neither_lost_nor_doubled_by_kills_at_random_moments(
    api: FakeMailApi, start: Starter, tmp_path: Path, seed: int
) -> None:
    """Each turn, programs send through a relay that is killed, to an API that fails or loses its answers."""
    rng = random.Random(seed)  # noqa: S311
    moods = [Mood(), Mood(), Mood(503), Mood(500), Mood(lost=True)]
    api.mood = lambda _: rng.choice(moods)
    taken: set[str] = set()
    tried: set[str] = set()

    def program(relay: Relay, turn: int, number: int) -> None:
        for n in range(6):
            name = f"{turn}.{number}.{n}"
            tried.add(name)
            if relay.send(letter(name)) or relay.send(letter(name)):  # as programs do, the same bytes again
                taken.add(name)

    for turn in range(4):
        relay = start("--spool", str(tmp_path / "spool"))
        programs = [threading.Thread(target=program, args=(relay, turn, n)) for n in range(3)]
        for each in programs:
            each.start()
        threading.Event().wait(rng.random() * 0.6)
        os.kill(relay.process.pid, signal.SIGKILL)
        relay.kill()
        for each in programs:
            each.join(60)
    api.mood = lambda _: Mood()
    start("--spool", str(tmp_path / "spool"))
    wait_for(lambda: set(subjects([x.content for x in api.mails])) >= taken)
    arrived = subjects([x.content for x in api.mails])
    assert taken
    assert set(arrived.values()) == {1}
    assert set(arrived) <= tried
    wait_for(
        lambda: not any(list((tmp_path / "spool" / x).iterdir()) for x in ("data", "queue", "inflight", "cleanup"))
    )
    assert not (tmp_path / "spool" / "failed").exists()
