"""Lengths of time."""

from typing import Final

DAY_MS: Final = 86_400_000
"""Milliseconds."""
