"""Whose endpoints a command means."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from inspect import Signature, signature
from typing import Annotated, Any

import typer

from cli.client import connect
from cli.deployment import Aws, Stage
from cli.hooks.door import ApiHooks, HookBackend

Deployment = Annotated[
    bool,
    typer.Option("--deployment", help="The deployment's own endpoints, for its operators; needs AWS, not an API key."),
]


@dataclass(frozen=True, slots=True)
class HookOwner:
    """Whose endpoints are meant: those of the account whose key the environment has, or the deployment's own.

    Attributes:
        deployment: the deployment's own.
        stage: of the deployment; empty for the default one.
        aws: the AWS account is meant even if a local cloud is up.
    """

    ctx: typer.Context
    deployment: bool
    stage: str
    aws: bool

    def door(self) -> AbstractContextManager[HookBackend]:
        """Return where the endpoints are seen to."""
        if not self.deployment:
            return nullcontext(ApiHooks(connect(self.ctx)))
        from cli.hooks.operating import operated  # noqa: PLC0415 - loads botocore

        return operated(self.ctx, self.stage, aws=self.aws)


def of_owner(app: typer.Typer, name: str | None = None) -> Callable[[Callable[..., None]], None]:
    """Return what makes a command of a function whose parameters are a `HookOwner`, its own, and `json` as the last.

    Instead of the `HookOwner`, the command has the options that say which one is meant, before `--json`.

    Args:
        name: of the command; by default that of the function, whose docstring is the help.
    """

    def add(work: Callable[..., None]) -> None:
        def command(
            ctx: typer.Context, *, deployment: Deployment = False, stage: Stage = "", aws: Aws = False, **own: Any
        ) -> None:
            work(HookOwner(ctx, deployment, stage, aws), **own)

        (_, *own, json), (ctx, *options, _) = (signature(x).parameters.values() for x in (work, command))
        command.__signature__ = Signature([ctx, *own, *options, json])  # type: ignore[attr-defined]  # typer reads it
        app.command(name or work.__name__, help=work.__doc__)(command)

    return add
