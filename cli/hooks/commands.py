"""All commands of `posthaste hook`."""

from cli.hooks import deliveries, listening
from cli.hooks.endpoints import app

__all__ = ["app", "deliveries", "listening"]
