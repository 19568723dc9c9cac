"""The accounts of a deployment, for commands that read its tables."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from cli.deployment import OperatedDeployment, aws_errors, deployment
from cli.errors import Misused, NotFound
from cli.output import surroundings
from shared.domain.accounts import is_account_id
from shared.domain.audit import operator

if TYPE_CHECKING:
    from shared.adapters.dynamo.accounts.accounts import Accounts


@dataclass(frozen=True, slots=True)
class AccountService:
    """The accounts of a deployment, and who changes them. `where`: for people."""

    accounts: "Accounts"
    where: str
    found: OperatedDeployment

    @property
    def by(self) -> str:
        """The operator, as the audit log names them; asks AWS."""
        return operator(self.found.who())


@contextmanager
def opened(ctx: typer.Context, stage: str, *, aws: bool) -> Iterator[AccountService]:
    """Yield the deployment's accounts. Errors of AWS become one line.

    Args:
        stage: the stage's name; empty for the default one.
        aws: whether AWS is meant even if a local cloud is up.
    """
    from shared.adapters.dynamo.accounts.accounts import UnknownAccount  # noqa: PLC0415 - loads botocore

    found = deployment(stage, aws=aws)
    with aws_errors(found.where):
        try:
            yield AccountService(found.accounts(surroundings(ctx).clock), f"stage {found.stage}, {found.where}", found)
        except UnknownAccount as unknown:
            raise _no_account(str(unknown)) from None


@contextmanager
def opened_at(ctx: typer.Context, stage: str, account: str, *, aws: bool) -> Iterator[tuple[AccountService, str]]:
    """Yield the deployment's accounts, and the id of one of them; NotFound if it is not there.

    Args:
        stage: the stage's name; empty for the default one.
        aws: whether AWS is meant even if a local cloud is up.
    """
    with opened(ctx, stage, aws=aws) as service:
        yield service, resolve(service.accounts, account)


def _no_account(text: str) -> NotFound:
    return NotFound(f"no account {text}: see `posthaste account list`")


def resolve(accounts: "Accounts", text: str) -> str:
    """Return the id of an existing account from its id or its name."""
    if is_account_id(text):
        if accounts.get(text) is None:
            raise _no_account(text)
        return text
    named = [a.id for a in accounts.list_accounts() if a.name == text]
    if not named:
        raise _no_account(text)
    if len(named) > 1:
        raise Misused(f"{len(named)} accounts have that name: use an id, one of {', '.join(named)}")
    return named[0]
