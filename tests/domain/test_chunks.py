import json

from hypothesis import given
from hypothesis import strategies as st

from shared.domain.content import content
from shared.domain.content.content import Attachment, Content, Mailbox
from shared.domain.jobs import chunks
from shared.domain.jobs.chunks import MAX_RAW_BYTES, Recipient, chunk_size, split

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
RECIPIENTS = st.lists(
    st.builds(Recipient, TEXT.filter(bool), TEXT.filter(bool), TEXT, TEXT, st.dictionaries(TEXT, TEXT, max_size=3)),
    max_size=12,
)


@given(RECIPIENTS)
def test_recipients_survive_packing(recipients: list[Recipient]) -> None:
    assert chunks.unpack(chunks.pack(recipients)) == tuple(recipients)


MARKED = st.text(st.sampled_from('a,"\\\x1d\x1e\x1f\n\u001fu0e1é\u2028'), max_size=8)


@given(st.lists(st.lists(TEXT | MARKED, min_size=1, max_size=4), min_size=1, max_size=6))
def test_rows_are_json_whatever_is_in_them(rows: list[list[str]]) -> None:
    assert chunks.rows_json(rows) == json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()


@given(st.lists(st.lists(TEXT.filter(bool), min_size=3, max_size=3), min_size=1, max_size=6), st.integers(0, 2))
def test_a_table_holds_recipients_whose_columns_are_named_once(rows: list[list[str]], at: int) -> None:
    columns = ["a", "b", "c"]
    ends = [[], ["key"], ["", "Ann"], ["key", "Ann", "code"], ["", "", "code"]]
    full = [[*row, *ends[i % 5]] for i, row in enumerate(rows)]
    expected = []
    for row, (key, display, skip) in zip(rows, ([*ends[i % 5], "", "", ""][:3] for i in range(len(rows))), strict=True):
        values = {name: cell for i, (name, cell) in enumerate(zip(columns, row, strict=True)) if i != at}
        expected.append(Recipient(row[at], key or row[at], display, skip, values))
    assert chunks.unpack(chunks.pack_table(chunks.table(columns, at, full))) == tuple(expected)


@given(RECIPIENTS, st.integers(1, 5))
def test_splitting_keeps_order_and_every_recipient(recipients: list[Recipient], size: int) -> None:
    parts = split(recipients, size)
    assert [r for part in parts for r in part] == recipients
    assert all(1 <= len(part) <= size for part in parts)


def test_a_chunk_stays_under_its_weight() -> None:
    heavy = [Recipient(f"r{i}@example.com", f"r{i}@example.com", values={"text": "x" * 60_000}) for i in range(9)]
    parts = split(heavy, 500)
    assert [len(p) for p in parts] == [4, 4, 1]
    assert all(len(json.dumps([r.values for r in p])) <= MAX_RAW_BYTES for p in parts)


def test_one_recipient_that_is_too_heavy_gets_a_separate_call() -> None:
    heavy = Recipient("a@example.com", "a@example.com", values={"text": "x" * 300_000})
    assert [len(p) for p in split([heavy, heavy], 500)] == [1, 1]


def test_a_chunk_gives_every_credential_work_and_none_over_thirty_seconds() -> None:
    assert chunk_size(1000, 2, 1000) == 500
    assert chunk_size(70, 2, 1000) == 35
    assert chunk_size(71, 2, 1000) == 36
    assert chunk_size(10_000, 2, 1000) == 500
    assert chunk_size(1000, 1, 10) == 300
    assert chunk_size(1000, 1, 0.01) == 1
    assert chunk_size(1, 6, 1000) == 1


@given(TEXT, TEXT, TEXT)
def test_content_survives_packing(subject: str, html: str, name: str) -> None:
    full = Content(
        Mailbox("a@example.com", name),
        subject,
        html,
        "text",
        Mailbox("b@example.com"),
        (Mailbox("c@example.com", name),),
        (Mailbox("d@example.com"),),
        (("X-Tag", subject),),
        (Attachment("a.png", "image/png", "AAAA", "cid"),),
    )
    for one in (full, Content(Mailbox("a@example.com"), subject)):
        assert content.unpack(content.pack(one)) == one
