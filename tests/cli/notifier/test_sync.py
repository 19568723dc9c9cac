"""A sync over a bad link: payloads in order and one at a time, identical if they may have arrived, updates once."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from shared.domain.notices.updates import UpdateEntry
from tests.cli.fakes import FakeClock, Run
from tests.cli.notifier.link import NOW_MS, PASSWORD, BadLink, Mood, applied
from tests.cli.notifier.test_spool import add

CASE = {"first_name": "Ann", "phone_number": "1", "template_id": "t", "delivery_method": "SMS"}


def fill(run: Run, count: int, verb: str = "add", **more: str) -> None:
    records = [{"id": f"m{n}", **CASE, "delivery_date": "2026-12-01", **more} for n in range(count)]
    assert run("notifier", "spool", verb, "--file", "-", input=json.dumps(records)).code == 0


def moods(*script: Mood, method: str = "PUT") -> Callable[[str, Any], Mood]:
    """Return these for calls of a method, then good ones."""
    rest: Iterator[Mood] = iter(script)
    return lambda called, _: next(rest, Mood()) if called == method else Mood()


def entry(n: int, name: str = "m0", status: str = "SUCCESS", **more: Any) -> UpdateEntry:
    return UpdateEntry("clinic", "u", name, NOW_MS - 3_600_000 + n, status, **more)


def test_what_waits_is_uploaded_in_order(run: Run, link: BadLink) -> None:
    fill(run, 3)
    run("notifier", "spool", "cancel", "m1")
    done = run("notifier", "sync", "--json")
    assert (done.code, done.json) == (
        0, {"uploaded": 4, "payloads": 2, "refused": 0, "updates": 0, "waiting": 0, "problem": None},
    )  # fmt: skip
    assert [(x["id"], x["action"]) for x in link.records] == [
        ("m0", "MESSAGE_NEW"), ("m1", "MESSAGE_NEW"), ("m2", "MESSAGE_NEW"), ("m1", "MESSAGE_CANCEL"),
    ]  # fmt: skip
    assert link.records[0] == {"id": "m0", "action": "MESSAGE_NEW", **CASE, "delivery_date": "2026-12-01"}
    assert run("notifier", "sync").out == "0 records uploaded in 0 payloads; 0 updates fetched\n"
    assert run("notifier", "spool", "status", "m0", "--json").json["status"] == "NEW"


def test_a_payload_whose_answer_is_lost_goes_up_again_whole_and_identical(run: Run, link: BadLink) -> None:
    fill(run, 1)
    link.mood = moods(Mood(keep=0), Mood(keep=5))
    assert run("notifier", "sync").code == 0
    assert len(link.payloads) == 3
    assert len(set(link.payloads)) == 1


def test_what_is_added_meanwhile_does_not_change_a_payload_that_may_have_arrived(run: Run, link: BadLink) -> None:
    fill(run, 2)
    link.mood = lambda *_: Mood(status=503)
    assert run("notifier", "sync").code == 5
    add(run, "later")
    link.mood = moods()
    assert run("notifier", "sync").code == 0
    bodies = [body for body, _ in link.puts]
    assert len(set(bodies[:-1])) == 1
    assert [x["id"] for x in json.loads(bodies[-1])] == ["later"]


@pytest.mark.slow
def test_an_upload_that_is_cut_off_is_halved_until_it_passes(run: Run, link: BadLink) -> None:
    fill(run, 2_000)
    link.mood = lambda method, size: Mood(carry=20_000) if method == "PUT" else Mood()
    done = run("notifier", "sync", "--json")
    assert (done.code, done.json["uploaded"]) == (0, 2_000)
    assert max(map(len, link.payloads)) <= 20_000
    assert [x["id"] for x in link.records] == [f"m{n}" for n in range(2_000)]  # none of them twice


def test_a_payload_that_never_passes_whole_is_cut_smaller(run: Run, link: BadLink) -> None:
    """The system may hold all of a small payload back, so its loss looks like a lost answer."""
    fill(run, 60)
    link.mood = lambda method, size: Mood(carry=2_000) if method == "PUT" else Mood()
    for _ in range(3):
        done = run("notifier", "sync", "--json")
    assert (done.code, done.json["waiting"]) == (0, 0)
    assert {name for name, _ in applied(link.records).items()} == {f"m{n}" for n in range(60)}


def test_no_later_record_of_a_message_overtakes_an_upload_that_may_still_arrive(
    run: Run, link: BadLink, clock: FakeClock
) -> None:
    fill(run, 1)
    run("notifier", "spool", "cancel", "m0")
    add(run, "other")
    link.mood = moods(Mood(keep=0))
    began: list[float] = []
    taken = link.put

    def put(headers: Any, body: bytes, mood: Mood) -> Any:
        began.append(clock.time)
        return taken(headers, body, mood)

    link.put = put  # type: ignore[method-assign]
    assert run("notifier", "sync").code == 0
    first, again, later = began
    assert again - first < 1
    assert later - first >= 35
    assert [x["id"] for x in json.loads(link.payloads[-1])] == ["m0", "other"]


def test_a_clock_that_is_set_back_delays_no_upload_for_long(run: Run, link: BadLink, clock: FakeClock) -> None:
    fill(run, 1)
    run("notifier", "spool", "cancel", "m0")
    link.mood = moods(Mood(keep=0))

    def back(n: int) -> None:
        if n == 1:
            clock.time -= 86_400

    clock.on_sleep = back
    assert run("notifier", "sync").code == 0
    assert sum(clock.slept) < 80


def test_a_wrong_password_ends_the_sync_and_is_not_shown(run: Run, link: BadLink, monkeypatch: Any) -> None:
    fill(run, 1)
    monkeypatch.setenv("POSTHASTE_NOTIFIER_PASSWORD", "wrong-one")
    done = run("notifier", "sync")
    assert (done.code, "POSTHASTE_NOTIFIER_PASSWORD" in done.err, "wrong-one" in done.err) == (4, True, False)
    assert run("notifier", "spool", "status", "--json").json["problem"]
    assert len(link.puts) == 1


def test_a_hub_that_asks_to_wait_is_waited_for(run: Run, link: BadLink, clock: FakeClock) -> None:
    fill(run, 1)
    link.mood = moods(Mood(status=429, headers={"Retry-After": "7"}))
    assert run("notifier", "sync").code == 0
    assert clock.slept == [7]
    add(run, "more")
    link.mood = moods(Mood(status=503, headers={"Retry-After": "3600"}))
    done = run("notifier", "sync")
    assert (done.code, "3600 s" in done.err) == (1, True)


def test_a_hub_that_cannot_be_reached_ends_the_sync_at_once(run: Run, link: BadLink, clock: FakeClock) -> None:
    fill(run, 1)
    link.close()
    done = run("notifier", "sync", "--url", "http://127.0.0.1:1")
    assert (done.code, clock.slept) == (5, [])
    assert run("notifier", "spool", "status", "--json").json["records_waiting"] == 1


def test_updates_are_fetched_though_no_upload_is_taken(run: Run, link: BadLink) -> None:
    fill(run, 1)
    link.updates = [entry(0)]
    link.mood = lambda method, _: Mood(status=500 if method == "PUT" else 200)
    done = run("notifier", "sync", "--json")
    assert (done.code, done.json["updates"]) == (5, 1)


def test_a_record_that_the_hub_never_takes_blocks_no_other(run: Run, link: BadLink) -> None:
    fill(run, 9)
    taken = link.put

    def put(headers: Any, body: bytes, mood: Mood) -> Any:
        refused = Mood(status=400, code="invalid_request")
        return taken(headers, body, refused if b'"m4"' in body else mood)

    link.put = put  # type: ignore[method-assign]
    done = run("notifier", "sync", "--json")
    assert (done.code, done.json["uploaded"], done.json["refused"]) == (0, 8, 1)
    shown = run("notifier", "spool", "status", "m4", "--json").json
    assert (shown["status"], shown["error"]) == ("REFUSED", "invalid_request")
    assert [x["id"] for x in link.records] == [f"m{n}" for n in range(9) if n != 4]


@pytest.mark.parametrize("body", [b"<html>Log in</html>", b'{"received": 2}', b"[]", b""])
def test_an_answer_of_a_stranger_counts_for_nothing(run: Run, link: BadLink, body: bytes) -> None:
    fill(run, 1)
    link.put = lambda *_: (200, body, {})  # type: ignore[method-assign]
    done = run("notifier", "sync")
    assert (done.code, "does not answer like Posthaste" in done.err) == (1, True)
    assert run("notifier", "spool", "status", "--json").json["records_waiting"] == 1


def test_a_redirect_gets_no_password(run: Run, link: BadLink) -> None:
    fill(run, 1)
    link.mood = lambda *_: Mood(status=307, headers={"Location": f"{link.url}/elsewhere"})
    assert run("notifier", "sync").code == 1
    assert len(link.puts) == 1


def test_updates_are_stored_once_and_shown_with_their_messages(run: Run, link: BadLink) -> None:
    fill(run, 2)
    run("notifier", "sync")
    link.updates = [entry(0, status="TEMP_FAIL", error="TEMP_DELIVERY_FAIL", message="Later."), entry(1_500, "m1")]
    assert run("notifier", "sync", "--json").json["updates"] == 2
    link.updates.append(entry(9_000))
    assert run("notifier", "sync", "--json").json["updates"] == 1
    assert run("notifier", "sync", "--json").json["updates"] == 0
    found = run("notifier", "spool", "updates", "--json").lines
    assert [(x["n"], x["id"], x["status"]) for x in found] == [
        (1, "m0", "TEMP_FAIL"), (2, "m1", "SUCCESS"), (3, "m0", "SUCCESS"),
    ]  # fmt: skip
    assert [x["n"] for x in run("notifier", "spool", "updates", "--after", "2", "--json").lines] == [3]
    shown = run("notifier", "spool", "status", "m0", "--json").json
    assert (shown["status"], shown["error"], len(shown["updates"])) == ("SUCCESS", None, 2)
    assert "TEMP_DELIVERY_FAIL Later." in run("notifier", "spool", "status", "m0").out
    assert link.gets[0] == "/message_updates/19700102000000-29991231235959"
    assert link.gets[-1].startswith("/message_updates/2027")


@pytest.mark.slow
@pytest.mark.parametrize("page_bytes", [200, 400, 1_000])
def test_every_update_of_a_long_answer_arrives_once_through_a_link_that_cuts(
    run: Run, link: BadLink, page_bytes: int
) -> None:
    """Answers end at a whole second or within one, and the link cuts each third one."""
    link.page_bytes = page_bytes
    link.updates = [entry(n * 170 + n // 9 * 2_000, f"m{n % 7}", message="x" * (n % 5 * 20)) for n in range(60)]
    calls = iter(range(10_000))
    link.mood = lambda *_: Mood(keep=150) if next(calls) % 3 == 1 else Mood()
    while run("notifier", "sync").code:
        pass
    found = run("notifier", "spool", "updates", "--json").lines
    assert [x["id"] for x in found] == [x.id for x in link.updates]
    assert len({x["updated_at"] for x in found}) == 60


def test_an_answer_that_is_cut_off_is_used_as_far_as_its_seconds_are_whole(run: Run, link: BadLink) -> None:
    link.updates = [entry(n * 1_000, f"m{n}") for n in range(100)]
    link.mood = lambda *_: Mood(keep=2_000)
    done = run("notifier", "sync", "--json")
    assert done.code == 0  # 2,000 bytes hold some twenty updates, so each answer makes progress
    assert done.json["updates"] == 100
    assert len(link.gets) < 10


def test_updates_of_the_hour_that_exists_twice_arrive_once(run: Run, link: BadLink, clock: FakeClock) -> None:
    first = int(datetime(2026, 4, 4, 15, 30, tzinfo=UTC).timestamp() * 1000)  # 02:30 in Sydney, as an hour later
    link.now_ms = first + 86_400_000
    clock.time = link.now_ms / 1000
    stamps = (first - 60_000, first, first + 3_600_000, first + 3_601_000, first + 7_200_000)
    for n, stamp in enumerate(stamps):
        link.updates.append(UpdateEntry("clinic", "u", f"m{n}", stamp, "SUCCESS"))
        assert run("notifier", "sync", "--json").json["updates"] == 1
    assert [x["id"] for x in run("notifier", "spool", "updates", "--json").lines] == ["m0", "m1", "m2", "m3", "m4"]


def test_another_notifier_needs_to_be_named_again(run: Run, link: BadLink, monkeypatch: pytest.MonkeyPatch) -> None:
    run("notifier", "sync")
    monkeypatch.setenv("POSTHASTE_NOTIFIER", "other")
    done = run("notifier", "sync")
    assert (done.code, "--rebind" in done.err) == (2, True)
    assert run("notifier", "sync", "--rebind").code == 4


def test_one_process_at_a_time_syncs_a_spool(run: Run, link: BadLink, folder: Path) -> None:
    run("notifier", "sync", "--spool", "s.db")
    other = sqlite3.connect(folder / "s.db-lock", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    done = run("notifier", "sync", "--spool", "s.db")
    assert (done.code, "another" in done.err) == (1, True)
    other.close()
    assert run("notifier", "sync", "--spool", "s.db").code == 0


def test_the_password_comes_from_a_file(run: Run, link: BadLink, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POSTHASTE_NOTIFIER_PASSWORD")
    done = run("notifier", "sync")
    assert (done.code, "POSTHASTE_NOTIFIER_PASSWORD missing" in done.err) == (2, True)
    (folder / "password").write_text(PASSWORD + "\n")
    assert run("notifier", "sync", "--password-file", "password").code == 0


def test_syncs_repeat_through_failures_until_they_are_stopped(run: Run, link: BadLink, clock: FakeClock) -> None:
    fill(run, 1)
    link.mood = lambda *_: Mood(status=401)

    def later(n: int) -> None:
        if n == 3:
            link.mood = moods()
        if n == 5:
            raise KeyboardInterrupt

    clock.on_sleep = later
    done = run("notifier", "sync", "--every", "5m")
    assert done.code == 130
    assert done.err.count("error: ") == 3
    assert link.records
    fast, normal = clock.slept[:3], clock.slept[3:]
    assert [5 <= fast[0] <= 10, 10 <= fast[1] <= 20, 20 <= fast[2] <= 40] == [True] * 3
    assert all(270 <= x <= 330 for x in normal)


@pytest.mark.parametrize("every", ["5", "1s", "x"])
def test_an_interval_is_a_span(run: Run, link: BadLink, every: str) -> None:
    assert run("notifier", "sync", "--every", every).code == 2


def test_what_ended_long_ago_is_removed(run: Run, link: BadLink, clock: FakeClock) -> None:
    fill(run, 2)
    run("notifier", "sync")
    link.updates = [UpdateEntry("clinic", "u", "m0", int(clock.time * 1000), "SUCCESS")]
    link.now_ms = int(clock.time * 1000) + 60_000
    run("notifier", "sync")
    clock.time += 121 * 86_400
    run("notifier", "sync")
    assert [x["id"] for x in run("notifier", "spool", "list", "--json").lines] == ["m1"]
    assert run("notifier", "spool", "updates", "--json").lines == []


@pytest.mark.slow
def test_no_aws_library_is_loaded(folder: Path) -> None:
    asked = "import sys, cli.main; sys.exit(bool({'boto3', 'botocore'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", asked], check=False, timeout=60).returncode == 0
