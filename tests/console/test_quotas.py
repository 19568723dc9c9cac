"""Limits of the day on the first page of an account."""

from shared.adapters.dynamo.accounts.spending import CACHE
from tests.console.console import Console


def test_the_overview_shows_limits_only_where_there_are_some(console: Console) -> None:
    console.member()
    assert "Limits of today" not in console.shown()
    console.api.services.accounts.set_limits(console.account, {"email": 1000, "price": 2_500_000})
    console.api.world.clock.advance(CACHE)
    console.api.accepted(tuple(f"r{i}@example.org" for i in range(250)))
    page = console.shown()
    for said in ("Limits of today", "E-mails", "1,000", "250", "750", "25 %", "Price", "2.5"):
        assert said in page
