"""The spool offline: what is added, updated, cancelled and shown, without a hub."""

import json
import sqlite3
import stat
from pathlib import Path

import pytest

from tests.cli.fakes import Done, Run

WORDS = (
    "--first-name",
    "Ann",
    "--phone",
    "+61491570006",
    "--template",
    "t1",
    "--method",
    "SMS",
    "--date",
    "2026-12-01",
)


def add(run: Run, name: str, *more: str, verb: str = "add") -> Done:
    found: Done = run("notifier", "spool", verb, name, *WORDS, *more, "--json")
    return found


def listed(run: Run, *words: str) -> dict[str, str]:
    return {x["id"]: x["upload"] for x in run("notifier", "spool", "list", "--json", *words).lines}


def test_what_is_added_waits_and_is_shown(run: Run) -> None:
    assert add(run, "a").json == {"queued": 1, "unchanged": 0}
    assert listed(run) == {"a": "waiting"}
    shown = run("notifier", "spool", "status", "a", "--json").json
    assert shown["data"] == {
        "first_name": "Ann",
        "phone_number": "+61491570006",
        "template_id": "t1",
        "delivery_method": "SMS",
        "delivery_date": "2026-12-01",
    }
    assert (shown["action"], shown["status"], shown["updates"]) == ("NEW", None, [])
    assert "first name: Ann" in run("notifier", "spool", "status", "a").out
    summary = run("notifier", "spool", "status", "--json").json
    assert (summary["records_waiting"], summary["messages"]) == (1, {"NOT_UPLOADED": 1})


def test_adding_the_same_again_changes_nothing(run: Run) -> None:
    add(run, "a")
    assert add(run, "a").json == {"queued": 0, "unchanged": 1}
    assert add(run, "a", verb="update").json == {"queued": 0, "unchanged": 1}


def test_another_message_with_the_same_id_is_refused(run: Run) -> None:
    add(run, "a")
    done = add(run, "a", "--time", "9-12")
    assert (done.code, "spool update" in done.err) == (1, True)
    assert add(run, "a", "--time", "9-12", verb="update").json["queued"] == 1


def test_a_cancelled_message_comes_back_by_an_update_only(run: Run) -> None:
    add(run, "a")
    assert run("notifier", "spool", "cancel", "a", "--json").json == {"queued": 1, "unchanged": 0, "unknown": []}
    assert run("notifier", "spool", "cancel", "a", "--json").json["queued"] == 0
    assert add(run, "a").code == 1
    assert add(run, "a", verb="update").json["queued"] == 1


def test_a_cancellation_of_an_unknown_message_is_queued_with_a_warning(run: Run) -> None:
    done = run("notifier", "spool", "cancel", "x")
    assert (done.code, "MESSAGE_NOT_FOUND" in done.err) == (0, True)


def test_a_file_is_added_whole_or_not_at_all(run: Run, folder: Path) -> None:
    good = {"id": "a", "first_name": "Ann", "phone_number": 61491570006, "template_id": "t", "delivery_method": "IVR"}
    good["delivery_date"] = "20261201"
    file = folder / "list.json"
    file.write_text(json.dumps([good, {**good, "id": ""}]))
    done = run("notifier", "spool", "add", "--file", "list.json")
    assert (done.code, "record 2: id" in done.err) == (2, True)
    assert listed(run) == {}
    file.write_text("\n".join(json.dumps({**good, "id": name}) for name in "abc"))
    assert run("notifier", "spool", "add", "--file", "list.json", "--json").json["queued"] == 3
    again = run("notifier", "spool", "add", "--file", "-", "--json", input=file.read_bytes())
    assert again.json == {"queued": 0, "unchanged": 3}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--method", "FAX"), "delivery_method"),
        (("--date", "2026-02-30"), "delivery_date"),
        (("--date", "2036-02-03"), "two years"),
        (("--expires", "2026-12-01"), "delivery_expires"),
        (("--phone", " "), "phone_number is missing"),
        (("--first-name", "x" * 201), "first_name"),
        (("--file", "x.json"), "not both"),
    ],
)
def test_a_record_that_the_hub_would_reject_is_refused_at_once(run: Run, words: tuple[str, str], says: str) -> None:
    done = add(run, "a", *words)
    assert (done.code, says in done.err) == (2, True)


@pytest.mark.parametrize("hours", ["25-99", "12-9", "morning"])
def test_preferred_hours_that_the_hub_would_take_for_all_are_refused_at_once(run: Run, hours: str) -> None:
    done = add(run, "a", "--time", hours)
    assert (done.code, "preferred_time is an hour" in done.err) == (2, True)


def test_an_unknown_field_of_a_file_is_refused(run: Run) -> None:
    done = run("notifier", "spool", "add", "--file", "-", input='[{"id": "a", "phone": "1"}]')
    assert (done.code, "unknown field phone" in done.err) == (2, True)


def test_lists_are_filtered(run: Run) -> None:
    for name in "abc":
        add(run, name)
    assert list(listed(run, "--limit", "2")) == ["c", "b"]
    assert listed(run, "--status", "SUCCESS") == {}
    assert len(listed(run, "--waiting")) == 3
    assert run("notifier", "spool", "list").out.splitlines()[0].split() == ["id", "action", "upload", "status", "error",
                                                                            "updated", "at"]  # fmt: skip


def test_an_unknown_message_is_not_found(run: Run) -> None:
    assert run("notifier", "spool", "status", "x").code == 3


def test_only_its_owner_reads_the_spool(run: Run, folder: Path) -> None:
    add(run, "a", "--spool", "s.db")
    assert stat.S_IMODE((folder / "s.db").stat().st_mode) == 0o600
    assert listed(run) == {}
    assert listed(run, "--spool", "s.db") == {"a": "waiting"}


def test_the_environment_names_the_spool(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTHASTE_SPOOL", str(folder / "t.db"))
    add(run, "a")
    assert (folder / "t.db").exists()


@pytest.mark.parametrize("what", ["another database", "no database", "a later version"])
def test_a_file_that_is_no_spool_is_refused(run: Run, folder: Path, what: str) -> None:
    file = folder / "s.db"
    if what == "no database":
        file.write_text("hello " * 1000)
    else:
        database = sqlite3.connect(file)
        database.execute("CREATE TABLE x (y)")
        database.close()
        if what == "a later version":
            file.unlink()
            add(run, "a", "--spool", "s.db")
            database = sqlite3.connect(file)
            database.execute("PRAGMA user_version = 99")
            database.close()
    done = add(run, "a", "--spool", "s.db")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)


def test_a_message_has_names_of_its_own(run: Run) -> None:
    named = ("--reference", "visit-4711", "--tag", "reminders", "--tag", "Zoë")
    assert add(run, "a", *named).json == {"queued": 1, "unchanged": 0}
    assert add(run, "a", *named).json == {"queued": 0, "unchanged": 1}
    shown = run("notifier", "spool", "status", "a", "--json").json["data"]
    assert (shown["reference"], shown["tags"]) == ("visit-4711", ["reminders", "Zoë"])
    assert "tags: reminders, Zoë" in run("notifier", "spool", "status", "a").out
    assert add(run, "a", "--reference", "visit-4712", verb="update").json == {"queued": 1, "unchanged": 0}
    assert "tags" not in run("notifier", "spool", "status", "a", "--json").json["data"]


@pytest.mark.parametrize("words", [("--reference", "x" * 129), ("--tag", "a", "--tag", "a"), ("--tag", " ")])
def test_a_name_that_cannot_be_kept_is_refused(run: Run, words: tuple[str, ...]) -> None:
    assert add(run, "a", *words).code == 2
    assert listed(run) == {}
