"""Prices of messages by country."""

import pytest

from shared.domain.recipients.phones import country_of
from shared.domain.spending.prices import country_by_number, highest, price_of

PRICES = {"sms": {"DE": 75_000, "*": 100_000}, "voice": {"DE": 20_000}, "email": {"*": 100}}


def test_a_country_without_a_price_has_that_of_the_others() -> None:
    assert price_of(PRICES, "sms", {"DE": 2, "FR": 1}) == 250_000
    assert price_of(PRICES, "voice", {"DE": 2, "FR": 1}) == 40_000
    assert price_of(PRICES, "whatsapp", {"DE": 2}) == 0


def test_a_message_whose_country_is_not_known_has_the_highest_price() -> None:
    assert (highest(PRICES, "sms"), highest(PRICES, "email"), highest(PRICES, "whatsapp")) == (100_000, 100, 0)


@pytest.mark.parametrize(
    ("number", "country"),
    [("+14155550101", "US"), ("+16135550123", "CA"), ("+447781123456", "GG"), ("+447400123456", "GB")],
)
def test_countries_that_share_a_code_are_told_apart(number: str, country: str) -> None:
    assert country_of(number) == country


def test_a_number_of_no_country_has_none() -> None:
    assert country_of("+881612345678") == ""
    assert country_by_number({"+14155550101": 2, "+14155550102": 1, "+881612345678": 3}) == {"US": 3, "": 3}
