"""A relay of the operator's choice, which reports nothing later."""

from typing import Final

from shared.providers.needs import ProviderNeeds, Transport

NEEDS: Final = ProviderNeeds(
    transport=Transport.SMTP,
    settings=frozenset({"headers"}),
    schemes=("smtp", "smtps", "smtp+plain"),
    has_feedback=False,
    finished_bytes=40 * 1024 * 1024,
)
