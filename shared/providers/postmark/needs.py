"""An HTTP API with webhooks, and nothing else."""

from typing import Final

from shared.providers.needs import ProviderNeeds

NEEDS: Final = ProviderNeeds()
