"""Lists of other programs, from the file to the last message, against the real API in memory."""

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import SENDER, Api, build_api
from tests.cli.fakes import FakeClock, Run
from tests.cli.real import RealApi
from tests.fakes.clock import FakeClock as EngineClock

LIST = "E-Mail;Name\r\nann@example.org;Zoë\r\n\r\nnobody;Ben\r\nann@example.org;Ann\r\n".encode("windows-1252")


@pytest.fixture
def real(moto_dynamo: Any, folder: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    api = build_api(moto_dynamo, EngineClock())
    served = RealApi(api)
    clock.on_sleep = lambda _: served.move()
    monkeypatch.setenv("POSTHASTE_URL", served.url)
    monkeypatch.setenv("POSTHASTE_API_KEY", api.key)
    (folder / "list.csv").write_bytes(LIST)
    (folder / "mail.html").write_text("<p>Dear {{ name }}, {{ recipient }}</p>", encoding="utf-8")
    yield api
    served.close()


@pytest.mark.slow
@pytest.mark.usefixtures("real")
def test_a_message_with_a_link_to_leave_is_not_warned_about(run: Run, folder: Path) -> None:
    (folder / "list.csv").write_text("recipient,name\nann@example.org,Ann\n", "utf-8")
    (folder / "mail.html").write_text('<p>Hi {{ name }}, <a href="{{ unsubscribe_url }}">leave</a></p>', "utf-8")
    words = ("campaign", "run", "list.csv", "--template", "mail.html", "--subject", "Hi", "--from", SENDER)
    done = run(*words, terminal=True, input="n\n")
    assert "Send 1 message" in done.err
    assert "no link" not in done.out


@pytest.mark.slow
def test_a_list_in_windows_1252_with_semicolons_is_sent_once_to_each(run: Run, real: Api, folder: Path) -> None:
    words = ("campaign", "run", "list.csv", "--template", "mail.html", "--subject", "Hi {{ name }}", "--from", SENDER)
    done = run(*words, terminal=True, input="y\n\ny\n")
    assert done.code == 0, done.err + done.out
    assert "It looks like Windows-1252" in done.err
    assert "1 recipient of 3 rows, 1 invalid, 1 duplicate" in done.out
    assert "subject: Hi Zoë" in done.out
    assert re.search(r"\n4 +nobody +invalid_address", done.out)
    assert re.search(r"\n5 +ann@example.org +duplicate", done.out)
    assert "the message shows no link to unsubscribe" in done.out

    (found,) = real.call("GET", "/campaigns").json["items"]
    (upload,) = found["jobs"]
    assert run("campaign", "problems", found["campaign_id"], upload, "--out", "bad.csv").code == 0
    rows = list(csv.reader((folder / "bad.csv").read_text(encoding="utf-8-sig").splitlines()))
    assert [row[:3] for row in rows[1:]] == [["4", "nobody", "invalid_address"], ["5", "ann@example.org", "duplicate"]]

    again = run(*words, "--encoding", "windows-1252", terminal=True, input="n\n")
    assert again.code == 1
    assert f"this list was sent before: campaign {found['campaign_id']}" in again.err
    assert len(real.call("GET", "/campaigns").json["items"]) == 1, "the second try leaves nothing behind"
