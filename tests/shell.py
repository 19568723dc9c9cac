"""Settings of the shell: tests in memory work without them, deployed ones with them."""

from collections.abc import MutableMapping
from typing import Final

PREFIXES: Final = ("AWS_", "POSTHASTE_")
"""Names that lead to a cloud. A shell that has read `.local/env` has them."""


class Shell:
    """An environment without the settings of the shell, until a deployed test needs them.

    Args:
        environment: of this process. Its settings are taken out at once.
    """

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        self._environment = environment
        self._other: dict[str, str] = {}
        self._deployed = True
        self.turn(deployed=False)

    def turn(self, *, deployed: bool) -> None:
        """Put the settings for a test of the other kind into place, as the last test of that kind has left them."""
        if deployed == self._deployed:
            return
        here = {name: value for name, value in self._environment.items() if name.startswith(PREFIXES)}
        for name in here:
            del self._environment[name]
        self._environment.update(self._other)
        self._other, self._deployed = here, deployed
