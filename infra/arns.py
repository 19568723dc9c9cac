"""Names of the stack's resources as IAM takes them."""

from collections.abc import Iterable
from typing import Final

from aws_cdk import ArnFormat, Stack
from aws_cdk.aws_dynamodb import Table

from infra.resources.storage import Storage
from infra.settings import DeploymentSettings
from shared import contracts
from shared.providers.needs import Right, needs_of

LOGS: Final = ("A#*#AUDIT",)
"""Partitions of `audit` with the entries of logs."""


def identity_rights(deployment: DeploymentSettings) -> list[Right]:
    """Return the rights to make domains known to providers, each once: credentials may share a provider and region."""
    found: list[Right] = []
    for c in deployment.settings.credentials:
        found += [x for x in needs_of(c.provider).identity_rights(c) if x not in found]
    return found


class Arns:
    """ARNs of resources, and of those that a pattern names.

    Args:
        stack: whose partition, account and region resources are in.
    """

    def __init__(self, stack: Stack, deployment: DeploymentSettings, storage: Storage) -> None:
        self._stack = stack
        self._deployment = deployment
        self._storage = storage

    def _indexes(self, *names: str) -> list[str]:
        return [f"{self._storage.records.table_arn}/index/{name}" for name in names]

    def _stream(self, table: Table) -> str:
        if table.table_stream_arn is None:
            raise ValueError(f"{table.node.path} has no stream")
        return table.table_stream_arn

    def _queue(self, name: str) -> str:
        """Return the ARN of a queue by its name: a reference from a nested stack back would be a circle."""
        return self._stack.format_arn(service="sqs", resource=name)

    def _functions(self) -> str:
        """Return the ARN of every function of the stack and of stacks nested in it: all names begin with its own."""
        name = f"{contracts.prefix(self._deployment.stage)}-*"
        return self._stack.format_arn(
            service="lambda", resource="function", resource_name=name, arn_format=ArnFormat.COLON_RESOURCE_NAME
        )

    def _log_groups(self) -> list[str]:
        """Return the ARNs of every function's log group, which CloudFormation names as the function, and the API's."""
        stack = contracts.prefix(self._deployment.stage)
        name = f"/aws/cloudformation/{stack}/*" if self._deployment.local else f"{stack}-*"
        return [
            self._stack.format_arn(
                service="logs", resource="log-group", resource_name=x, arn_format=ArnFormat.COLON_RESOURCE_NAME
            )
            for x in (name, f"/aws/vendedlogs/{stack}-api")
        ]

    def _stacks(self) -> list[str]:
        """Return the ARNs of the stack and of stacks nested in it, whose names begin with its own."""
        stack = contracts.prefix(self._deployment.stage)
        return [
            self._stack.format_arn(service="cloudformation", resource="stack", resource_name=name)
            for name in (f"{stack}/*", f"{stack}-*/*")
        ]

    def _lanes(self) -> str:
        name = contracts.lane_queue_name(self._deployment.stage, "*")
        return self._stack.format_arn(service="sqs", resource=name)

    def _alarms(self) -> str:
        """Return the ARN of every alarm: a list by prefix is asked for all of them, and shows no more than states."""
        return self._stack.format_arn(
            service="cloudwatch", resource="alarm", resource_name="*", arn_format=ArnFormat.COLON_RESOURCE_NAME
        )

    def _console_key(self) -> str:
        return self._secret(f"{contracts.console_secret_name(self._deployment.stage)}-??????")

    def _edge_keys(self) -> str:
        return self._secret(f"{contracts.edge_secret_name(self._deployment.stage)}-??????")

    def _hook_key(self) -> str:
        return self._secret(f"{contracts.hooks_secret_name(self._deployment.stage)}-??????")

    def _link_keys(self) -> str:
        return self._secret(f"{contracts.unsubscribe_secret_name(self._deployment.stage)}-??????")

    def _address_keys(self) -> str:
        return self._secret(f"{contracts.addresses_secret_name(self._deployment.stage)}-??????")

    def _secret(self, name: str) -> str:
        return self._stack.format_arn(
            service="secretsmanager", resource="secret", resource_name=name, arn_format=ArnFormat.COLON_RESOURCE_NAME
        )

    def _places(self, right: Right, names: Iterable[str]) -> list[str]:
        """Return the ARNs of what a right of a provider names, as in `identity/*`; `*` is all there is."""
        return [
            n
            if n == "*"
            else self._stack.format_arn(
                service=right.service,
                region=right.region or None,
                resource=n.partition("/")[0],
                resource_name=n.partition("/")[2],
            )
            for n in names
        ]
