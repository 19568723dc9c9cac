"""Built in: calls nothing and has no secret."""

from typing import Final

from shared.providers.needs import ProviderNeeds, Transport

NEEDS: Final = ProviderNeeds(transport=Transport.NONE, built_in=True, finished_bytes=40 * 1024 * 1024)
