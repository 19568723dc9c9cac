"""An HTTP API with webhooks. Source of its bound: API reference, Send Email, `to`: "Max 50"."""

from typing import Final

from shared.providers.needs import ProviderNeeds

NEEDS: Final = ProviderNeeds(shown=50)
