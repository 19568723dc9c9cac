"""Prices of messages, by the operators' own table: those of a channel's messages by country, in whole millionths.

An SMS costs its segments. A country without a price of its own has that of ANY; without that it costs nothing.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from shared.domain.channels.lookup import channel_of
from shared.domain.lists.gaps import countries_of
from shared.domain.recipients.phones import country_of

if TYPE_CHECKING:
    from shared.domain.campaigns.campaign import Campaign, Upload

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


def estimate(prices: Prices, campaign: "Campaign", upload: "Upload") -> int | None:
    """Return the price of the messages of a list that is read, in millionths.

    Texts count as the segments of their template. Where countries are not known, each costs the highest price.

    Returns:
        None: the channel has no prices, or the list is not ready.
    """
    if campaign.channel not in prices or upload.counted is None or upload.checkpoint is None:
        return None
    slots = channel_of(campaign.channel).slots(campaign.message.body)
    countries = {country: count * slots for country, count in countries_of(upload.counted).items()}
    if countries:
        return price_of(prices, campaign.channel, countries)
    sends = upload.checkpoint.counts.accepted - sum((upload.skipped or {}).values())
    return highest(prices, campaign.channel) * sends * slots


def country_by_number(numbers: Mapping[str, int]) -> dict[str, int]:
    """Return country → sum of the counts of its numbers. `numbers`: E.164 → a count."""
    found: dict[str, int] = {}
    for number, count in numbers.items():
        country = country_of(number)
        found[country] = found.get(country, 0) + count
    return found
