"""Request allowances: of an account, and of its keys and notifiers within it."""

from collections.abc import Iterator
from typing import Any

import pytest

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.accounts.allowances import MOVED, Allowances
from shared.adapters.dynamo.accounts.buckets import BLOCK, GRACE
from shared.adapters.dynamo.client import Dynamo
from shared.domain.accounts import Claim, Excess, Limited, Taker, quota
from tests.api.test_accounts import Counting
from tests.fakes.clock import FakeClock
from tests.fakes.tables import Tables

RATE, BURST = 10, 1000
ACCOUNT = "acc_a"
READER, OTHER = Taker("reader"), Taker("other")


@pytest.fixture
def counting(moto_dynamo: Any) -> Counting:
    return Counting(moto_dynamo)


class Fleet:
    """Processes of the API that share a table."""

    def __init__(self, client: Any, table: str, clock: FakeClock) -> None:
        self._of = (client, table, clock)

    def process(self, rate: float = RATE, burst: int = BURST) -> Allowances:
        client, table, clock = self._of
        return Allowances(Dynamo(client, sleep=clock.sleep), table, clock, rate=rate, burst=burst)


@pytest.fixture
def fleet(counting: Counting, tables: Tables, clock: FakeClock) -> Fleet:
    return Fleet(counting, tables.records, clock)


def drain(process: Allowances, *takers: Taker) -> tuple[int, Excess]:
    """Take until one is refused; return how many there were, and the refusal."""
    granted = 0
    while True:
        for taker in takers:
            excess = process.take(ACCOUNT, taker)
            if excess is not None:
                return granted, excess
            granted += 1


def readers(count: int) -> Iterator[Taker]:
    return (Taker(f"reader-{i}") for i in range(count))


def test_most_requests_cost_no_write(fleet: Fleet, counting: Counting) -> None:
    process = fleet.process()
    makers = [*readers(3), Taker("sender"), Taker("clinic", notifier=True)]
    for i in range(GRACE):
        assert process.take(ACCOUNT, makers[i % len(makers)]) is None
    assert counting.calls == []
    for i in range(4 * BLOCK):
        assert process.take(ACCOUNT, makers[i % len(makers)]) is None
    assert len(counting.calls) == 4


def test_a_draw_of_a_process_that_has_drawn_never_costs_one_call_more(fleet: Fleet, counting: Counting) -> None:
    drain(fleet.process(), READER)
    spent = len(counting.calls)
    late = fleet.process()
    for _ in range(GRACE + BLOCK):
        assert late.take(ACCOUNT, OTHER) is None
    assert len(counting.calls) == spent + 2, "the first draw does not know that the clock runs"


def test_one_key_leaves_a_part_to_others(fleet: Fleet, counting: Counting, clock: FakeClock) -> None:
    process = fleet.process()
    granted, excess = drain(process, READER)
    whole = quota(RATE, BURST)
    assert granted == whole.of_key().most(Claim.OTHER)
    assert (excess.of, excess.rate) == (Limited.KEY, RATE * 0.8)
    spent = len(counting.calls)
    assert process.take(ACCOUNT, READER) is not None
    assert len(counting.calls) == spent, "a refusal is remembered"
    assert process.take(ACCOUNT, OTHER) is None
    clock.advance(excess.wait)
    assert process.take(ACCOUNT, READER) is None
    assert process.take("acc_b", READER) is None, "an allowance is an account's own"


def test_calls_that_do_not_send_leave_a_part_to_those_that_do(fleet: Fleet) -> None:
    process = fleet.process()
    granted, excess = drain(process, *readers(5))
    assert 0.8 * BURST <= granted <= 0.8 * BURST + GRACE
    assert (excess.of, excess.rate) == (Limited.ACCOUNT, RATE)
    assert process.take(ACCOUNT, Taker("reader-0", sends=True)) is None
    sent, excess = drain(process, *(Taker(f"sender-{i}", sends=True) for i in range(5)))
    assert sent + 1 == 0.2 * BURST
    assert excess.of is Limited.ACCOUNT


def test_a_key_that_reads_in_a_loop_still_sends(fleet: Fleet) -> None:
    process = fleet.process()
    drain(process, READER)
    sent, excess = drain(process, Taker(READER.name, sends=True))
    assert sent == 0.2 * BURST
    assert excess.of is Limited.KEY


def test_tokens_that_were_drawn_to_send_are_not_used_by_others(fleet: Fleet) -> None:
    process = fleet.process()
    drain(process, *readers(5))
    assert process.take(ACCOUNT, Taker("sender", sends=True)) is None
    assert process.take(ACCOUNT, OTHER) is not None


def test_notifiers_count_in_the_allowance_of_their_account(fleet: Fleet) -> None:
    process = fleet.process()
    one, excess = drain(process, Taker("clinic", sends=True, notifier=True))
    assert one == quota(RATE, BURST).of_notifier().burst
    assert excess.of is Limited.NOTIFIER
    more, excess = drain(process, *(Taker(f"clinic-{i}", sends=True, notifier=True) for i in range(50)))
    assert 0.9 * BURST <= one + more <= 0.9 * BURST + GRACE
    assert excess.of is Limited.ACCOUNT
    assert drain(process, Taker("sender", sends=True))[0] == 0.1 * BURST, "its keys send nevertheless"


def test_notifiers_upload_while_others_read_in_a_loop(fleet: Fleet) -> None:
    process = fleet.process()
    drain(process, *readers(5), Taker("polling", notifier=True))
    assert process.take(ACCOUNT, Taker("clinic", sends=True, notifier=True)) is None


def test_a_notifier_and_a_key_of_one_name_are_apart(fleet: Fleet) -> None:
    process = fleet.process()
    drain(process, Taker("clinic", notifier=True))
    assert process.take(ACCOUNT, Taker("clinic")) is None


def test_processes_share_the_allowances(fleet: Fleet) -> None:
    processes = [fleet.process() for _ in range(4)]
    granted = sum(drain(x, READER)[0] for x in processes)
    most = quota(RATE, BURST).of_key().most(Claim.OTHER)
    assert most <= granted <= most + 4 * (GRACE + BLOCK)


def test_a_process_learns_what_a_key_did_at_others(fleet: Fleet) -> None:
    first, second = fleet.process(), fleet.process()
    drain(first, READER)
    assert first.take(ACCOUNT, OTHER) is None
    granted, excess = drain(second, READER)
    assert granted <= GRACE + BLOCK
    assert excess.of is Limited.KEY


def test_steady_clients_get_the_rate_of_their_account(fleet: Fleet, clock: FakeClock) -> None:
    process = fleet.process(burst=50)
    granted = 0
    for i in range(1000):
        granted += process.take(ACCOUNT, Taker(f"sender-{i % 3}", sends=True)) is None
        clock.advance(0.05)
    assert 490 <= granted <= 500 + 50 + GRACE


def test_the_clocks_of_those_who_left_are_removed(
    fleet: Fleet, moto_dynamo: Any, tables: Tables, clock: FakeClock
) -> None:
    process = fleet.process()
    for taker in readers(3 * MOVED):
        for _ in range(20):
            process.take(ACCOUNT, taker)
        clock.advance(10)
    clock.advance(1000)
    for _ in range(6):
        for _ in range(BLOCK):
            process.take(ACCOUNT, OTHER)
        clock.advance(100)
    stored = moto_dynamo.get_item(TableName=tables.records, Key=keys.bucket(ACCOUNT))["Item"]
    assert stored.keys() == {"pk", "sk", "tat", "k:other"}


def test_an_allowance_of_an_older_version_is_continued(
    fleet: Fleet, moto_dynamo: Any, tables: Tables, clock: FakeClock
) -> None:
    ahead = round((clock.now() + BURST / RATE) * 1_000_000)
    moto_dynamo.put_item(TableName=tables.records, Item={**keys.bucket(ACCOUNT), "tat": {"N": str(ahead)}})
    granted, excess = drain(fleet.process(), Taker("sender", sends=True))
    assert granted == GRACE
    assert excess.of is Limited.ACCOUNT


@pytest.mark.parametrize("burst", [1, 2, 5, 7])
def test_a_small_allowance_has_a_token_for_each_kind_of_call(fleet: Fleet, burst: int) -> None:
    for sends in (False, True):
        for notifier in (False, True):
            taker = Taker("maker", sends=sends, notifier=notifier)
            assert fleet.process(burst=burst).take(f"acc_{sends}_{notifier}", taker) is None
