"""What a list's file may hold: useless files, bad rows, columns of any name, rows beyond number."""

from collections.abc import Iterator

import pytest

from shared.domain.campaigns.campaign import Message, UploadState
from shared.domain.jobs import chunks
from shared.domain.lists.uploads import PackedChunk
from shared.engine.work import WorkResult
from tests.engine.reading import DATA, small
from tests.fakes.intake import Intake


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"recipient\nnobody\n\nnothing\n", "no_valid_rows"),
        (b"recipient\n", "no_rows"),
        (b"\xef\xbb\xbf", "no_header"),
        (b"name\nann\n", "missing_recipient"),
        (b"recipient,a,a\nann@example.com,1,2\n", "duplicate_column"),
        (b"Recipient, Name,NAME \nann@example.com,1,2\n", "duplicate_column"),
        (b",recipient\n1,ann@example.com\n", "empty_column"),
        (b"phone;name\r\n+33612345678;Ann\r\n", "missing_recipient"),
        (b"email,to\r\nann@example.com,b@example.com\r\n", "ambiguous_recipient"),
        (b"recipient," + b",".join(b"c%d" % i for i in range(512)) + b"\nann@example.com\n", "too_many_columns"),
        (b"recipient," + b"x" * 40_000 + b"\nann@example.com,1\n", "invalid_header"),
        (b"recipient," + b"x" * 600_000, "invalid_header"),
        (b'recipient,"name\nann@example.com,Ann\n', "invalid_header"),
        (b"recipient,na\0me\nann@example.com,Ann\n", "invalid_header"),
        (b"recipient,n\xe9\nann@example.com,Ann\n", "invalid_encoding"),
        (b"recipient,name\n" + b"ann@example.com,Ann\n" * 300 + b"ben@example.com,Zo\xeb\n", "invalid_encoding"),
        ("recipient,name\nann@example.com,Ann\n".encode("utf-16"), "invalid_header"),
        (b"recipient,name\rann@example.com,Ann\r", "invalid_header"),
        (b"PK\x03\x04\x14\0\x06\0" + bytes(range(256)) * 40, "invalid_header"),
    ],
)
def test_a_useless_file_says_why_and_leaves_the_list_that_was_ready(data: bytes, code: str) -> None:
    intake = Intake()
    intake.files.block = 1 << 16
    before = intake.take(DATA)
    intake.serve()
    campaign = intake.uploads.campaigns[before.campaign]
    upload = intake.take(data, campaign=campaign)
    assert intake.serve() == [WorkResult.FAILED]
    end = intake.now(upload)
    assert (end.state, end.code) == (UploadState.FAILED, code)
    assert end.detail
    after = intake.uploads.campaigns[campaign.id]
    assert (after.uploading, after.ready, after.columns) == ("", before.id, campaign.columns)


def test_a_campaign_without_credential_or_country_is_refused() -> None:
    intake = small()
    for changes, options, code in (
        ({"credential": "former"}, {}, "unknown_credential"),
        ({"channel": "sms"}, {"region": "XX"}, "invalid_region"),
    ):
        upload = intake.take(DATA, campaign=intake.campaign(**changes), **options)
        assert intake.serve() == [WorkResult.FAILED]
        assert intake.now(upload).code == code


def bad_rows() -> Iterator[tuple[bytes, str]]:
    yield b"nobody,x", "invalid_address"
    yield b",x", "invalid_address"
    yield b"a@example.com," + b"x" * 100_000, "row_too_large"
    yield b"a@example.com," + b"x" * 600_000, "row_too_large"
    yield b"a@example.com," + b"y," * 600, "row_too_large"
    yield b"a@example.com,b,c", "wrong_field_count"
    yield b"a@example.com,\0", "nul_byte"
    yield b"a@example.com,\xff\xfe", "invalid_utf8"
    yield b'a@example.com,"x', "unclosed_quote"
    yield b"a@example.com,x\ry", "stray_carriage_return"


@pytest.mark.promise(6)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_bad_rows_are_listed_one_by_one_and_block_no_others(end: bytes) -> None:
    intake = Intake()
    kinds = list(bad_rows())
    good = b"".join(b"r%d@example.com,x" % i + end for i in range(300))
    parts = [bad + end + end + good.replace(b"r", b"r%d" % i) + b" \t" + end for i, (bad, _) in enumerate(kinds)]
    file = b"\xef\xbb\xbf" + end + b" Recipient ,Name" + end + b"".join(parts).removesuffix(end)
    upload = intake.take(file, encoding="utf-8")
    assert intake.serve() == [WorkResult.READY]
    end_of_it = intake.now(upload)
    assert end_of_it.columns == ("recipient", "name")
    assert end_of_it.checkpoint is not None
    counts = end_of_it.checkpoint.counts
    assert (counts.accepted, counts.invalid, counts.duplicates) == (300 * len(kinds), len(kinds), 0)
    problems, _ = intake.uploads.problems(end_of_it, after=0, limit=100)
    assert [(p.row, p.code) for p in problems] == [(1 + 301 * i, code) for i, (_, code) in enumerate(kinds)]
    assert all(p.detail.endswith(".") and "example" not in p.detail for p in problems)
    people = [r for x in intake.chunks(upload) for r in chunks.unpack(x.data)]
    assert all(r.values == {"name": "x"} for r in people)


def test_columns_that_no_placeholder_can_name_are_kept_beside_those_that_one_can() -> None:
    intake = small()
    text = "имя,RECIPIENT,€,{{é}},unsubscribe_url\nAnn,a@example.com,M,1,https://example.com\n"
    upload = intake.take(text.encode())
    assert intake.serve() == [WorkResult.READY]
    (chunk,) = intake.chunks(upload)
    (person,) = chunks.unpack(chunk.data)
    assert person.address == "a@example.com"
    assert list(person.values) == ["имя", "€", "e", "unsubscribe_url"]
    campaign = intake.uploads.campaigns[upload.campaign]
    assert campaign.changed(0, message=Message("{{ name }}", "{{ recipient }}")).missing == ("name",)


def test_a_list_of_too_many_is_refused_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shared.domain.lists.ingest.MAX_LISTED", 40)
    intake = small()
    before = intake.take(b"recipient,name\na@example.com,Ann\n")
    assert intake.serve() == [WorkResult.READY]
    upload = intake.take(DATA, campaign=intake.uploads.campaigns[before.campaign])
    assert intake.serve() == [WorkResult.FAILED]
    assert (intake.now(upload).state, intake.now(upload).code) == (UploadState.FAILED, "too_many_rows")
    assert intake.uploads.campaigns[upload.campaign].ready == before.id


def test_a_malformed_number_holds_no_list_up() -> None:
    intake = Intake()
    upload = intake.take(
        b"recipient\n+33612345678\n06 12\n0612345679\n", campaign=intake.campaign(channel="sms"), region="FR"
    )
    assert intake.serve() == [WorkResult.READY]
    (chunk,) = intake.chunks(upload)
    assert isinstance(chunk, PackedChunk)
    assert [r.address for r in chunks.unpack(chunk.data)] == ["+33612345678", "+33612345679"]
    problems, _ = intake.uploads.problems(intake.now(upload), after=0, limit=9)
    assert [(p.row, p.code) for p in problems] == [(2, "invalid_number")]


def test_a_list_that_is_not_utf8_names_its_first_such_row() -> None:
    intake = small()
    good = b"ann@example.com,Ann\n" * 50
    upload = intake.take(b"recipient,name\n\n" + good + b"zoe@example.com,Zo\xeb\n" + good + b"x@example.com,\xff\n")
    assert intake.serve() == [WorkResult.FAILED]
    end = intake.now(upload)
    assert end.code == "invalid_encoding"
    assert end.detail == (
        "Row 53 is not valid UTF-8; the file has another encoding. "
        "Save it as CSV in UTF-8, or upload it again and name its encoding."
    )
    assert not intake.uploads.campaigns[upload.campaign].ready
