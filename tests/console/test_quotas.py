"""Limits of the day on the first page of an account."""

import re

from shared.adapters.dynamo.accounts.spending import CACHE
from tests.console.campaigns import with_list
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


def test_the_summary_of_a_campaign_shows_its_price_where_operators_entered_some(console: Console) -> None:
    console.member()
    campaign = with_list(console)
    assert "operators&#39; prices" not in console.shown(f"/campaigns/{campaign}/send")
    console.api.world.settings.prices["email"] = {"*": 1_250_000}
    page = console.shown(f"/campaigns/{campaign}/send")
    assert re.search(r"<dt>Price</dt><dd>about [0-9.,]+, by the operators", page)
