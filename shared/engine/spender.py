"""Counts messages against their account's limits of a day, before they are stored."""

from collections.abc import Callable, Iterable, Mapping

from shared.contracts import Settings
from shared.domain.namespaces import owner
from shared.domain.spending import limits
from shared.domain.spending.limits import PRICE, Charge, Exceeded, Line, Rules
from shared.domain.spending.prices import highest, price_of
from shared.ports import Clock, Spending


class Spender:
    """Counts what accounts spend.

    Args:
        store: what is used of each day.
        rules: what operators have set for an account.
        settings: with the limits of accounts that have none of their own.
    """

    def __init__(self, *, store: Spending, rules: Callable[[str], Rules], settings: Settings, clock: Clock) -> None:
        self._store = store
        self._rules = rules
        self._settings = settings
        self._clock = clock

    def by_country(self, account: str, channel: str) -> bool:
        """Return whether countries of numbers matter for an account: some are barred, or messages have prices.

        Args:
            account: an account or its team space.
        """
        rules = self._rules(owner(account))
        own = limits.effective(self._settings.limits, rules.limits)
        keyed = any(PRICE in x for x in rules.keys.values())
        return bool(rules.countries) or (channel in self._settings.prices and (PRICE in own or keyed))

    def barred(self, account: str, countries: Iterable[str]) -> list[str]:
        """Return those of some countries to whose numbers an account, or its team space, does not send."""
        return self._rules(owner(account)).barred(countries)

    def searched(self, account: str) -> bool:
        """Return whether an account, or its team space, keeps pages for searches."""
        return not self._rules(owner(account)).unsearched

    def take(
        self, account: str, channel: str, messages: int, by: str, countries: Mapping[str, int] | None = None
    ) -> Charge | Exceeded | None:
        """Count messages that are about to be accepted, all or none.

        Args:
            account: an account or its team space.
            messages: how many, of SMS their segments.
            by: the actor, which may be an API key with limits of its own.
            countries: country → messages to its numbers, where `by_country` says that they matter. Without it each
                costs the highest price of the channel.

        Returns:
            The charge, which `give_back` takes if they are not accepted after all; None: no limit holds for them. Or
            the limit that they would exceed.
        """
        whose = owner(account)
        rules = self._rules(whose)
        now = int(self._clock.now() * 1000)
        prices = self._settings.prices
        price = price_of(prices, channel, countries) if countries else highest(prices, channel) * messages
        charge = limits.charge(whose, now, limits.amounts(channel, messages, price), self._settings.limits, rules, by)
        return (self._store.take(charge) or charge) if charge is not None else None

    def holds(self, account: str, by: str) -> bool:
        """Return whether an account, or its actor, has limits. `account`: an account or its team space."""
        rules = self._rules(owner(account))
        return bool(limits.effective(self._settings.limits, rules.limits) or rules.keys.get(by))

    def lines(self, account: str, by: str = "") -> list[Line]:
        """Return the limits of an account and those of an actor's own, with their use today.

        Args:
            account: an account or its team space.
            by: an API key that may have limits of its own.
        """
        whose = owner(account)
        rules, day = self._rules(whose), limits.day_of(int(self._clock.now() * 1000))
        found = [(self._settings.limits, rules.limits, ""), ({}, rules.of(by), by)]
        held = [(default, own, key) for default, own, key in found if limits.effective(default, own)]
        return [
            line
            for default, own, key in held
            for line in limits.lines(default, own, self._store.used(whose, day, key), key=bool(key))
        ]

    def give_back(self, charge: Charge | None) -> None:
        """Take back what `take` has counted."""
        if charge is not None:
            self._store.give_back(charge)
