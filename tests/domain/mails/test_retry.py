"""When a mail is tried again."""

from itertools import accumulate

import pytest

from shared.domain.jobs.ledger import LedgerStatus
from shared.domain.jobs.states import MAX_ATTEMPTS, Cell
from shared.domain.mails.mail import LIFE_MS
from shared.domain.mails.retry import is_refusal, retry_delay, row_of, to_hold
from tests.domain.ledgers import NOW
from tests.domain.mails.examples import one

MINUTE = 60_000


def test_the_delays_grow_to_four_hours() -> None:
    assert [retry_delay(n) // MINUTE for n in range(7)] == [0, 5, 15, 60, 240, 240, 240]


def test_fifteen_attempts_last_for_the_life_of_a_mail() -> None:
    begun = list(accumulate(retry_delay(n) for n in range(MAX_ATTEMPTS)))
    assert begun[-2] < LIFE_MS
    assert begun[-1] + retry_delay(MAX_ATTEMPTS) > LIFE_MS


@pytest.mark.parametrize("code", ["smtp_451", "4.2.2"])
def test_a_reply_refuses_a_recipient_for_now(code: str) -> None:
    assert is_refusal(code)


@pytest.mark.parametrize("code", ["smtp_550", "5.1.1", "unreachable", ""])
def test_nothing_else_does(code: str) -> None:
    assert not is_refusal(code)


def test_three_failures_in_a_row_hold_a_domain() -> None:
    failed = [one(Cell.QUEUED, 1, released_at=NOW + i, not_before=NOW + MINUTE * i) for i in range(3)]
    assert row_of(failed[:2]) == []
    assert row_of(failed) == failed
    assert row_of([*failed, one(Cell.QUEUED)]) == failed


def test_an_accepted_mail_begins_a_new_row() -> None:
    failed = [one(Cell.QUEUED, 1, released_at=NOW + i) for i in range(3)]
    assert row_of([*failed, one(Cell.RELAYED, 1, released_at=NOW + 9)]) == []
    assert row_of([one(Cell.RELAYED, 1, released_at=NOW - 9), *failed]) == failed


def test_what_waits_no_longer_than_its_domain_is_held() -> None:
    fresh, early, late = one(Cell.QUEUED), one(Cell.QUEUED, 1, not_before=NOW), one(Cell.QUEUED, 1, not_before=NOW + 9)
    busy = one(Cell.QUEUED, status=LedgerStatus.BUSY)
    assert to_hold([fresh, early, late, busy, one(Cell.RELAYED, 1)], NOW + 9) == [fresh, early]
