"""The providers: every file of this package that names one `PROVIDER`. Nothing else has to be told."""

import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final

from simulator.model import Provider

Factory = Callable[[Path | None], Provider]
"""Its argument is the file of the provider's signing key, or None to make one up."""
_NOT_IMPORTED: Final = "__main__"


@cache
def providers() -> dict[str, Factory]:
    """Return name → constructor, by name."""
    package = import_module(__package__ or "")
    names = [m.name for m in pkgutil.iter_modules(package.__path__) if m.name != _NOT_IMPORTED]
    found = [getattr(import_module(f"{package.__name__}.{name}"), "PROVIDER", None) for name in names]
    return {make.name: make for make in sorted(filter(None, found), key=lambda make: str(make.name))}
