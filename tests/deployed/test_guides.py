"""The pages that show commands, typed as their reader types them, on the local cloud.

The tutorial, the README, mails and digests have tests of their own beside this one; docs/campaigns.md is followed by
tests/api/test_guide.py.
"""

import os
import re
import signal
import smtplib
import socket
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from infra.local.cloud import Cloud
from infra.local.processes import wait_for
from simulator.client import ControlClient
from tests.deployed import guides
from tests.deployed.api import Api
from tests.deployed.shell import checkout, typed

pytestmark = pytest.mark.deployed

SOON: Final = 60
AGAIN: Final = 150
"""Seconds until a provider that has failed in every way sends again."""
LOAD: Final = f". ./.local/env\n{guides.PROGRAMS}"
"""Loads the address and the key, as the pages say."""


@pytest.fixture
def folder(cloud: Cloud, tmp_path: Path) -> Path:
    guides.add_programs(tmp_path)
    return checkout(cloud, tmp_path)


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
def test_an_operator_rehearses_an_incident(folder: Path) -> None:
    start, *steps, end = guides.local(guides.page("rehearse"))
    assert (start, end) == ("make up\n", "make down\n")
    said = typed("\n".join(steps), folder)
    assert re.search(r"sendgrid-main .* open +unavailable", said), "the breaker and its reason"
    assert "credential.breaker_closed" in said
    assert "drill is over" in said
    assert said.count("gave no answer: it may or may not have the message") >= 1
    assert "delivered it" in said, "the provider's report settles it"


def test_a_newcomer_follows_the_first_deploy(folder: Path) -> None:
    page = guides.page("first-deploy")
    marked = [block for block in guides.blocks(page) if block.reason]
    assert any("cdk deploy" in block.text for block in marked)
    said = typed(LOAD + "\n".join(guides.local(page)), folder)
    (batch,) = re.findall(r'"batch_id": ?"(\w+)"', said)
    assert batch in said.partition('"batch_id"')[2], "the list has it"


@pytest.fixture
def receiver() -> str:
    """An address at which nothing answers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"http://127.0.0.1:{free.getsockname()[1]}/"


def test_a_developer_follows_hooks(folder: Path, api: Api, receiver: str) -> None:
    create, look = guides.local(guides.page("hooks"))
    said = typed(LOAD + create.replace("https://shop.example.com/posthaste", receiver), folder)
    (hook,) = re.findall(r'"id": ?"(\w+)"', said)
    assert "whsec_" in said
    try:
        delivery = api.call("POST", f"/hooks/{hook}/test").body["id"]
        typed(guides.filled(look, {"ID": hook, "DELIVERY": delivery}), folder)
    finally:
        api.call("DELETE", f"/hooks/{hook}")


def listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def test_a_program_hands_its_mail_to_the_relay(cloud: Cloud, folder: Path, api: Api, tag: str) -> None:
    (start,) = guides.local(guides.page("relay"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    own = {
        "https://api.example.com": cloud.api,
        "ph_live_…": cloud.env["POSTHASTE_API_KEY"],
        "127.0.0.1:2525": f"127.0.0.1:{port}",
        "/var/spool/posthaste": str(folder / "spool"),
    }
    for literal, value in own.items():
        assert literal in start
        start = start.replace(literal, value)
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("POSTHASTE_", "AWS_"))}
    relay = subprocess.Popen(
        ["sh", "-c", guides.PROGRAMS + start.replace("posthaste relay", "exec posthaste relay")], cwd=folder, env=plain
    )
    try:
        assert wait_for(lambda: listens(port), SOON)
        with smtplib.SMTP("127.0.0.1", port) as door:
            text = f"From: Acme <news@example.com>\r\nSubject: {tag}\r\n\r\nHello\r\n"
            door.sendmail("bounces@example.com", [f"ann+{tag}@example.org"], text)
        mails = api.get("/mails?limit=20")["items"]
        shown = [api.get(f"/mails/{mail['mail_id']}")["destinations"] for mail in mails]
        assert f"ann+{tag}@example.org" in {x["address"] for destinations in shown for x in destinations}
    finally:
        relay.send_signal(signal.SIGTERM)
        relay.wait(30)


def account(folder: Path) -> str:
    """Return the id of the account that the local cloud's key is of."""
    listed = typed(f"{LOAD}posthaste account list --json", folder)
    return str(re.findall(r'"account_id": ?"(acc_\w+)"', listed)[0])


def test_a_clinic_follows_the_page_of_the_spool(cloud: Cloud, folder: Path, tag: str) -> None:
    create, settings, use = guides.local(guides.page("notifier-spool"))
    create = create.replace("create clinic", f"create clinic-{tag}").replace("Acme", account(folder))
    (password,) = re.findall(r"ph_pass_[\w-]+", typed(LOAD + create, folder))
    settings = settings.replace("https://api.example.com", cloud.api).replace("ph_pass_…", password)
    settings = settings.replace("POSTHASTE_NOTIFIER=clinic", f"POSTHASTE_NOTIFIER=clinic-{tag}")
    spool = f"export POSTHASTE_SPOOL={folder / 'notifier.db'}\n"
    assert "A-17" in typed(f"{guides.PROGRAMS}{settings}{spool}{use}", folder)


def test_a_developer_follows_notices(folder: Path, api: Api, tag: str) -> None:
    body = {"name": "Reminder", "channel": "sms", "body": "Hello {{ first_name }}."}
    own = {
        "ACCOUNT": account(folder),
        "clinic-1": f"clinic-{tag}",
        "01m3250v00n197k5j0fjpyam13": api.call("POST", "/templates", body).body["template_id"],
        '"A-1"': f'"A-{tag}"',
        "2026-12-01": f"{datetime.now(UTC) + timedelta(days=5):%Y-%m-%d}",
    }
    typing = "\n".join(guides.local(guides.page("notices")))
    for literal, value in own.items():
        assert literal in typing
        typing = typing.replace(literal, value)
    assert '"received":2' in typed(LOAD + typing, folder).replace(" ", "")
