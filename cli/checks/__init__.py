"""The checks of `posthaste doctor`: each is a pure function from what AWS answered to findings."""

from shared.providers.checks import Finding, Level, confirmed

__all__ = ["Finding", "Level", "confirmed"]
