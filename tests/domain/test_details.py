import json
import zlib
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from shared.domain.jobs import details
from shared.domain.jobs.details import FeedbackDetail, FeedbackEntry
from shared.domain.jobs.outcomes import Entry, Kind

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ENTRIES = st.lists(
    st.builds(Entry, st.integers(0, 499), st.integers(1, 15), st.sampled_from(Kind), TEXT, TEXT, TEXT), max_size=10
)
WORDS = st.lists(
    st.builds(
        FeedbackEntry,
        st.integers(0, 499),
        st.integers(1, 15),
        TEXT,
        st.integers(0, 2**40),
        TEXT,
        TEXT,
        TEXT,
        st.booleans(),
    ),
    max_size=8,
)


@given(ENTRIES)
def test_window_entries_survive_packing(entries: list[Entry]) -> None:
    assert details.unpack_entries(details.pack_entries(tuple(entries))) == tuple(entries)


def test_readers_and_writers_of_another_version_agree() -> None:
    """A version without details wrote six columns, and reads the first six as it did."""
    entries = (Entry(0, 1, Kind.REFUSED, "", "5.1.1", "550 5.1.1 no"), Entry(1, 1, Kind.NOT_SENT, "", "x"))
    columns = json.loads(zlib.decompress(details.pack_entries(entries)))
    assert len(columns) == 6
    assert [columns[5].get(str(n)) for n in (0, 1)] == ["5.1.1", "x"]
    columns[5] = {"0": "5.1.1", "1": "x"}
    before = zlib.compress(json.dumps(columns).encode())
    assert details.unpack_entries(before) == tuple(replace(e, detail="") for e in entries)


def test_a_window_with_one_id_per_call_stays_small() -> None:
    shared = tuple(Entry(i, 1, Kind.ACCEPTED, f"{i // 50}-" + "x" * 58) for i in range(200))
    assert len(details.pack_entries(shared)) < 800
    assert details.unpack_entries(details.pack_entries(shared)) == shared


@given(WORDS)
def test_feedback_survives_packing(words: list[FeedbackEntry]) -> None:
    assert details.unpack_feedback(details.pack_feedback(tuple(words))) == tuple(words)


@given(WORDS, st.data())
def test_the_key_of_feedback_is_the_same_in_any_order_and_only_then(
    words: list[FeedbackEntry], data: st.DataObject
) -> None:
    def key(entries: list[FeedbackEntry], credential: str = "one") -> str:
        return FeedbackDetail("job", 0, credential, tuple(entries), 1).key

    assert key(data.draw(st.permutations(words))) == key(words)
    assert key([*words, FeedbackEntry(0, 1, "delivered", 5)]) != key(words)
    assert key(words, "two") != key(words)
