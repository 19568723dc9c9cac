"""An uploaded list made into chunks: the same whatever the blocks and interruptions, and what is reported of it."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.upload import blocks
from shared.domain.jobs import chunks
from shared.domain.jobs.chunks import MAX_RAW_BYTES, Recipient
from shared.domain.lists import csv_rows
from shared.domain.lists import ingest as reading
from shared.domain.lists.ingest import Ingest
from shared.domain.lists.row_numbers import number_at
from shared.domain.lists.uploads import BadRow, Checkpoint, ListCounts, Options, PackedChunk
from shared.domain.recipients.addresses import Address, parse
from shared.domain.recipients.hashes import WIDTH, Seen, marks_of
from shared.domain.recipients.reader import EmailReader, RecipientFault, number_reader
from tests.tiers import examples

EMAIL = Options("email")


def run(
    data: bytes, options: Options = EMAIL, size: int = 1 << 16
) -> tuple[list[PackedChunk], list[BadRow], Ingest, ListCounts]:
    ingest = Ingest(options)
    steps = [ingest.feed(data[i : i + size]) for i in range(0, len(data), size)]
    steps.append(ingest.finish())
    made = [c for s in steps for c in s.chunks]
    return made, [p for s in steps for p in s.problems], ingest, steps[-1].checkpoint.counts


def interrupted(
    data: bytes, options: Options, size: int, stops: Iterator[bool]
) -> tuple[list[PackedChunk], list[BadRow], ListCounts]:
    """Ingest with a crash before the checkpoint of each step that `stops` says; chunks and marks are stored by then."""
    stored: dict[int, PackedChunk] = {}
    problems: list[BadRow] = []
    marks = b""
    saved: Checkpoint | None = None
    while True:
        ingest = Ingest(options, saved, [marks[i : i + 24] for i in range(0, len(marks), 24)])
        marks = marks[: saved.marks * WIDTH] if saved else b""
        at = saved.position.offset if saved else 0
        for i in [*range(at, len(data), size), -1]:
            step = ingest.finish() if i < 0 else ingest.feed(data[i : i + size])
            for chunk in step.chunks:
                assert stored.setdefault(chunk.number, chunk) == chunk
            marks += step.marks
            if next(stops):
                break
            problems += step.problems
            saved = Checkpoint.of(json.loads(json.dumps(step.checkpoint.document())))
            assert saved == step.checkpoint
        else:
            assert saved is not None
            return [stored[n] for n in range(len(stored))], problems, saved.counts


def test_a_list_becomes_chunks_with_its_values_and_what_is_wrong_is_reported() -> None:
    data = (
        b'Name,Recipient\n"Lee, Ann",Ann <Ann@EXAMPLE.com>\nBob,bob@example.com\nx,nobody\nC,c,c\n'
        b"Again,ann@example.com\n"
    )
    (chunk,), problems, ingest, counts = run(data)
    assert ingest.fault is None
    assert chunks.unpack(chunk.data) == (
        Recipient("Ann@example.com", "ann@example.com", "Ann", "", {"name": "Lee, Ann"}),
        Recipient("bob@example.com", "bob@example.com", "", "", {"name": "Bob"}),
        Recipient("ann@example.com", "ann@example.com", "", "", {"name": "Again"}),
    )
    assert [(p.row, p.code) for p in problems] == [(3, "invalid_address"), (4, "wrong_field_count"), (5, "duplicate")]
    assert counts == ListCounts(rows=5, accepted=3, invalid=2, duplicates=1)
    assert [p.value for p in problems] == ["nobody", "", "ann@example.com"]
    dropped = run(data, Options("email", drop_duplicates=True))
    assert dropped[3] == ListCounts(rows=5, accepted=2, invalid=2, duplicates=1)
    assert dropped[1] == problems


def numbers_of(chunk: PackedChunk) -> list[int]:
    return [number_at(chunk.rows, i) for i in range(chunk.size)]


def test_a_chunk_has_the_numbers_that_its_rows_have_in_their_file() -> None:
    data = b"sep=,\n\nrecipient,name\na@x.io,A\nnobody,N\n\nb@x.io,B\na@x.io,Again\nc@x.io,C\nd@x.io,D\n"
    made, problems, _, _ = run(data, Options("email", drop_duplicates=True, size=2))
    assert [numbers_of(c) for c in made] == [[4, 7], [9, 10]]
    assert [p.sheet_row for p in problems] == [5, 8]
    kept, _, _, _ = run(data, Options("email", size=3))
    assert [numbers_of(c) for c in kept] == [[4, 7, 8], [9, 10]]


def test_chunks_by_zones_have_the_numbers_of_their_rows() -> None:
    zones = ["Europe/Paris", "Asia/Tokyo", "Europe/Paris", "Asia/Tokyo", "Europe/Paris"]
    rows = "".join(f"p{n}@x.io,{zone}\n" for n, zone in enumerate(zones))
    made, _, _, _ = run(f"recipient,time_zone\n{rows}".encode(), Options("email", zones=True))
    assert {c.zone: numbers_of(c) for c in made} == {"Europe/Paris": [2, 4, 6], "Asia/Tokyo": [3, 5]}


def test_a_packed_chunk_names_whom_to_skip() -> None:
    data = b"recipient,a\n" + b"".join(b"r%d@example.com,%d\n" % (i, i) for i in range(3))
    (plain,), *_ = run(data)
    assert [r.values for r in chunks.unpack(plain.data)] == [{"a": str(i)} for i in range(3)]

    class Skips:
        asked: ClassVar[list[Sequence[str]]] = []

        def suspects(self, keys: Sequence[str]) -> Collection[int]:
            assert keys == [f"r{i}@example.com" for i in range(3)]
            return [1, 2]

        def codes(self, keys: Sequence[str]) -> Mapping[int, str]:
            self.asked.append(keys)
            return {0: "unsubscribed"}

    ingest = Ingest(EMAIL, skips=Skips())
    ingest.feed(data)
    (chunk,) = ingest.finish().chunks
    assert Skips.asked == [["r1@example.com", "r2@example.com"]]
    assert chunk.skipped == (1,)
    assert [r.skip for r in chunks.unpack(chunk.data)] == ["", "unsubscribed", ""]


def test_phone_numbers_become_e164() -> None:
    data = b"recipient\n06 12 34 56 78\n+1 (650) 253-0000\n+33612345678\n12\nann\n+1 650 253 0000 ext. 5\n"
    (chunk,), problems, _, counts = run(data, Options("sms", "FR"))
    assert [r.address for r in chunks.unpack(chunk.data)] == ["+33612345678", "+16502530000", "+33612345678"]
    assert [(p.row, p.code) for p in problems] == [(3, "duplicate"), *((n, "invalid_number") for n in (4, 5, 6))]
    assert counts.accepted == 3
    nowhere = number_reader()
    assert nowhere("+16502530000") == ("+16502530000", "+16502530000", "")
    assert isinstance(nowhere("6502530000"), RecipientFault)
    with pytest.raises(ValueError, match="no region"):
        number_reader("XX")


@settings(max_examples=examples(300))
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ann", "Ann", "a.b", "a..b", " a", "<a", "é", "", "x" * 64, "x" * 65, "a@b", '"a"']),
            st.sampled_from(["@", "@", "@", "", ">@"]),
            st.sampled_from(
                ["x.com", "X.com", "x.local", "é.com", "x", "x.com>", "x.com ", ("y" * 60 + ".") * 3 + "com"]
            ),
        ).map("".join),
        max_size=20,
    )
)
def test_remembered_domains_give_what_parse_gives(texts: list[str]) -> None:
    read = EmailReader()
    for text in texts * 2:
        expected = parse(text)
        found = read.read(text)
        if isinstance(expected, Address):
            assert found == (expected.address, expected.key, expected.display)
        else:
            assert found == RecipientFault(expected.code, expected.reason)


def test_problems_are_bounded_and_all_counted() -> None:
    data = b"recipient\n" + b"x\n" * 1500 + b"a@x.com\n" * 1500
    _, problems, _, counts = run(data, size=700)
    assert [p.row for p in problems] == [*range(1, 1001), *range(1502, 2502)]
    assert (counts.invalid, counts.duplicates) == (1500, 1499)


@pytest.mark.slow
def test_a_chunk_stays_under_its_weight_and_its_size() -> None:
    rows = [b"r%d@example.com,%s\n" % (i, b"x" * (200 * (i % 40))) for i in range(900)]
    made, _, _, counts = run(b"recipient,text\n" + b"".join(rows))
    sizes = [len(row) + 6 for row in rows]  # JSON has quotes, brackets and a comma more, a line end and a comma less
    parts = [chunks.unpack(c.data) for c in made]
    assert sum(len(p) for p in parts) == counts.accepted == 900
    ends = list(accumulate(map(len, parts)))
    for start, end in pairwise([0, *ends]):
        assert sum(sizes[start:end]) <= MAX_RAW_BYTES < sum(sizes[start : end + 1]) or end in {900, start + 500}
    small = run(b"recipient,text\n" + b"".join(rows), Options("email", size=7))[0]
    assert max(c.size for c in small) == 7


LINES = st.lists(
    st.sampled_from(
        [
            b"a@x.com,1",
            b"b@x.com,2",
            b"C@X.com," + b"y" * 60,
            b"nobody,1",
            b"a,b,c",
            b"",
            b'd@x.com,"1\n2"',
            b"\0",
            b"z" * 300,
        ]
    ),
    max_size=60,
)


@pytest.mark.slow
def test_an_interrupted_ingest_makes_the_same_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, value in (
        (reading, "MAX_SPAN", 150),
        (reading, "MAX_PENDING", 40),
        (reading, "MAX_KEPT", 4),
        (reading, "MAX_RAW_BYTES", 200),
        (csv_rows, "MAX_LOOK", 128),
    ):
        monkeypatch.setattr(module, name, value)

    @settings(max_examples=examples(150))
    @given(LINES, st.integers(1, 90), st.lists(st.booleans(), max_size=40), st.booleans(), st.integers(1, 5))
    def check(lines: list[bytes], size: int, stops: list[bool], drop: bool, people: int) -> None:  # noqa: FBT001
        data = b"recipient,n\n" + b"\n".join(lines)
        options = Options("email", drop_duplicates=drop, size=people)
        made, problems, _, counts = run(data, options)
        again = interrupted(data, options, size, iter([*stops, *[False] * 10_000]))
        assert again == (made, problems, counts)
        left = counts.duplicates if drop else 0
        assert counts.accepted == sum(c.size for c in made) == counts.rows - counts.invalid - left

    check()


ZONED = st.lists(
    st.tuples(st.integers(0, 30), st.sampled_from(["UTC", "Asia/Tokyo", "", " Europe/Paris ", "Mars", "x" * 60])),
    max_size=60,
)


def test_an_interrupted_ingest_by_zones_makes_the_same_chunks_of_one_zone_each(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("MAX_SPAN", 400), ("GATHERED", 3), ("MAX_RAW_BYTES", 200)):
        monkeypatch.setattr(reading, name, value)

    @settings(max_examples=examples(100))
    @given(ZONED, st.integers(1, 90), st.lists(st.booleans(), max_size=40), st.booleans(), st.integers(1, 5))
    def check(rows: list[tuple[int, str]], size: int, stops: list[bool], drop: bool, people: int) -> None:  # noqa: FBT001
        data = b"recipient,time_zone\n" + b"".join(f"r{n}@x.com,{zone}\n".encode() for n, zone in rows)
        options = Options("email", drop_duplicates=drop, size=people, zones=True)
        made, problems, ingest, counts = run(data, options)
        again = interrupted(data, options, size, iter([*stops, *[False] * 10_000]))
        assert again == (made, problems, counts)
        assert ingest.finish().checkpoint.zones == tuple(sorted({x.zone for x in made}))
        sent = [(r.key, x.zone) for x in made for r in chunks.unpack(x.data)]
        valid = [
            (f"r{n}@x.com", zone.strip())
            for n, zone in rows
            if zone.strip() in ("UTC", "Asia/Tokyo", "", "Europe/Paris")
        ]
        first = dict(reversed(valid))
        assert sorted(sent) == sorted(first.items() if drop else valid)
        assert all(x.size <= people for x in made)

    check()


def test_numbers_of_one_country_are_together_and_those_of_a_column_go_first() -> None:
    data = b"phone,Time Zone\n+33612345678,\n+819012345678,\n+33612345679,Asia/Tokyo\n+33612345670,\n"
    made, _, ingest, _ = run(data, Options("sms", zones=True))
    assert [(x.zone, x.size) for x in made] == [("Europe/Paris", 2), ("Asia/Tokyo", 2)]
    assert ingest.finish().checkpoint.zones == ("Asia/Tokyo", "Europe/Paris")
    assert [x.zone for x in run(data, Options("sms"))[0]] == [""]


@pytest.mark.slow
def test_a_long_list_interrupted_often_makes_the_same_chunks() -> None:
    data = b"".join(blocks(20_000, "email"))
    options = Options("email", drop_duplicates=True)
    made, problems, _, counts = run(data, options)
    assert (counts.rows, counts.invalid, counts.duplicates) == (20_000, 20, 40)
    stops = iter([i % 12 == 11 for i in range(10_000)])
    again = interrupted(data, options, 1 << 16, stops)
    assert [c.digest for c in again[0]] == [c.digest for c in made]
    assert again[1:] == (problems, counts)


@pytest.mark.slow
def test_a_file_of_invalid_rows_moves_the_checkpoint_on() -> None:
    ingest = Ingest(EMAIL)
    first = ingest.feed(b"recipient\na@x.com\n")
    assert first.checkpoint.position.row == 0
    last = first
    for _ in range(9):
        last = ingest.feed(b"x" * 99 + b"\n" + (b"x" * 999 + b"\n") * 1000)
    assert last.checkpoint.position.offset > reading.MAX_SPAN
    assert last.checkpoint.chunk == 1
    endless = Ingest(EMAIL)
    endless.feed(b"recipient\na@x.com\n")
    for _ in range(9):
        last = endless.feed(b"x" * 100_000)
    assert (last.checkpoint.chunk, last.checkpoint.position.offset) == (1, 900_018)


def test_what_cannot_be_gone_on_with_is_refused() -> None:
    ingest = Ingest(Options("email", size=1))
    step = ingest.feed(b"recipient\na@x.com\n")
    with pytest.raises(ValueError, match="other options"):
        Ingest(EMAIL, step.checkpoint, [step.marks])
    with pytest.raises(ValueError, match="marks"):
        Ingest(Options("email", size=1), step.checkpoint)
    for size in (0, 501):
        with pytest.raises(ValueError, match="1 to 500"):
            Ingest(Options("email", size=size))


def test_a_file_without_use_makes_nothing_and_a_list_ends_at_the_last_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    made, problems, ingest, _ = run(b"name\nann\n")
    assert (made, problems) == ([], [])
    assert ingest.fault is not None
    monkeypatch.setattr(reading, "MAX_CHUNKS", 2)
    made, _, ingest, _ = run(b"recipient\n" + b"a@x.com\n" * 3, Options("email", size=1))
    assert len(made) == 2
    assert ingest.fault is not None
    assert ingest.fault.code == "too_many_rows"


def test_marks_are_a_set() -> None:
    seen = Seen()
    marks = marks_of(str(i) for i in range(10_000))
    assert seen.add(marks) == []
    assert seen.add(marks) == list(range(10_000))
    assert seen.add(b"\0" * WIDTH) == []
    assert seen.add(marks_of(["new", "17", "new"]) + b"\0" * WIDTH) == [1, 2, 3]
    assert len(seen) == 10_002
    assert seen.having(marks) == list(range(10_000))
    assert seen.having(marks_of(["other", "17", "another"]) + b"\0" * WIDTH) == [1, 3]
