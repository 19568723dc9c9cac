"""Uploads to and downloads from presigned addresses, against a real server."""

import os
from pathlib import Path

import pytest

from cli.errors import Failed, Misused, Unreachable
from cli.progress import transfer
from cli.progress.meters import meter, size_of
from tests.cli.fakes import Answer, FakeApi, FakeClock

DATA = os.urandom(transfer.BLOCK * 2 + 17)


@pytest.fixture
def file(folder: Path) -> Path:
    made = folder / "list.csv"
    made.write_bytes(DATA)
    return made


def place(api: FakeApi, **more: object) -> dict[str, object]:
    headers = {"Content-Type": "text/csv", "x-amz-meta-a": "b"}
    return {"url": f"{api.url}/bucket/list?X-Amz-Signature=s", "method": "PUT", "headers": headers, **more}


def nothing(_done: int, _total: int) -> None:
    pass


def test_a_file_is_streamed_with_the_signed_headers_and_without_the_key(
    api: FakeApi, file: Path, clock: FakeClock
) -> None:
    api.answers(Answer(raw=b"", headers={"ETag": '"abc"'}))
    seen: list[tuple[int, int]] = []
    assert transfer.upload(file, place(api), clock, lambda done, total: seen.append((done, total))) == "abc"
    (asked,) = api.asked
    assert (asked.method, asked.path, asked.body) == ("PUT", "/bucket/list?X-Amz-Signature=s", DATA)
    assert asked.headers["Content-Length"] == str(len(DATA))
    assert (asked.headers["Content-Type"], asked.headers["x-amz-meta-a"]) == ("text/csv", "b")
    assert "Authorization" not in asked.headers
    assert "Transfer-Encoding" not in asked.headers
    assert seen == [(n, len(DATA)) for n in (transfer.BLOCK, 2 * transfer.BLOCK, len(DATA))]


def test_a_lost_connection_or_a_failing_store_is_tried_again_from_the_start(
    api: FakeApi, file: Path, clock: FakeClock
) -> None:
    api.answers(Answer(drop=True), Answer(status=503, raw=b""), Answer(raw=b"", headers={"ETag": '"e"'}))
    assert transfer.upload(file, place(api), clock, nothing) == "e"
    assert [asked.body for asked in api.asked] == [DATA] * 3
    assert clock.slept == [0.5, 1.0]
    api.answers(Answer(drop=True))
    with pytest.raises(Unreachable):
        transfer.upload(file, place(api), clock, nothing)
    assert len(api.asked) == 3 + 6


def test_a_file_whose_answer_was_lost_is_stored_once(api: FakeApi, file: Path, clock: FakeClock) -> None:
    api.answers(Answer(drop=True), Answer(status=409, raw=b""), Answer(status=412, raw=b""))
    assert transfer.upload(file, place(api), clock, nothing) == ""
    assert len(api.asked) == 3


def test_a_place_that_has_a_file_already_refuses_another(api: FakeApi, file: Path, clock: FakeClock) -> None:
    api.answers(Answer(status=412, raw=b""))
    with pytest.raises(Failed, match="412"):
        transfer.upload(file, place(api), clock, nothing)


def test_a_refusal_is_not_repeated(api: FakeApi, file: Path, clock: FakeClock) -> None:
    api.answers(Answer(status=403, raw=b"<Error><Code>AccessDenied</Code></Error>"))
    with pytest.raises(Failed, match="may have run out"):
        transfer.upload(file, place(api), clock, nothing)
    assert len(api.asked) == 1
    assert clock.slept == []


@pytest.mark.parametrize("url", ["http://files.example.com/x", "ftp://127.0.0.1/x", "", None, "file:///etc/passwd"])
def test_a_file_goes_to_no_strange_place(api: FakeApi, file: Path, clock: FakeClock, url: object) -> None:
    with pytest.raises(Failed):
        transfer.upload(file, place(api, url=url), clock, nothing)
    with pytest.raises(Failed):
        transfer.download(url, file, clock, nothing)
    assert api.asked == []
    assert file.read_bytes() == DATA


def test_a_file_that_grows_meanwhile_is_not_a_list(api: FakeApi, file: Path, clock: FakeClock) -> None:
    def grow(_done: int, _total: int) -> None:
        with file.open("ab") as sink:
            sink.write(b"more")

    api.answers(Answer(raw=b""))
    with pytest.raises(Failed, match="changed"):
        transfer.upload(file, place(api), clock, grow)


def test_what_cannot_be_uploaded_is_said_before(folder: Path, file: Path) -> None:
    (folder / "empty.csv").touch()
    os.mkfifo(folder / "pipe")
    for name in ("gone.csv", "empty.csv", "pipe", "."):
        with pytest.raises(Misused):
            transfer.measured(folder / name)
    assert transfer.measured(file) == len(DATA)
    assert transfer.measured(file, len(DATA)) == len(DATA)
    with pytest.raises(Misused, match="at most"):
        transfer.measured(file, len(DATA) - 1)


def test_a_download_appears_only_when_it_is_complete(api: FakeApi, folder: Path, clock: FakeClock) -> None:
    target = folder / "export.csv"
    target.write_text("the last one")
    cut = Answer(raw=DATA[:100], headers={"Content-Length": str(len(DATA))})
    api.answers(cut)
    with pytest.raises(Unreachable):
        transfer.download(f"{api.url}/export", target, clock, nothing)
    assert target.read_text() == "the last one"
    assert [entry.name for entry in folder.iterdir()] == ["export.csv"]
    api.answers(cut, Answer(raw=DATA))
    seen: list[tuple[int, int]] = []
    transfer.download(f"{api.url}/export", target, clock, lambda done, total: seen.append((done, total)))
    assert target.read_bytes() == DATA
    assert seen[-1] == (len(DATA), len(DATA))
    assert "Authorization" not in api.asked[-1].headers


def test_a_place_that_cannot_be_written_is_a_wrong_place(api: FakeApi, folder: Path, clock: FakeClock) -> None:
    api.answers(Answer(raw=DATA))
    with pytest.raises(Misused, match="cannot write"):
        transfer.download(f"{api.url}/export", folder / "gone" / "export.csv", clock, nothing)


def test_progress_is_a_line_for_every_tenth(capsys: pytest.CaptureFixture[str]) -> None:
    with meter("reading", terminal=False) as shown:
        for n in range(101):
            shown(n / 100, f"{n} rows")
        shown(1.0, "again")
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"reading: {n}%  {n} rows" for n in range(0, 101, 10)]
    with meter("reading", terminal=False, quiet=True) as shown:
        shown(0.5, "half")
    assert capsys.readouterr().out == ""
    with meter("\x1b[2J[bold]list", terminal=True) as shown:
        shown(0.5, "half\x1b[2J")
        shown(1.0, "all of it")
    out = capsys.readouterr().out
    assert "[bold]list" in out
    assert "100%" in out
    assert "all of it" in out
    assert "\x1b[2J" not in out


def test_sizes_for_people() -> None:
    sizes = [size_of(n) for n in (0, 999, 1000, 12_345_678, 4_900_000_000)]
    assert sizes == ["0 B", "999 B", "1.0 kB", "12.3 MB", "4.9 GB"]
