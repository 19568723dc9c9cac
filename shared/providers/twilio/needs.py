"""An HTTP API; each message names the URL for its events."""

from typing import Final

from shared.providers.needs import ProviderNeeds

NEEDS: Final = ProviderNeeds(calls_back=True)
