"""A deployment as its operators reach it: the AWS account (or the emulator), the stack and its tables and secrets.

The table's name comes from POSTHASTE_RECORDS_TABLE in the environment, or from the outputs of the stage's stack. Boto3
is imported when it is first needed: the other commands start without it.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cli.environment import AWS_ENDPOINT, URL, LocalCloud, local_cloud
from cli.errors import CommandError, Failed, Misused, NotAuthorised, NotFound, Unreachable
from shared.contracts import (
    AUDIT_DAYS,
    ENV_AUDIT_TABLE,
    ENV_IDENTITIES_TABLE,
    ENV_OPERATE_URL,
    ENV_OPS_TABLE,
    ENV_RECORDS_TABLE,
    ENV_SETTINGS,
    Settings,
    prefix,
)
from shared.ports import Clock, Retriable

if TYPE_CHECKING:
    import boto3
    from botocore.credentials import Credentials

    from shared.adapters.dynamo.accounts.accounts import Accounts
    from shared.adapters.dynamo.client import Dynamo
    from shared.adapters.dynamo.credentials.switchboard import Switchboard
    from shared.adapters.dynamo.homes import Homes
    from shared.domain.recipients.address_names import NamesState

ENV_STAGE: Final = "POSTHASTE_STAGE"
DEFAULT_STAGE: Final = "dev"
API_OUTPUT: Final = "ApiUrl"
WEBHOOKS_OUTPUT: Final = "WebhooksUrl"
ORIGIN_OUTPUT: Final = "ApiOrigin"
TARGET_OUTPUT: Final = "ApiTarget"
RECORDS_OUTPUT: Final = "RecordsTable"
OPS_OUTPUT: Final = "OpsTable"
IDENTITIES_OUTPUT: Final = "IdentitiesTable"
AUDIT_TABLE_OUTPUT: Final = "AuditTable"
AUDIT_OUTPUT: Final = "AuditDays"
FUNCTION: Final = "AWS::Lambda::Function"
NESTED: Final = "AWS::CloudFormation::Stack"

Stage = Annotated[
    str, typer.Option(envvar=ENV_STAGE, help="The deployment's stage; dev unless set.", show_default=False)
]
Aws = Annotated[bool, typer.Option("--aws", help="Use the AWS account, even if a local cloud's settings are found.")]

FORBIDDEN: Final = frozenset({"AccessDenied", "AccessDeniedException", "AuthorizationError", "UnauthorizedOperation"})
"""AWS's error codes for an identity that may not do this; SNS has a code of its own."""
REFUSED: Final = FORBIDDEN | {
    "AuthFailure",
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "MissingAuthenticationTokenException",
    "RequestExpired",
    "RequestInTheFuture",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
}
"""AWS's error codes for an identity that may not do this, or that it does not know."""


@dataclass(frozen=True)
class OperatedDeployment:
    """One stage of one AWS account and region, or of the local cloud.

    Attributes:
        stage: part of every name.
        where: for people: the region, or the local cloud's file.
        session: of boto3.
        options: of every client of that session.
        records: the table's name, empty until asked for.
        api: the API's address, without a slash at its end; empty until asked for.
    """

    stage: str
    where: str
    session: "boto3.Session"
    options: Mapping[str, Any]
    local: bool
    records: str = ""
    api: str = ""

    @property
    def full_name(self) -> str:
        """Its stage and where it is, for people."""
        return f"stage {self.stage}, {self.where}"

    def api_url(self) -> str:
        """Return the API's address, without a slash at its end; NotFound if there is no such deployment."""
        return self.api or self.output(API_OUTPUT).rstrip("/")

    def credentials(self) -> "Credentials":
        """Return the operator's AWS credentials.

        Raises:
            NoCredentialsError: there are none.
        """
        from botocore.exceptions import NoCredentialsError  # noqa: PLC0415 - see above

        if (found := self.session.get_credentials()) is None:
            raise NoCredentialsError
        return found

    def accounts(self, clock: Clock) -> "Accounts":
        """Return the accounts of this deployment; NotFound if there is no such deployment."""
        from shared.adapters.dynamo.accounts.accounts import Accounts  # noqa: PLC0415 - see above

        return Accounts(self.client("dynamodb"), self.table(), clock, audit_days=self.audit_days(), homes=self.homes())

    def switchboard(self, clock: Clock) -> "Switchboard":
        """Return the kill switches of this deployment; NotFound if there is no such deployment."""
        from shared.adapters.dynamo.credentials.switchboard import Switchboard  # noqa: PLC0415 - see above

        return Switchboard(
            self.client("dynamodb"),
            records=self.table(),
            ops=self.ops(),
            clock=clock,
            audit_days=self.audit_days(),
            homes=self.homes(),
        )

    def homes(self) -> "Homes":
        """Return where identities and the audit log are: in `records`, if the stack is of an earlier version."""
        from shared.adapters.dynamo.homes import Homes  # noqa: PLC0415 - see above

        names = os.environ.get(ENV_IDENTITIES_TABLE, ""), os.environ.get(ENV_AUDIT_TABLE, "")
        if not (self.records and all(names)):
            try:
                names = self._outputs.get(IDENTITIES_OUTPUT, ""), self._outputs.get(AUDIT_TABLE_OUTPUT, "")
            except NotFound:  # a table that the environment names, without a stack
                names = "", ""
        return Homes(names[0], names[1], both=True)

    def audit_days(self) -> int:
        """Return for how long an entry of the audit log is kept; NotFound if there is no such deployment."""
        if self.records:
            text = os.environ.get(ENV_SETTINGS)
            return Settings.loads(text).audit_days if text else AUDIT_DAYS
        return int(self._outputs.get(AUDIT_OUTPUT, AUDIT_DAYS))  # a stack of an earlier version has none

    def settings(self) -> Settings:
        """Return the settings as the deployed functions have them; NotFound if there is no such deployment.

        If the environment also names the tables, its settings come first.
        """
        text = os.environ.get(ENV_SETTINGS) if self.records else None
        if text:
            return Settings.loads(text)
        variables = self.environment()
        if not variables:
            raise NotFound(f"no function of stack {prefix(self.stage)} in {self.where} has settings: deploy it again")
        return Settings.loads(variables[ENV_SETTINGS])

    def environment(self) -> Mapping[str, str]:
        """Return the variables of a deployed function that has the settings, empty if none has; NotFound as above."""
        functions = self.client("lambda")
        for name in self.resources(FUNCTION):
            found = functions.get_function_configuration(FunctionName=name)
            variables: Mapping[str, str] = found.get("Environment", {}).get("Variables", {})
            if ENV_SETTINGS in variables:
                return variables
        return {}

    def table(self) -> str:
        """Return the name of the table `records`; NotFound if there is no such deployment."""
        return self.records or self.output(RECORDS_OUTPUT)

    def ops(self) -> str:
        """Return the name of the table `ops`; NotFound if there is no such deployment."""
        return (os.environ.get(ENV_OPS_TABLE, "") if self.records else "") or self.output(OPS_OUTPUT)

    def dynamo(self, clock: Clock) -> "Dynamo":
        """Return DynamoDB with the tables of this deployment; NotFound if there is no such deployment."""
        from shared.adapters.dynamo.client import Dynamo  # noqa: PLC0415 - see above

        client = self.client("dynamodb")
        return Dynamo(client, sleep=clock.sleep, audit_days=self.audit_days(), homes=self.homes())

    def names(self, clock: Clock) -> "NamesState":
        """Return which names of addresses are stored; NotFound if there is no such deployment."""
        from shared.adapters.dynamo.recipients.stored_names import read_state  # noqa: PLC0415 - see above

        return read_state(self.dynamo(clock), self.table())

    def who(self) -> str:
        """Return who asks, as AWS knows the identity: its ARN."""
        return str(self.client("sts").get_caller_identity()["Arn"])

    def resources(self, kind: str) -> list[str]:
        """Return the physical ids of the stack's resources of a CloudFormation type, those of nested stacks included.

        Raises:
            NotFound: there is no such stack.
        """
        found: list[str] = []
        stacks = [prefix(self.stage)]
        for stack in stacks:
            with self._stack_there():
                for page in (
                    self.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack)
                ):
                    for row in page["StackResourceSummaries"]:
                        physical = row.get("PhysicalResourceId", "")
                        if row["ResourceType"] == kind and physical:
                            found.append(physical)
                        elif row["ResourceType"] == NESTED and physical:
                            stacks.append(physical)
        return found

    def secret(self, name: str) -> str:
        """Return the text of a secret, empty if there is none or it has no value."""
        client = self.client("secretsmanager")
        try:
            return str(client.get_secret_value(SecretId=name).get("SecretString", ""))
        except client.exceptions.ResourceNotFoundException:
            return ""

    def stack(self) -> Mapping[str, Any]:
        """Return the stack as `cloudformation.describe_stacks` has it; NotFound if there is none."""
        with self._stack_there():
            found = self.client("cloudformation").describe_stacks(StackName=prefix(self.stage))
        stack: Mapping[str, Any] = found["Stacks"][0]
        return stack

    def output(self, name: str) -> str:
        """Return an output of the stack; NotFound if there is no such stack or output."""
        if name in self._outputs:
            return self._outputs[name]
        raise NotFound(
            f"stack {prefix(self.stage)} in {self.where} has no output {name}: deploy this version of Posthaste"
        )

    @cached_property
    def _outputs(self) -> Mapping[str, str]:
        return {x["OutputKey"]: str(x["OutputValue"]) for x in self.stack().get("Outputs", [])}

    def client(self, service: str, region: str | None = None, *, attempts: int = 0, connections: int = 0) -> Any:
        """Return a client of an AWS service.

        Args:
            attempts: how often a call is made that is throttled, if it is more than the usual.
            connections: the most calls at once, if they are more than the usual ten.
        """
        options = dict(self.options)
        more: dict[str, Any] = {"max_pool_connections": connections} if connections else {}
        if attempts:
            more["retries"] = {"mode": "standard", "total_max_attempts": attempts}
        if more:
            from botocore.config import Config  # noqa: PLC0415 - see above

            options["config"] = options["config"].merge(Config(**more))
        return self.session.client(service, region_name=region, **options)  # type: ignore[call-overload]

    @contextmanager
    def _stack_there(self) -> Iterator[None]:
        from botocore.exceptions import ClientError  # noqa: PLC0415 - see above

        try:
            yield
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") != "ValidationError":
                raise
            also = ", or add --aws for the AWS account" if self.local else f", or set {ENV_RECORDS_TABLE}"
            raise NotFound(
                f"no stack {prefix(self.stage)} in {self.where}: deploy it, name another with --stage{also}"
            ) from None


def _on_aws(stage: str) -> OperatedDeployment:
    """Return a stage in the operator's account."""
    from botocore.config import Config  # noqa: PLC0415 - see above

    session = _session()
    where = os.environ.get(AWS_ENDPOINT) or f"AWS {session.region_name}"
    options = {"config": Config(connect_timeout=5, read_timeout=20, retries={"total_max_attempts": 3})}
    records = os.environ.get(ENV_RECORDS_TABLE, "")
    api = os.environ.get(ENV_OPERATE_URL, "").rstrip("/")
    return OperatedDeployment(stage, where, session, options, local=False, records=records, api=api)


def _session() -> Any:
    """Return the boto3 session of the operator's profile."""
    import boto3  # noqa: PLC0415 - see above
    from botocore.exceptions import ProfileNotFound  # noqa: PLC0415

    try:
        session = boto3.Session(region_name=os.environ.get("AWS_REGION") or None)  # boto3 knows only the other name
    except ProfileNotFound:
        raise NotAuthorised("AWS_PROFILE names a profile that does not exist: `aws configure list-profiles`") from None
    if session.region_name is None:
        raise Misused("no AWS region: set AWS_REGION or AWS_PROFILE, or start a local cloud with `posthaste local up`")
    return session


def deployment(stage: str, *, aws: bool) -> OperatedDeployment:
    """Return the deployment that an operator means.

    The local cloud's `env` file is used as a whole (endpoint, keys, region), unless the environment names another
    endpoint or `aws` is set. Creating or changing things locally by mistake does no harm; the reverse would.

    Args:
        stage: from the command line or POSTHASTE_STAGE; empty: what the settings say, else dev.
        aws: pass a local cloud by.
    """
    local = None if aws else local_cloud()
    if local is not None and local.keeps(AWS_ENDPOINT):
        return _local(stage or local.values.get(ENV_STAGE, "") or DEFAULT_STAGE, local)
    if aws and os.environ.get(AWS_ENDPOINT):
        raise Misused(f"--aws, but {AWS_ENDPOINT} is set: unset it")
    return _on_aws(stage or _stage_of_settings() or DEFAULT_STAGE)


def _stage_of_settings() -> str:
    text = os.environ.get(ENV_SETTINGS)
    if not text:
        return ""
    try:
        return Settings.loads(text).stage
    except (ValueError, KeyError, TypeError):
        raise Misused(f"{ENV_SETTINGS} is not valid: unset it") from None


def _local(stage: str, local: LocalCloud) -> OperatedDeployment:
    import boto3  # noqa: PLC0415 - see above
    import botocore.session  # noqa: PLC0415
    from botocore.config import Config  # noqa: PLC0415

    # The developer's own profiles and files play no part: not even a profile that does not exist.
    nowhere = (None, None, os.devnull, None)
    apart = botocore.session.Session(
        {"profile": (None, None, None, None), "config_file": nowhere, "credentials_file": nowhere}
    )
    session = boto3.Session(
        aws_access_key_id=local.values.get("AWS_ACCESS_KEY_ID", "test"),
        aws_secret_access_key=local.values.get("AWS_SECRET_ACCESS_KEY", "test"),
        region_name=local.values.get("AWS_REGION", "us-east-1"),
        botocore_session=apart,
    )
    options = {
        "endpoint_url": local.values[AWS_ENDPOINT],
        "config": Config(proxies={}, connect_timeout=5, read_timeout=20, retries={"total_max_attempts": 3}),
    }
    api = local.values.get(URL, "").rstrip("/")
    return OperatedDeployment(stage, f"the local cloud ({local.file})", session, options, local=True, api=api)


@contextmanager
def aws_errors(where: str) -> Iterator[None]:
    """Turn what AWS and boto3 raise into one line that says what to do."""
    from botocore import exceptions as sdk  # noqa: PLC0415 - see above

    try:
        yield
    except CommandError:
        raise
    except Retriable:
        raise Unreachable(f"{where} does not answer: try again in a moment") from None
    except (sdk.NoCredentialsError, sdk.PartialCredentialsError, sdk.TokenRetrievalError, sdk.SSOError):
        raise NotAuthorised("no valid AWS credentials: set AWS_PROFILE, or log in with `aws sso login`") from None
    except sdk.ClientError as error:
        found = error.response.get("Error", {})
        code = found.get("Code", "")
        if code in REFUSED:
            do = "check the AWS identity" if code in FORBIDDEN else "check the AWS identity, and this machine's clock"
            raise NotAuthorised(f"{where} refused {error.operation_name} ({code}): {do}") from None
        if code == "ResourceNotFoundException":
            raise NotFound(f"{where} has no such table or secret ({error.operation_name}): check --stage") from None
        raise Failed(f"{error.operation_name} failed: {code} {found.get('Message', '')}".rstrip()) from None
    except (sdk.ConnectionError, sdk.HTTPClientError):
        raise Unreachable(f"cannot reach {where}: check the network, or that the local cloud is up") from None
    except sdk.BotoCoreError as error:
        raise Failed(f"the AWS client failed: {type(error).__name__}") from None
