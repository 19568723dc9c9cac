"""Units and lengths of time."""

from typing import Final, TypeAlias

Seconds: TypeAlias = float
"""A length of time, or a Unix time, in seconds."""
Millis: TypeAlias = int
"""A length of time, or a Unix time, in whole milliseconds. mypy refuses Seconds here (docs/adr/0096)."""

DAY_MS: Final[Millis] = 86_400_000
"""Milliseconds."""
KEY_LIFE_MS: Final[Millis] = DAY_MS
"""Milliseconds that an idempotency key is kept: after the request, or after the last scheduled send."""
