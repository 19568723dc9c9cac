"""Whose endpoints a command means."""

from contextlib import AbstractContextManager, nullcontext

import typer

from cli.client import connect
from cli.hooks.door import ApiHooks, HookDoor


def opened_door(ctx: typer.Context, *, deployment: bool, stage: str, aws: bool) -> AbstractContextManager[HookDoor]:
    """Return where the endpoints are seen to.

    Args:
        deployment: the deployment's own endpoints are meant, not those of an account.
        stage: of the deployment; empty for the default one.
        aws: the AWS account is meant even if a local cloud is up.
    """
    if not deployment:
        return nullcontext(ApiHooks(connect(ctx)))
    from cli.hooks.operating import operated  # noqa: PLC0415 - loads botocore

    return operated(ctx, stage, aws=aws)
