"""Lists on the command line: what is asked of the API, and the problems of rows in a file."""

import csv
from pathlib import Path

import pytest

from tests.cli import honest
from tests.cli.fakes import Answer, FakeApi, Run
from tests.cli.scripts import CAMPAIGN, UPLOAD, bad_row, campaign, listed, place


@pytest.mark.slow
def test_the_column_and_strictness_are_the_uploads(run: Run, api: FakeApi, folder: Path) -> None:
    (folder / "list.csv").write_bytes(b"contact\nann@example.org\n")
    api.answers(campaign(status=201), place(api), listed("failed", code="invalid_row", detail="Row 7 cannot be used."))
    words = ("--stored-template", "t1", "--recipient-column", "Contact", "--strict", "--yes")
    done = run("campaign", "run", "list.csv", *words)
    assert done.code == 1
    asked = api.asked[1].json
    assert len(asked.pop("sha256")) == 64
    assert asked == {"duplicates": "drop", "recipient_column": "Contact", "strict": True, "size": 24}


@pytest.mark.slow
def test_the_row_of_the_header_is_the_uploads_and_is_shown(run: Run, api: FakeApi, folder: Path) -> None:
    (folder / "list.csv").write_bytes(b"email\nReport\nKontakt;E-Mail\nx;ann@example.org\n")
    found = listed("failed", header_row=3, recipient_column="E-Mail", code="no_valid_rows", detail="None.")
    api.answers(campaign(status=201), place(api), found)
    done = run("campaign", "run", "list.csv", "--stored-template", "t1", "--header-row", "3", "--yes")
    assert api.asked[1].json["header_row"] == 3
    assert "row 3 has the names of columns; recipients are in E-Mail" in done.out
    refused = run("campaign", "run", "list.csv", "--stored-template", "t1", "--header-row", "2", "--yes")
    assert refused.code == 2
    assert "It has `report`.\n  name it: --recipient-column NAME; if its name is in another row: --header-row N" in (
        refused.err
    )


@pytest.mark.slow
def test_the_list_of_another_campaign_is_read_again(run: Run, api: FakeApi) -> None:
    taken = Answer({"campaign_id": CAMPAIGN, "upload_id": UPLOAD, "state": "queued"}, 202)
    api.answers(campaign(status=201), taken, listed("failed", code="missing_recipient", detail="No column."))
    words = ("--stored-template", "t1", "--list-of", "c" * 26, "--keep-hidden-rows", "--header-row", "2", "--yes")
    done = run("campaign", "run", *words)
    assert (done.code, "No column." in done.err) == (1, True)
    assert api.asked[1].path == f"/campaigns/{CAMPAIGN}/recipients"
    assert api.asked[1].json == {
        "list_of": "c" * 26,
        "duplicates": "drop",
        "hidden_rows": "keep",
        "header_row": 2,
    }
    for given in ((), ("list.csv", "--list-of", "c1")):
        refused = run("campaign", "run", *given, "--stored-template", "t1", "--yes")
        assert (refused.code, "name one list" in refused.err) == (2, True)


def test_problems_are_written_into_a_file_that_spreadsheets_open(run: Run, api: FakeApi, folder: Path) -> None:
    first = listed("ready", errors=[bad_row(3, "invalid_address", "No @.", "=cmd()")], next_cursor="c2")
    second = listed("ready", errors=[bad_row(9, "duplicate", "Again.")])
    words = ("campaign", "problems", CAMPAIGN, UPLOAD, "--out", "bad.csv")
    api.answers(first, second)
    assert run(*words).out == "bad.csv: 2 rows\n"
    text = (folder / "bad.csv").read_text(encoding="utf-8-sig")
    assert list(csv.reader(text.splitlines())) == [
        ["row", "value", "code", "detail"],
        ["4", "'=cmd()", "invalid_address", "No @."],
        ["10", "", "duplicate", "Again."],
    ]
    assert (folder / "bad.csv").read_bytes()[:3] == b"\xef\xbb\xbf"
    again = run(*words)
    assert again.code == 2
    assert "cannot write bad.csv: File exists" in again.err
    honest.check(api)


def test_problems_in_a_file_are_json_for_programs(run: Run, api: FakeApi) -> None:
    api.answers(listed("ready"))
    words = ("campaign", "problems", CAMPAIGN, UPLOAD, "--out", "bad.csv", "--json")
    assert run(*words).json == {"file": "bad.csv", "rows": 0}
