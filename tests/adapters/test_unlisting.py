"""What a process knows of whether small jobs may be left out of the index of open jobs."""

import pytest

from shared.adapters.dynamo.accounts.accounts import Accounts
from shared.adapters.dynamo.indices import KnownUnlisting
from tests.fakes.clock import FakeClock
from tests.fakes.tables import MotoStores


@pytest.fixture
def clock() -> FakeClock:
    """A clock that moves."""
    return FakeClock()


@pytest.fixture
def stores(moto_dynamo: object, clock: FakeClock) -> MotoStores:
    """The real stores."""
    return MotoStores(moto_dynamo, clock)


def known(stores: MotoStores) -> KnownUnlisting:
    return KnownUnlisting(stores.dynamo, stores.tables.records)


@pytest.mark.parametrize("channel", ["email", "sms"])
def test_a_process_learns_with_the_sender_that_the_sweeper_has_begun(
    stores: MotoStores, clock: FakeClock, channel: str
) -> None:
    process = known(stores)
    accounts = Accounts(stores.client, stores.tables.records, clock, homes=stores.tables.homes, unlisting=process)
    account = accounts.create_account("News", ["example.com"])

    def accept() -> bool:
        clock.advance(3_600)  # what is remembered of senders is forgotten
        if channel == "email":
            assert accounts.check_sender(account, "me@example.com").allowed
        else:
            accounts.opened(account, channel)
        return process.begun

    assert not accept()
    known(stores).begin()
    assert accept()
    assert process.wanted == ()


def test_a_sweeper_notes_it_once(stores: MotoStores) -> None:
    sweeper = known(stores)
    sweeper.begin()
    before = len(stores.tap.calls)
    sweeper.begin()
    assert len(stores.tap.calls) == before
