"""Turns of accounts' work, on DynamoDB and in memory."""

import pytest

from shared.adapters.dynamo.jobs.account_turns import DynamoAccountTurns
from shared.domain.lists.in_line import BEGIN_MS, MOST_WAITING
from shared.ports import AccountTurns, TurnKind
from tests.contracts.conftest import ACCOUNT
from tests.fakes.account_turns import FakeAccountTurns
from tests.fakes.clock import FakeClock
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores

KIND = TurnKind.EXPORTS


@pytest.fixture
def turns(stores: Stores, clock: FakeClock) -> AccountTurns:
    if isinstance(stores, FakeStores):
        return FakeAccountTurns(clock)
    assert isinstance(stores, MotoStores)
    return DynamoAccountTurns(stores.dynamo, records=stores.tables.records, clock=clock)


def enter(turns: AccountTurns, name: str, *, alive: bool = True, account: str = ACCOUNT) -> str:
    return turns.enter(account, KIND, name, lambda _: alive)


def test_one_piece_has_the_turn_and_the_others_follow_in_order(turns: AccountTurns) -> None:
    assert [enter(turns, x) for x in "abcb"] == ["a", "", "", ""]
    assert enter(turns, "z", account="acc_other") == "z"
    assert turns.enter(ACCOUNT, TurnKind.LISTS, "y", lambda _: True) == "y"
    assert [turns.leave(ACCOUNT, KIND, x) for x in "bab"] == ["", "b", "c"]
    assert enter(turns, "c") == "c"
    assert turns.leave(ACCOUNT, KIND, "c") == ""
    assert enter(turns, "d") == "d"


def test_a_piece_has_a_minute_to_begin_and_then_its_own_lease_counts(turns: AccountTurns, clock: FakeClock) -> None:
    assert enter(turns, "a") == "a"
    assert enter(turns, "b", alive=False) == "", "it may begin at any moment"
    clock.advance(BEGIN_MS / 1000)
    assert enter(turns, "c", alive=True) == ""
    assert enter(turns, "c", alive=False) == "b", "the one that waited longer"
    assert turns.leave(ACCOUNT, KIND, "a") == "", "it has lost the turn"
    assert turns.leave(ACCOUNT, KIND, "b") == "c"


def test_a_piece_that_comes_again_keeps_its_turn(turns: AccountTurns, clock: FakeClock) -> None:
    assert enter(turns, "a") == "a"
    clock.advance(BEGIN_MS / 1000 - 1)
    assert enter(turns, "a") == "a"
    clock.advance(BEGIN_MS / 1000 - 1)
    assert enter(turns, "b", alive=False) == ""


def test_a_line_keeps_so_many_names(turns: AccountTurns) -> None:
    names = [f"{i:026d}" for i in range(MOST_WAITING + 3)]
    assert [enter(turns, x) for x in names] == [names[0], *[""] * (MOST_WAITING + 2)]
    followed = []
    name = names[0]
    while name:
        name = turns.leave(ACCOUNT, KIND, name)
        followed.append(name)
    assert followed == [*names[1 : MOST_WAITING + 1], ""]
    assert enter(turns, names[-1]) == names[-1], "one that was not kept comes again"


def test_of_two_at_once_one_has_the_turn(moto_dynamo: object, clock: FakeClock) -> None:
    """On DynamoDB alone: in memory nothing is between a read and its write."""
    stores = MotoStores(moto_dynamo, clock)
    dynamo, table = stores.dynamo, stores.tables.records
    other, read = DynamoAccountTurns(dynamo, records=table, clock=clock), dynamo.get
    begun: list[str] = []

    class Slow:
        """A client between whose first read and write another one comes."""

        def __getattr__(self, name: str) -> object:
            return getattr(dynamo, name)

        def get(self, table: str, key: object, **more: object) -> object:
            item = read(table, key, **more)  # type: ignore[arg-type]
            if not begun:
                begun.append(enter(other, "other"))
            return item

    slow = DynamoAccountTurns(Slow(), records=table, clock=clock)  # type: ignore[arg-type]
    assert enter(slow, "slow") == ""
    assert begun == ["other"]
    assert other.leave(ACCOUNT, KIND, "other") == "slow"
