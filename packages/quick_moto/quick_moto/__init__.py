"""moto without what costs tests of DynamoDB most of their time; its answers stay the same.

It changes the inside of moto and botocore, so it is for one version of each: those that its `pyproject.toml` names.
"""

from importlib.metadata import requires, version

from quick_moto import backends, calls, path, sessions, tables
from quick_moto.path import create_table

__all__ = ["create_table", "install"]


def install() -> None:
    """Have moto and botocore spare these costs in this process; a repeat changes nothing.

    Raises:
        RuntimeError: moto or botocore has another version.
    """
    for needed in requires("quick-moto") or ():
        name, _, wanted = needed.partition("==")
        if version(name) != wanted:
            raise RuntimeError(
                f"quick-moto is for {needed}, and this is {version(name)}: "
                "name the new version in its pyproject.toml, and run its tests"
            )
    for part in (backends, calls, tables, path, sessions):
        part.install()
