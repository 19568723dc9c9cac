"""How many people each provider takes in one message, as it declares it."""

from shared.engine.intake.routes import MessageBounds
from shared.providers.needs import needs_of


def message_bounds(provider: str) -> MessageBounds:
    """Return the bounds of a provider by its name in the settings."""
    needs = needs_of(provider)
    return MessageBounds(needs.people, needs.shown)
