from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.jobs import ledger as rules
from shared.domain.jobs.feedback import HARD, SOFT, ProviderEventKind, join, state_of
from shared.domain.jobs.states import NEVER_SENT, RANK, Cell
from tests.domain.ledgers import CELLS, ROUTE, by, ledger
from tests.tiers import examples

WORDS = [Cell.SENT, Cell.DROPPED, Cell.DELIVERED, Cell.BOUNCED]


def joined(cell: tuple[Cell, int], words: list[tuple[Cell, int]]) -> Cell:
    state, attempt = cell
    for word, of in words:
        state = join(state, attempt, word, of)
    return state


@pytest.mark.promise(5)
@settings(max_examples=examples(300))
@given(
    CELLS,
    st.lists(st.tuples(st.sampled_from(WORDS), st.integers(1, 4)), min_size=1, max_size=4),
    st.data(),
)
def test_the_order_and_repetition_of_words_do_not_matter(
    cell: tuple[Cell, int], words: list[tuple[Cell, int]], data: st.DataObject
) -> None:
    ends = {joined(cell, list(order)) for order in permutations(words)}
    again = data.draw(st.lists(st.sampled_from(words), max_size=3))
    mixed = data.draw(st.permutations([*words, *again]))
    assert len(ends | {joined(cell, mixed)}) == 1


@pytest.mark.promise(5)
@pytest.mark.parametrize("state", Cell)
def test_all_words_in_every_order_with_every_repetition_give_one_end(state: Cell) -> None:
    words = [(w, a) for w in WORDS for a in (1, 2)]
    ends = {joined((state, 2), list(order)) for order in permutations(words, 4) if (Cell.BOUNCED, 2) in order}
    assert ends == {state if state in NEVER_SENT else Cell.BOUNCED}


@pytest.mark.promise(5)
@settings(max_examples=examples(60))
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 2), st.sampled_from(WORDS)), min_size=1, max_size=6), st.data()
)
def test_batches_of_words_give_the_same_cells_however_they_are_cut(
    words: list[tuple[int, int, Cell]], data: st.DataObject
) -> None:
    start = ledger((Cell.SENT, 2), (Cell.UNKNOWN, 1), (Cell.CLAIMED, 2))
    whole = rules.join_words(start, words, route=ROUTE, credential="one") or start
    piecewise = start
    for word in data.draw(st.permutations([*words, *words])):
        piecewise = rules.join_words(piecewise, [word], route=ROUTE, credential="one") or piecewise
    assert piecewise.cells == whole.cells


def test_delivered_counts_for_any_earlier_attempt_and_other_words_only_for_theirs() -> None:
    assert join(Cell.QUEUED, 2, Cell.DELIVERED, 1) is Cell.DELIVERED
    assert join(Cell.CLAIMED, 1, Cell.DELIVERED, 2) is Cell.CLAIMED
    assert join(Cell.SENT, 2, Cell.BOUNCED, 1) is Cell.SENT
    assert join(Cell.BOUNCED, 2, Cell.DELIVERED, 1) is Cell.BOUNCED
    assert join(Cell.SKIPPED, 1, Cell.DELIVERED, 1) is Cell.SKIPPED


@given(CELLS, st.sampled_from(WORDS), st.integers(1, 15))
def test_a_word_only_raises_the_rank(cell: tuple[Cell, int], word: Cell, attempt: int) -> None:
    assert RANK[join(*cell, word, attempt)] >= RANK[cell[0]]


def test_every_word_has_its_meaning() -> None:
    assert {k: state_of(k) for k in ProviderEventKind} == {
        ProviderEventKind.ACCEPTED: Cell.SENT,
        ProviderEventKind.DEFERRED: None,
        ProviderEventKind.DELIVERED: Cell.DELIVERED,
        ProviderEventKind.BOUNCED: Cell.BOUNCED,
        ProviderEventKind.COMPLAINED: Cell.BOUNCED,
        ProviderEventKind.DROPPED: Cell.DROPPED,
        ProviderEventKind.BLOCKED: Cell.DROPPED,
        ProviderEventKind.FAILED_TEMPORARILY: Cell.DROPPED,
        ProviderEventKind.UNSUBSCRIBED: None,
        ProviderEventKind.RESUBSCRIBED: None,
        ProviderEventKind.STOPPED: None,
        ProviderEventKind.STARTED: None,
        ProviderEventKind.PRESSED: None,
        ProviderEventKind.WRITTEN: None,
        ProviderEventKind.ABSENT: None,
    }
    assert not HARD & SOFT


def test_words_are_counted_for_their_credential() -> None:
    x = ledger((Cell.UNKNOWN, 1), (Cell.SENT, 1), (Cell.SENT, 1))
    words = [(0, 1, Cell.DELIVERED), (1, 1, Cell.BOUNCED), (2, 2, Cell.DELIVERED)]
    out = rules.join_words(x, words, route=ROUTE, credential="two")
    assert out is not None
    assert by(out, "two") == {"accepted": 1, "delivered": 1, "failed": 1}
    assert rules.join_words(out, words, route=ROUTE, credential="two") is None
