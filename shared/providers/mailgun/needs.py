"""An HTTP API with webhooks, whose signatures cover a time and a token but no body.

Source of its bound: User manual, Batch sending.
"""

from typing import Final

from shared.providers.needs import ProviderNeeds

NEEDS: Final = ProviderNeeds(unbound=True, finished_bytes=25_000_000, people=1_000)
