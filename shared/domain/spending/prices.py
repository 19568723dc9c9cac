"""Prices of messages, by the operators' own table: those of a channel's messages by country, in whole millionths.

An SMS costs its segments. A country without a price of its own has that of ANY; without that it costs nothing.
"""

from collections.abc import Mapping
from typing import Final

from shared.domain.recipients.phones import country_of

ANY: Final = "*"
"""All other countries; of e-mail all recipients."""

Prices = Mapping[str, Mapping[str, int]]
"""Channel → country (ISO 3166) or ANY → millionths for a message, of SMS for a segment."""


def price_of(prices: Prices, channel: str, messages: Mapping[str, int]) -> int:
    """Return the price of messages, in millionths.

    Args:
        messages: country → how many, of SMS their segments; of e-mail all are of ANY.
    """
    table = prices.get(channel, {})
    return sum(table.get(country, table.get(ANY, 0)) * count for country, count in messages.items())


def highest(prices: Prices, channel: str) -> int:
    """Return the highest price of a channel's message, in millionths: that of one whose country is not known."""
    return max(prices.get(channel, {}).values(), default=0)


def country_by_number(numbers: Mapping[str, int]) -> dict[str, int]:
    """Return country → sum of the counts of its numbers. `numbers`: E.164 → a count."""
    found: dict[str, int] = {}
    for number, count in numbers.items():
        country = country_of(number)
        found[country] = found.get(country, 0) + count
    return found
