"""The simulated vendors: the modules below `simulator.vendors` that name a `PROVIDER`. Nothing else lists them."""

import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path

from simulator import vendors
from simulator.model import Provider

Factory = Callable[[Path | None], Provider]
"""Its argument is the file of the provider's signing key, or None to make one up."""


@cache
def providers() -> dict[str, Factory]:
    """Return name → constructor, in the order of the names."""
    names = [module.name for module in pkgutil.walk_packages(vendors.__path__, f"{vendors.__name__}.")]
    found = [getattr(import_module(name), "PROVIDER", None) for name in names]
    return {make.name: make for make in sorted(filter(None, found), key=lambda make: str(make.name))}
