"""What a list is checked for before its upload, and what is asked about it after."""

import hashlib
from pathlib import Path

import pytest

from tests.cli import honest
from tests.cli.fakes import Answer, FakeApi, Run
from tests.cli.scripts import CAMPAIGN, UPLOAD, campaign, job, listed, place, preview, problem, sent

MAIL = ("--template", "mail.html", "--subject", "Hi {{ name }}", "--from", "news@example.com")


@pytest.fixture(autouse=True)
def message(folder: Path) -> None:
    (folder / "mail.html").write_text("<p>Hi {{ name }}</p>", encoding="utf-8")
    (folder / "sms.txt").write_text("Hi {{ name }}", encoding="utf-8")


def uploaded(api: FakeApi, *, again: bool = False, **found: int) -> None:
    """Script a campaign until its last message; `again`: its list is uploaded twice."""
    once = [
        place(api),
        Answer(raw=b"", headers={"ETag": '"e1"'}),
        listed("queued", status=202),
        listed("ready", **{"rows": 2, "accepted": 2, **found}),
    ]
    rest = [preview(), sent(), job("LOGGED", delivered=2)]
    api.answers(campaign(status=201), *once, *(once if again else ()), *rest)


@pytest.mark.parametrize(
    ("data", "words", "said"),
    [
        ("name;city\nAnn;Rome\n", MAIL, "It has `name`, `city`.\n  name it: --recipient-column NAME"),
        ("email,to,name\na@x.org,b@x.org,A\n", MAIL, "`email`, `to` can each be the column of recipients"),
        ("email\nann@example.org\n", MAIL, "columns that the template names: name\n  its columns are email"),
        ("email,-name,name-\na@x.org,A,B\n", MAIL, "  `-name`, `name-` can each be the column `name`. Name one of"),
        ("email,name\nann,A\nben,B\n", MAIL, "none of the rows has a valid recipient; row 2: The address has no @."),
        ("email,name\n" + "ann,A\n" * 101, MAIL, "none of the first 100 rows has a valid recipient"),
        ("email,name\nann@x.org,A\n\nben,B\n", (*MAIL, "--strict"), "row 4 cannot be used: The address has no @."),
        ("email,name\n", MAIL, "The file has no row below its header."),
        ("phone,name\n12,A\n", ("--channel", "sms", "--text", "sms.txt", "--region", "de"), "none of the rows"),
        ("phone,name\n,A\n", ("--channel", "sms", "--text", "sms.txt"), "row 2: It has no number."),
        ("phone,name\n0151,A\n", ("--channel", "sms", "--text", "sms.txt", "--region", "xx"), "no country XX"),
    ],
)
def test_a_list_that_cannot_be_used_is_refused_before_anything_is_asked(
    run: Run, api: FakeApi, folder: Path, data: str, words: tuple[str, ...], said: str
) -> None:
    (folder / "list.csv").write_text(data, encoding="utf-8")
    done = run("campaign", "run", "list.csv", *words, "--yes")
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert api.asked == []


def test_an_excel_list_of_half_of_europe_is_read_on_a_yes(run: Run, api: FakeApi, folder: Path) -> None:
    (folder / "list.csv").write_bytes("E-Mail;Name\r\nann@example.org;Zoë\r\n".encode("windows-1252"))
    uploaded(api)
    done = run("campaign", "run", "list.csv", *MAIL, terminal=True, input="y\ny\n")
    assert done.code == 0, done.err
    assert "It looks like Windows-1252" in done.err
    put = next(asked for asked in api.asked if asked.method == "PUT")
    assert put.body == "E-Mail;Name\r\nann@example.org;Zoë\r\n".encode()
    honest.check(api)


def test_another_encoding_is_not_guessed_in_a_script(run: Run, api: FakeApi, folder: Path) -> None:
    (folder / "list.csv").write_bytes("email,name\r\nann@example.org,Zoë\r\n".encode("windows-1252"))
    done = run("campaign", "run", "list.csv", *MAIL, "--yes")
    assert done.code == 2
    assert "to read it so, add --encoding windows-1252" in done.err
    assert api.asked == []
    uploaded(api)
    assert run("campaign", "run", "list.csv", *MAIL, "--yes", "--encoding", "windows-1252").code == 0


LIST = b"email,name\nann@example.org,A\nann@example.org,A\n"


def asked_for(api: FakeApi) -> list[str]:
    """What uploads were asked to do with duplicates."""
    return [asked.json["duplicates"] for asked in api.asked if asked.path.endswith("/uploads")]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ((), "drop"),
        (("--duplicates", "keep"), "keep"),
        (("--duplicates", "drop"), "drop"),
        (("--drop-duplicates",), "drop"),
    ],
)
def test_a_script_sends_one_message_each_unless_it_says_otherwise(
    run: Run, api: FakeApi, folder: Path, words: tuple[str, ...], wanted: str
) -> None:
    (folder / "list.csv").write_bytes(LIST)
    uploaded(api, accepted=1, duplicates=1)
    assert run("campaign", "run", "list.csv", *MAIL, "--yes", *words).code == 0
    assert asked_for(api) == [wanted]


def test_duplicates_are_asked_about_on_a_terminal(run: Run, api: FakeApi, folder: Path) -> None:
    (folder / "list.csv").write_bytes(LIST)
    uploaded(api, accepted=1, duplicates=1)
    done = run("campaign", "run", "list.csv", *MAIL, terminal=True, input="\ny\n")
    assert done.code == 0, done.err
    assert "1 row has the recipient of an earlier row. Send these people one message each? [Y/n]" in done.err
    assert asked_for(api) == ["drop"]


def test_who_wants_duplicates_sent_gets_the_list_read_again(run: Run, api: FakeApi, folder: Path) -> None:
    (folder / "list.csv").write_bytes(LIST)
    uploaded(api, again=True, duplicates=1)
    done = run("campaign", "run", "list.csv", *MAIL, terminal=True, input="n\ny\n")
    assert done.code == 0, done.err
    assert asked_for(api) == ["drop", "keep"]
    assert done.err.count("one message each?") == 1


BEFORE = {"campaign_id": "b" * 26, "upload_id": "v" * 26, "uploaded_at": "2026-05-12T09:00:00.000Z"}


def again(api: FakeApi) -> None:
    """Script the upload of a list that was sent before."""
    uploaded(api)
    api.script[1] = place(api, BEFORE)


def test_a_list_that_was_sent_before_is_asked_about(run: Run, api: FakeApi, folder: Path) -> None:
    (folder / "list.csv").write_bytes(LIST)
    again(api)
    done = run("campaign", "run", "list.csv", *MAIL, terminal=True, input="y\ny\n")
    assert done.code == 0, done.err
    assert f"this list was sent before: campaign {'b' * 26}, uploaded on 2026-05-12. Send it again? [y/N]" in done.err
    assert api.asked[1].json["sha256"] == hashlib.sha256(LIST).hexdigest()
    honest.check(api)


def test_a_no_uploads_nothing_and_leaves_nothing(run: Run, api: FakeApi, folder: Path) -> None:
    (folder / "list.csv").write_bytes(LIST)
    again(api)
    api.script[2:] = [Answer({"campaign_id": CAMPAIGN, "deleted": True})]
    done = run("campaign", "run", "list.csv", *MAIL, terminal=True, input="n\n")
    assert done.code == 1
    assert "the list is not sent again" in done.err
    assert [asked.method for asked in api.asked] == ["POST", "POST", "DELETE"]


def test_a_script_is_only_warned(run: Run, api: FakeApi, folder: Path) -> None:
    (folder / "list.csv").write_bytes(LIST)
    again(api)
    done = run("campaign", "run", "list.csv", *MAIL, "--yes")
    assert done.code == 0
    assert "this list was sent before" in done.err


def test_a_list_that_is_read_twice_is_asked_about_once(run: Run, api: FakeApi, folder: Path) -> None:
    (folder / "list.csv").write_bytes(LIST)
    uploaded(api, again=True, duplicates=1)
    api.script[1] = api.script[5] = place(api, BEFORE)
    done = run("campaign", "run", "list.csv", *MAIL, terminal=True, input="y\nn\ny\n")
    assert done.code == 0, done.err
    assert done.err.count("Send it again?") == 1
    assert asked_for(api) == ["drop", "keep"]


def test_a_list_that_is_ready_goes_before_its_campaign_if_the_second_one_fails(
    run: Run, api: FakeApi, folder: Path
) -> None:
    (folder / "list.csv").write_bytes(LIST)
    uploaded(api, again=True, duplicates=1)
    gone = Answer({"campaign_id": CAMPAIGN, "deleted": True})
    api.script[5:] = [problem(409, "too_many_lists", "No more lists."), listed("failed", code="withdrawn"), gone]
    done = run("campaign", "run", "list.csv", *MAIL, terminal=True, input="n\n")
    assert done.code == 1
    assert "nothing was sent, and the campaign is deleted again" in done.err
    assert [asked.path for asked in api.asked if asked.method == "DELETE"] == [
        f"/campaigns/{CAMPAIGN}/uploads/{UPLOAD}",
        f"/campaigns/{CAMPAIGN}",
    ]
    api.asked.clear()
    uploaded(api, again=True, duplicates=1)
    api.script[5:] = [problem(409, "too_many_lists", "No more lists."), problem(503, "try_again", "Later")] * 9
    done = run("campaign", "run", "list.csv", *MAIL, terminal=True, input="n\n")
    assert "nothing was sent; the campaign is kept" in done.err
    assert f"to delete it:  posthaste campaign delete {CAMPAIGN}" in done.err
    assert "empty" not in done.err


def test_damaged_rows_are_left_out_if_a_list_is_said_to_be_utf8(run: Run, api: FakeApi, folder: Path) -> None:
    damaged = "email,name\nann@example.org,Zoë\n".encode() + b"ben@example.org,\xff\nzoe@example.org,Zo\xc3\xab\n"
    (folder / "list.csv").write_bytes(damaged)
    refused = run("campaign", "run", "list.csv", *MAIL, "--yes")
    assert refused.code == 2
    assert "list.csv is UTF-8 with 1 damaged byte in line 3" in refused.err
    uploaded(api)
    assert run("campaign", "run", "list.csv", *MAIL, "--yes", "--encoding", "UTF-8").code == 0
    assert api.asked[1].json["encoding"] == "utf-8"
    assert api.asked[2].body == damaged
