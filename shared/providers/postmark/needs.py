"""An HTTP API with webhooks. Source of its bound: Email API, "up to 50 recipients" in To, Cc and Bcc together."""

from typing import Final

from shared.providers.needs import ProviderNeeds

NEEDS: Final = ProviderNeeds(people=50)
