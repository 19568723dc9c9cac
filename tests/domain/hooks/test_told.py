from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.hooks.announced import CellChange, happened_since, untold, with_complaints, with_mails
from shared.domain.hooks.kinds import HookKind, message_event_id
from shared.domain.jobs.details import Detail, FeedbackDetail, FeedbackEntry
from shared.domain.jobs.outcomes import Entry, Kind
from shared.domain.jobs.states import MAX_ATTEMPTS, Cell
from tests.domain.hooks.jobs import job
from tests.tiers import examples

SIZE = 4
MIDNIGHT = 1_790_000_000_000


def cell(state: Cell, attempt: int = 1) -> int:
    return attempt << 4 | state


def words(*said: tuple[int, int, str, int]) -> list[FeedbackDetail]:
    entries = tuple(FeedbackEntry(index, attempt, word, at) for index, attempt, word, at in said)
    return [FeedbackDetail("job", 0, "one", entries, 0)]


def test_what_was_handed_on_is_no_change() -> None:
    cells = bytes([cell(Cell.SENT), cell(Cell.QUEUED, 0), cell(Cell.DELIVERED)])
    assert untold(cells, cells) == []
    assert untold(b"", cells) == [
        CellChange(0, cells[0], HookKind.MESSAGE_SENT),
        CellChange(2, cells[2], HookKind.MESSAGE_DELIVERED),
    ]


def test_another_state_of_the_same_kind_is_no_second_event() -> None:
    assert untold(bytes([cell(Cell.SENT)]), bytes([cell(Cell.SENT_CLOSED)])) == []
    assert untold(bytes([cell(Cell.FAILED)]), bytes([cell(Cell.DROPPED)])) == []
    assert untold(bytes([cell(Cell.DROPPED)]), bytes([cell(Cell.DROPPED, 2)])) == [
        CellChange(0, cell(Cell.DROPPED, 2), HookKind.MESSAGE_FAILED)
    ]


def test_changes_before_there_was_an_endpoint_are_left_out() -> None:
    changes = untold(b"", bytes([cell(Cell.SENT)] * 3 + [cell(Cell.SKIPPED, 0)]))
    before = Detail("job", 0, 1, 0, MIDNIGHT - 1, "one", (Entry(0, 1, Kind.ACCEPTED), Entry(1, 1, Kind.ACCEPTED)), 0)
    after = Detail("job", 0, 1, 1, MIDNIGHT, "one", (Entry(2, 1, Kind.ACCEPTED),), 0)
    said = words((1, 1, "delivered", MIDNIGHT // 1000), (0, 1, "delivered", MIDNIGHT // 1000 - 1))
    assert [x.index for x in happened_since(changes, MIDNIGHT, [before, after], said)] == [1, 2]


def test_a_complaint_is_told_from_a_bounce_by_the_words() -> None:
    changes = untold(b"", bytes([cell(Cell.BOUNCED)] * 4))
    said = words((0, 1, "complained", 1), (1, 1, "bounced", 1), (2, 1, "bounced", 1), (2, 1, "complained", 2))
    kinds = [(x.index, x.kind) for x in with_complaints(changes, said)]
    assert kinds == [
        (0, HookKind.MESSAGE_COMPLAINED),
        (1, HookKind.MESSAGE_BOUNCED),
        (2, HookKind.MESSAGE_BOUNCED),
        (2, HookKind.MESSAGE_COMPLAINED),
        (3, HookKind.MESSAGE_BOUNCED),
    ]


def test_a_failed_destination_of_a_mail_is_an_event_of_its_own() -> None:
    changes = untold(b"", bytes([cell(Cell.DROPPED), cell(Cell.DELIVERED), cell(Cell.WITHDRAWN, 0)]))
    assert list(with_mails(job(), changes)) == changes
    assert [(x.index, x.kind) for x in with_mails(job(kind="mail"), changes)][3:] == [(0, HookKind.MAIL_FAILED)]


bytes_of_cells = st.builds(cell, st.sampled_from(Cell), st.integers(0, MAX_ATTEMPTS))
histories = st.lists(st.lists(bytes_of_cells, min_size=SIZE, max_size=SIZE).map(bytes), min_size=1, max_size=12)


def ids(changes: Sequence[CellChange]) -> set[str]:
    return {message_event_id("job", 0, x.index, x.attempt, x.kind) for x in changes}


@settings(max_examples=examples(300))
@given(histories, st.data())
def test_nothing_is_lost_whatever_fails_between_handing_on_and_writing(
    history: list[bytes], data: st.DataObject
) -> None:
    """Gatherers read the ledger at any time, die before they write, and write late what others have overtaken."""
    told, late, handed_on = b"", list[bytes](), set[str]()
    for cells in history:
        handed_on |= ids(untold(told, cells))
        match data.draw(st.sampled_from(["write", "die", "keep", "late"])):
            case "write":
                told = cells
            case "keep":
                late.append(cells)
            case "late" if late:
                told = late.pop(0)
    handed_on |= ids(untold(told, history[-1]))
    assert ids(untold(b"", history[-1])) <= handed_on


@settings(max_examples=examples(200))
@given(histories)
def test_no_event_is_handed_on_twice_in_a_row_without_a_fault(history: list[bytes]) -> None:
    told = b""
    for cells in history:
        first = untold(told, cells)
        told = cells
        assert untold(told, cells) == []
        assert len(ids(first)) == len(first)
