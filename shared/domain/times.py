"""Lengths of time."""

from typing import Final

DAY_MS: Final = 86_400_000
"""Milliseconds."""
KEY_LIFE_MS: Final = DAY_MS
"""Milliseconds that an idempotency key is kept: after the request, or after the last scheduled send."""
