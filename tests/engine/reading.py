"""A list that has rows of all sorts, an intake with small chunks and blocks for it, and what is stored of it."""

from typing import Any

import pytest

from shared.domain.campaigns.campaign import Upload
from shared.domain.lists.uploads import BadRow
from shared.domain.recipients.suppressions import Reach
from shared.engine.work import WorkResult
from tests.fakes.faults import Crash, When
from tests.fakes.intake import ACCOUNT, Intake

ROWS = 60


def line(i: int) -> str:
    """A row: some are invalid, some duplicates."""
    if i % 10 == 3:
        return f"nobody,{i}"
    return f"r{i - 5 if i % 10 == 9 else i}@example.com,Name {i}"


DATA = ("recipient,name\n" + "".join(f"{line(i)}\n" for i in range(ROWS))).encode()


def small(rate: float = 7 / 30) -> Intake:
    """An intake whose chunks have 7 recipients and whose files come in blocks of 100 bytes."""
    intake = Intake(rate)
    intake.files.block = 100
    return intake


Result = tuple[list[tuple[str, tuple[int, ...]]], list[Any], list[BadRow], Any]


def result(intake: Intake, upload: Upload) -> Result:
    """What is stored of a list, without its id and the numbers of its writes."""
    end = intake.now(upload)
    problems, more = intake.uploads.problems(end, after=0, limit=10_000)
    assert more == 0
    assert end.checkpoint is not None
    ledgers = [(x.chunk, x.cells, x.lane, x.folded, x.status, x.limit, x.ttl) for x in intake.ledgers(upload)]
    return (
        [(x.digest, x.skipped) for x in intake.chunks(upload)],
        ledgers,
        problems,
        (end.state, end.columns, end.skipped, end.checkpoint.counts, end.code),
    )


def plain(**options: Any) -> Result:
    """What is stored of the list if nothing happens."""
    intake = small()
    upload = intake.take(DATA, **options)
    assert intake.serve() == [WorkResult.READY]
    return result(intake, upload)


class Frozen:
    """An invocation that stands still at one of its calls until its lease is over, and then goes on."""

    def __init__(self, intake: Intake, name: str, nth: int, meanwhile: Any, seconds: float = 1000) -> None:
        self._left = nth
        self._seconds = seconds
        intake.tap.delay = lambda: self._look(intake, name, meanwhile)

    def _look(self, intake: Intake, name: str, meanwhile: Any) -> None:
        if len(intake.tap.calls) and intake.tap.calls[-1] == name:
            self._left -= 1
            if self._left == 0:
                intake.tap.delay = lambda: None
                intake.clock.advance(self._seconds)
                meanwhile()


def suppressing(intake: Intake, *addresses: str, reach: Reach = Reach.ALL) -> None:
    """Suppress addresses, or have them unsubscribe, one after the other."""
    for address in addresses:
        intake.stores.records.suppress(ACCOUNT, address, "bounced", intake.clock.ms, reach=reach)
        intake.clock.advance(1)


def cut_short(intake: Intake, upload: Upload, nth: int, when: When) -> None:
    """Read a list in spite of a fault: killed at its n-th call and swept, or with this call made twice."""
    intake.tap.arm(nth, when)
    if when is When.REPEATED:
        assert intake.work(upload) is WorkResult.READY
    else:
        with pytest.raises(Crash):
            intake.work(upload)
        intake.clock.advance(1000)
        intake.sweep()
        intake.serve()
    assert intake.tap.fired == 1
