"""An HTTP API with webhooks. Source of its bound: Mail Send, limitations (to, cc and bcc of a request together)."""

from typing import Final

from shared.providers.needs import ProviderNeeds

NEEDS: Final = ProviderNeeds(people=1_000)
