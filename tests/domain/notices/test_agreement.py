"""The pure functions do what those of the searched model do, in every small case."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest

from shared.domain.jobs.states import Cell
from shared.domain.notices.actions import take
from shared.domain.notices.codes import Failure
from shared.domain.notices.notice import (
    DeliveryMethod,
    Kept,
    Notice,
    NoticeChange,
    NoticeData,
    NoticeRun,
    NoticeStatus,
    Phase,
    Verb,
)
from shared.domain.notices.records import NoticeAction
from shared.domain.notices.words import tried, word
from tests.domain.notices.examples import DATA, HOURS, NOW, OWNER, notice
from tests.model.notices import rules
from tests.model.notices.rules import CANCEL, NOTHING, Act

ALL: frozenset[str] = frozenset()
PHASES = {"W": Phase.WAITING, "A": Phase.ACTIVE, "E": Phase.ENDED}
STATUSES = {
    "N": NoticeStatus.NEW,
    "T": NoticeStatus.TEMP_FAIL,
    "P": NoticeStatus.PERM_FAIL,
    "S": NoticeStatus.SUCCESS,
    "C": NoticeStatus.CANCELED,
}
CELLS = {
    "d": (Cell.DELIVERED,),
    "x": (Cell.DROPPED,),
    "f": (Cell.FAILED, Cell.BOUNCED, Cell.SKIPPED),
    "w": (Cell.WITHDRAWN,),
    "e": (Cell.EXPIRED,),
    "S": (Cell.SENT_CLOSED, Cell.RELAYED),
    "V": (Cell.UNKNOWN_CLOSED,),
    "q": (Cell.QUEUED, Cell.RETRY),
    "c": (Cell.CLAIMED,),
    "u": (Cell.UNKNOWN,),
    "s": (Cell.SENT,),
}
ACTS: tuple[Act, ...] = (("N", 1), ("N", 2), ("U", 1), ("U", 2), CANCEL)
KEPT: tuple[Act, ...] = (NOTHING, ("U", 1), ("U", 2), CANCEL)
LIMIT = 3


def test_every_cell_is_compared() -> None:
    assert {x for every in CELLS.values() for x in every} == set(Cell)


def data(version: int) -> NoticeData:
    return replace(DATA, first_name=f"Ada {version}")


def kept(act: Act) -> Kept | None:
    if act == NOTHING:
        return None
    return Kept(Verb.CANCEL, "CANCEL") if act == CANCEL else Kept(Verb.UPDATE, "UPDATE", data(act[1]))


def asked(act: Act) -> NoticeAction:
    verb = {"N": Verb.NEW, "U": Verb.UPDATE, "C": Verb.CANCEL}[act[0]]
    return NoticeAction(verb, verb.value, data(act[1]) if act[1] else None)


def small() -> Iterator[rules.Notice]:
    """Every notice of the model with two versions of data and two runs."""
    for phase, status, doubt in (
        *product("W", "NT", (False,)),
        *product("A", "N", (False,)),
        *product("A", "T", (False, True)),
        *product("E", "S", (False,)),
        *product("E", "PC", (False, True)),
    ):
        active = phase == "A"
        told = (status, 9) if status != "N" else ("-", 0)
        for version, gen, expired in product((1, 2), (0, 1), (False, True)):
            for run, act in product((1, 2) if active else (0,), KEPT if active else (NOTHING,)):
                for tries in range(LIMIT) if act != NOTHING else (0,):
                    yield rules.Notice(phase, status, version, run, act, tries, expired, NOTHING, told, gen, doubt)


def real(n: rules.Notice, runs: tuple[NoticeRun, ...] = ()) -> Notice:
    run = NoticeRun(f"job{n.run}", 0, n.gen + 1, DeliveryMethod.SMS) if n.phase == "A" else None
    return notice(
        data=data(n.data),
        phase=PHASES[n.phase],
        status=STATUSES[n.status],
        gen=n.gen + 1,
        run=run,
        runs=(*runs, run) if run else runs,
        kept=kept(n.kept),
        tries=n.tries,
        expires_at=NOW - 1 if n.expired else DATA.expires_at(HOURS),
        ttl=NOW // 1000 + 1000 if n.phase == "E" else 0,
        error=Failure.UNKNOWN if n.doubt else "",
    )


def agree(change: NoticeChange | None, old: rules.Notice, new: rules.Notice, failed: int = 0) -> None:
    """Compare a change with the model's notice afterwards, and its entries with the model's."""
    after = real(old) if change is None else change.notice
    assert after is not None
    assert (after.phase, after.status) == (PHASES[new.phase], STATUSES[new.status])
    assert (after.data, after.gen) == (data(new.data), new.gen + 1)
    assert (after.tries, after.doubtful) == (new.tries, new.doubt)
    expected = kept(new.kept)
    assert after.kept == expected or (after.kept and expected and after.kept.same(expected))
    told = [x for x in (change.entries if change else ()) if not x.action]
    assert len(told) == (rules.tell(old, new, failed).told != old.told)
    assert [x.status for x in told] == [STATUSES[new.status].value for _ in told]


def test_actions_agree_with_the_model() -> None:
    cases = list(product(small(), ACTS))
    assert len(cases) > 500
    for n, act in cases:
        agree(take(real(n), asked(act), OWNER, HOURS, NOW), n, rules.take(n, act, ALL))


@pytest.mark.parametrize("act", ACTS)
def test_actions_on_nothing_agree_with_the_model(act: Act) -> None:
    change = take(None, asked(act), OWNER, HOURS, NOW)
    new = rules.take(rules.Notice(), act, ALL)
    assert change is not None
    assert (change.notice is None) == (new.phase == "-")
    if change.notice is not None:
        assert change.entries == ()
        assert change.notice.phase is PHASES[new.phase]
        assert change.notice.data == data(new.data)


@pytest.mark.slow
def test_words_agree_with_the_model() -> None:
    compared = 0
    for n, (cell, cells), run, older in product(small(), CELLS.items(), (1, 2, 3), (0, 1)):
        present = n.phase == "A" and n.run == run
        if present and older:
            continue  # the present run sends the present data
        gen = n.gen - older
        stored = real(n, () if present else (NoticeRun(f"job{run}", 0, gen + 1, DeliveryMethod.SMS),))
        after = rules.word(n, run, (n.data, gen), cell, ALL)
        for each in cells:
            agree(
                word(stored, f"job{run}", 0, each, HOURS, NOW),
                n,
                n if after is None else after,
                run if cell == "x" else 0,
            )
            compared += 1
    assert compared > 5000


def test_failed_tries_agree_with_the_model() -> None:
    for n in small():
        if n.kept != NOTHING:
            agree(tried(real(n), LIMIT, NOW), n, rules.tried(n, LIMIT))


def test_another_recipient_of_the_same_job_has_no_word() -> None:
    n = real(rules.Notice("A", "N", 1, 1))
    assert [x for x in Cell if word(n, "job1", 1, x, HOURS, NOW)] == []
