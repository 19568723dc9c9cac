"""Lists in other encodings: made UTF-8 once, if their owner has named the encoding, and then read like any other."""

from typing import Any, get_args

import pytest

from functions.api.campaigns.requests import Encoding
from shared.domain.campaigns.campaign import UploadState
from shared.domain.jobs import chunks
from shared.domain.lists.encodings import ENCODINGS, TRANSCODED
from shared.engine.lists import converting
from shared.engine.work import WorkResult
from tests.engine.reading import DATA, Result, cut_short, result, small
from tests.fakes.faults import When
from tests.fakes.intake import Intake

TEXT = DATA.decode().replace("Name", "Zoë")
OTHERS = TRANSCODED


def wanted() -> Result:
    """Return what is stored of the same rows in UTF-8."""
    intake = small()
    upload = intake.take(TEXT.encode())
    assert intake.serve() == [WorkResult.READY]
    return result(intake, upload)


@pytest.mark.parametrize("encoding", OTHERS)
def test_a_list_in_its_named_encoding_is_the_same_with_the_same_row_numbers(encoding: str) -> None:
    text = TEXT if encoding in ("windows-1252", "utf-16") else DATA.decode()
    intake, plain = small(), small()
    upload = intake.take(text.encode(encoding), encoding=encoding)
    same = plain.take(text.encode())
    assert intake.serve() == plain.serve() == [WorkResult.READY]
    assert result(intake, upload) == result(plain, same)
    end = intake.now(upload)
    assert intake.files.items[end.csv] == text.encode()
    assert (end.progress, end.size) == (1.0, len(text.encode(encoding)))
    problems, _ = intake.uploads.problems(end, after=0, limit=1)
    assert (problems[0].row, problems[0].sheet_row) == (4, 5)


@pytest.mark.slow
@pytest.mark.parametrize("when", list(When))
def test_killed_at_any_call_it_makes_the_same(when: When) -> None:
    expected = wanted()
    data = TEXT.encode("windows-1252")
    intake = small()
    upload = intake.take(data, encoding="windows-1252")
    before = len(intake.tap.calls)
    intake.work(upload)
    for nth in range(0, len(intake.tap.calls) - before, 3):
        intake = small()
        upload = intake.take(data, encoding="windows-1252")
        cut_short(intake, upload, nth, when)
        assert result(intake, upload) == expected, nth


def test_it_is_made_utf8_once_however_often_reading_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(converting, "PART", 100)
    intake = small()
    upload = intake.take(TEXT.encode("utf-16"), encoding="utf-16")
    while intake.now(upload).state is not UploadState.READY:
        intake.work(upload, seconds=0.001)
        intake.clock.advance(1000)
    assert result(intake, upload) == wanted()
    assert intake.tap.calls.count("multipart.begin") == 1
    assert intake.tap.calls.count("multipart.put") > 5


@pytest.mark.parametrize(
    ("data", "options", "detail"),
    [
        (b"recipient\nann@example.com\n\x81\n", {"encoding": "windows-1252"}, "The file is not windows-1252"),
        (b"recipient\nann@example.com\n\n", {"encoding": "utf-16"}, "The file is not utf-16"),
        (TEXT.encode("windows-1252"), {}, "has another encoding"),
    ],
)
def test_a_list_in_another_encoding_sends_none_of_its_rows(data: bytes, options: dict[str, Any], detail: str) -> None:
    intake = Intake()
    upload = intake.take(data, **options)
    assert intake.serve() == [WorkResult.FAILED]
    end = intake.now(upload)
    assert (end.state, end.code) == (UploadState.FAILED, "invalid_encoding")
    assert detail in end.detail


def test_what_takes_too_long_is_refused() -> None:
    intake = small()
    slow = intake.take(TEXT.encode("utf-16"), encoding="utf-16")
    assert intake.work(slow, seconds=-1) is WorkResult.FAILED
    assert "takes too long" in intake.now(slow).detail


def test_in_a_list_that_is_said_to_be_utf8_a_damaged_row_is_reported_and_blocks_no_others() -> None:
    intake = small()
    upload = intake.take(DATA + b"zoe@example.com,Zo\xeb\n", encoding="utf-8")
    assert intake.serve() == [WorkResult.READY]
    problems, _ = intake.uploads.problems(intake.now(upload), after=0, limit=100)
    assert problems[-1].code == "invalid_utf8"
    assert "multipart.begin" not in intake.tap.calls


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("windows-1250", "Łukasz Żółć"),
        ("windows-1251", "Иван"),
        ("windows-1253", "Γιώργος"),
        ("windows-1254", "I\u015f\u0131k"),
        ("windows-1257", "Kęstutis"),
        ("iso-8859-2", "Łukasz"),
        ("iso-8859-15", "Œuvre €"),
        ("macintosh", "José"),
    ],
)
def test_letters_of_each_code_page_are_read_as_they_were_written(encoding: str, name: str) -> None:
    intake = Intake()
    upload = intake.take(f"recipient,name\na@example.org,{name}\n".encode(encoding), encoding=encoding)
    assert intake.serve() == [WorkResult.READY]
    ((person,),) = (chunks.unpack(x.data) for x in intake.chunks(upload))
    assert person.values == {"name": name}


def test_the_api_has_every_encoding_that_is_read() -> None:
    assert get_args(Encoding) == ENCODINGS
