"""The pages that show commands, typed as their reader types them, on the local cloud.

Each block's answer is compared with the one on the page. The tutorial, mails and digests have tests of their own
beside this one.
"""

import os
import signal
import smtplib
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from infra.local.cloud import Cloud
from infra.local.processes import wait_for
from simulator.client import ControlClient
from tests.deployed import guides
from tests.deployed.answers import Answers
from tests.deployed.api import LOOK_SECONDS, Api
from tests.deployed.following import Reader
from tests.deployed.shell import checkout, plain, typed

pytestmark = pytest.mark.deployed

SOON: Final = 60
AGAIN: Final = 150
"""Seconds until a provider that has failed in every way sends again."""
HEARS_CTRL_C: Final = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)  # which a program in the background of a script ignores
os.execvp("sh", ["sh", "-c", sys.argv[1]])
"""
Opened = Callable[..., Reader]


@pytest.fixture
def folder(cloud: Cloud, forked: dict[str, list[str]], tmp_path: Path) -> Path:
    place = tmp_path / "other"
    place.mkdir()
    guides.add_programs(checkout(cloud, place), forked)
    return place


@pytest.fixture
def works_again(control: ControlClient, folder: Path, api: Api) -> Iterator[None]:
    yield
    control.faults("sendgrid", "sendgrid-main")
    typed(
        ".venv/bin/posthaste resume --all --yes\n.venv/bin/posthaste rate reset sendgrid-main\n"
        ".venv/bin/posthaste credential close-breaker sendgrid-main --reason 'end of a test' || true\n",
        folder,
    )
    job = api.post(["after.the.rehearsal@example.org"], "sendgrid-main")
    assert wait_for(lambda: api.get(f"/batches/{job}")["state"] == "LOGGED", AGAIN, pause=0.5), api.get(
        f"/batches/{job}"
    )


@pytest.mark.usefixtures("works_again")
def test_an_operator_rehearses_an_incident(opened: Opened) -> None:
    opened().follow(guides.steps(guides.page("rehearse")))


def test_a_newcomer_follows_the_first_deploy(opened: Opened) -> None:
    page = guides.page("first-deploy")
    assert any("cdk deploy" in block.text for block in guides.blocks(page) if block.reason)
    opened().follow(guides.steps(page))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def test_a_developer_follows_hooks(opened: Opened, api: Api) -> None:
    *_, create, look, repeat, operate = guides.steps(guides.page("hooks"))
    reader = opened({"https://shop.example.com/posthaste": f"http://127.0.0.1:{free_port()}/"})
    reader.follow([create])
    (hook, *_) = reader.answers.meant.values()
    try:
        assert wait_for(lambda: api.get(f"/hooks/{hook}/deliveries")["items"], SOON, LOOK_SECONDS)
        reader.follow([look, repeat])
    finally:
        assert api.call("DELETE", f"/hooks/{hook}").status < 300
    reader.follow([operate])
    (theirs,) = [x for x in reader.answers.meant.values() if x.startswith("hook_") and x != hook]
    reader.follow([guides.Step(f"posthaste hook delete {theirs} --deployment >/dev/null 2>&1\n")])


def test_a_developer_sees_events_on_their_own_machine(opened: Opened, tmp_path: Path) -> None:
    listen, receive, send, *_ = guides.steps(guides.page("hooks"))
    port, kept = free_port(), tmp_path / "kept"
    reader = opened({"localhost:8000": f"localhost:{port}", "receiver.py 8000": f"receiver.py {port}"})
    with background(listen.commands.replace("8000", str(port)), reader.folder, kept):
        assert wait_for(lambda: "ready" in kept.read_text("utf-8"), SOON)
        reader.answers.check(listen.kind, listen.answer, kept.read_text("utf-8"))
        received = tmp_path / "received"
        with background(reader.answers.filled(receive.commands.replace("8000", str(port))), reader.folder, received):
            assert wait_for(lambda: listens(port), SOON)
            reader.follow([send])
            assert wait_for(lambda: all("message.delivered" in x.read_text("utf-8") for x in (kept, received)), SOON)


def listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


class background:  # noqa: N801 - used like a function
    """A command in another terminal, until the end of the block. Ctrl-C ends it."""

    def __init__(self, command: str, folder: Path, printed: Path) -> None:
        self._printed = printed.open("w", encoding="utf-8")
        words = [sys.executable, "-c", HEARS_CTRL_C, f"{guides.PROGRAMS}{command}"]
        self._process = subprocess.Popen(
            words,
            cwd=folder,
            env=plain() | {"PYTHONUNBUFFERED": "1"},
            stdout=self._printed,
            stderr=self._printed,
            start_new_session=True,
        )

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, *_: object) -> None:
        """Press Ctrl-C."""
        os.killpg(self._process.pid, signal.SIGINT)
        self._process.wait(30)
        self._printed.close()


def test_a_program_hands_its_mail_to_the_relay(cloud: Cloud, folder: Path, api: Api, tag: str, tmp_path: Path) -> None:
    (step,) = guides.steps(guides.page("relay"))
    port, printed = free_port(), tmp_path / "printed"
    own = {
        "https://api.example.com": cloud.api,
        "ph_live_…": cloud.env["POSTHASTE_API_KEY"],
        "127.0.0.1:2525": f"127.0.0.1:{port}",
        "/var/spool/posthaste": str(folder / "spool"),
    }
    start = step.commands
    for literal, value in own.items():
        assert literal in start
        start = start.replace(literal, value)
    with background(start, folder, printed):
        assert wait_for(lambda: "listening" in printed.read_text("utf-8"), SOON)
        said = printed.read_text("utf-8")
        for literal, value in own.items():
            said = said.replace(value, literal)
        Answers().check(step.kind, step.answer, said)
        with smtplib.SMTP("127.0.0.1", port) as door:
            text = f"From: Acme <news@example.com>\r\nSubject: {tag}\r\n\r\nHello\r\n"
            door.sendmail("bounces@example.com", [f"ann+{tag}@example.org"], text)
        mails = api.get("/mails?limit=20")["items"]
        shown = [api.get(f"/mails/{mail['mail_id']}")["destinations"] for mail in mails]
        assert f"ann+{tag}@example.org" in {x["address"] for destinations in shown for x in destinations}


def test_a_clinic_follows_the_page_of_the_spool(opened: Opened, cloud: Cloud, tag: str, tmp_path: Path) -> None:
    own = {
        "https://api.example.com": cloud.api,
        "=clinic\n": f"=clinic-{tag}\n",
        "create clinic ": f"create clinic-{tag} ",
        "notifier clinic ": f"notifier clinic-{tag} ",
        "Acme": "demo",
    }
    opened(own, POSTHASTE_SPOOL=str(tmp_path / "notifier.db")).follow(guides.steps(guides.page("notifier-spool")))


def test_a_developer_follows_notices(opened: Opened, tag: str) -> None:
    own = {
        "clinic-1": f"clinic-{tag}",
        '"A-1"': f'"A-{tag}"',
        "/A-1": f"/A-{tag}",
        "2026-12-01": f"{datetime.now(UTC) + timedelta(days=5):%Y-%m-%d}",
    }
    opened(own).follow(guides.steps(guides.page("notices")))


def test_the_programs_of_the_page_of_notices_upload_and_read(
    cloud: Cloud, tag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    upload, poll = [x.text for x in guides.fences(guides.page("notices")) if x.kind == "python"]
    names: dict[str, Any] = {"time": time}
    for program in (poll, upload):
        exec(program, names)  # noqa: S102 - what the page shows
    login = (cloud.env["POSTHASTE_NOTIFIER"], cloud.env["POSTHASTE_NOTIFIER_PASSWORD"])
    since = datetime.now(UTC)
    with httpx.Client(base_url=f"{cloud.api}/", auth=login) as client:
        names["upload"](client, [{"id": tag, "action": "MESSAGE_CANCEL"}])

        def read() -> bool:
            nonlocal since
            since = names["poll"](client, since)
            return f"{tag} PERM_FAIL MESSAGE_NOT_FOUND" in capsys.readouterr().out

        assert wait_for(read, SOON, pause=1)


def test_an_account_claims_a_domain(opened: Opened, api: Api, tag: str) -> None:
    domain = f"{tag}.example.com"
    opened({"news.example.com": domain}).follow(guides.steps(guides.page("senders")))
    assert api.call("DELETE", f"/senders/{domain}").status < 300


def test_a_staging_environment_is_set_up(opened: Opened, api: Api) -> None:
    opened({"Acme": "demo"}).follow(guides.steps(guides.page("staging")))
    for guest in ("ann@example.org", "%2B14155550100"):
        assert api.call("DELETE", f"/guests/{guest}").status < 300


def test_a_recipient_writes_a_text(opened: Opened) -> None:
    opened().follow(guides.steps(guides.page("providers/twilio")))


def test_a_client_logs_in_and_out(opened: Opened, cloud: Cloud, tmp_path: Path) -> None:
    (login,) = guides.steps(guides.page("cli"))
    reader = opened(
        {"https://api.example.com": cloud.api}, HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path / "config")
    )
    reader.follow([guides.Step("unset POSTHASTE_URL POSTHASTE_API_KEY PYTHON_KEYRING_BACKEND; rm .local; cd ..\n")])
    reader.type(login, f"{cloud.env['POSTHASTE_API_KEY']}\n")


def test_a_reader_types_the_readme(opened: Opened, tag: str) -> None:
    send, campaign, digest = guides.steps(guides.page("README"))
    reader = opened({"acme": f"acme-{tag}", "@example.com,Reader": f"@{tag[:7]}.com,Reader"})
    reader.follow([send, digest])
    reader.type(campaign, "y\n", terminal=True)
