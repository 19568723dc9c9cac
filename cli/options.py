"""Options of commands that are more than a word."""

from collections.abc import Sequence

from cli.errors import Misused


def pairs(option: str, values: Sequence[str]) -> dict[str, str]:
    """Return the values of a repeated option by their names; Misused if one is not NAME=VALUE."""
    found = [entry.partition("=") for entry in values]
    if not all(name and equals for name, equals, _ in found):
        raise Misused(f"{option} has the form NAME=VALUE")
    return {name: value for name, _, value in found}
