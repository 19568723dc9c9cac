"""Parts of Posthaste that the installed command may lack: what each is for, and how to get it."""

from importlib.util import find_spec
from typing import Final

from cli.errors import Failed

OPERATOR: Final = "this is a command of operators, which needs boto3: pipx inject posthaste-cli boto3"
CHECKOUT: Final = "this command needs a checkout of Posthaste: run `make setup` in one, then .venv/bin/posthaste"
PARTS: Final = {"boto3": OPERATOR, "botocore": OPERATOR, "aws_cdk": CHECKOUT, "infra": CHECKOUT, "simulator": CHECKOUT}
"""Missing package → what to do."""


def missing_part(error: Exception) -> str | None:
    """Return what to do about a part that is not installed; None if that is not what is wrong."""
    if not isinstance(error, ModuleNotFoundError):
        return None
    return PARTS.get((error.name or "").split(".")[0])


def check_checkout(module: str) -> None:
    """Refuse a command that starts a module which only a checkout has.

    Raises:
        Failed: the module is not installed.
    """
    if find_spec(module) is None:
        raise Failed(CHECKOUT)
