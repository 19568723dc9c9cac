"""The operators' door: a client of the deployment's own function, which signs each request as an AWS identity.

So an operator needs the right to call some of its routes, and none on a table, a queue or a secret.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import quote

import typer
import urllib3

from cli.client import ApiClient, installed_version
from cli.deployment import OperatedDeployment, aws_errors, deployment
from cli.environment import Destination, check_address
from cli.errors import CommandError, Failed, Misused, NotAuthorised, NotFound
from cli.output import moment, surroundings, tell
from shared.contracts import prefix
from shared.ports import Clock

ROOT: Final = "/operate"
SERVICE: Final = "execute-api"
_FORBIDDEN: Final = 403
_KINDS: Final[Mapping[int, type[CommandError]]] = {
    400: Misused,
    _FORBIDDEN: Misused,
    404: NotFound,
    409: Failed,
    422: Misused,
}
"""HTTP status of a problem → how the command ends."""


class OperatorClient(ApiClient):
    """A client of the operators' routes. Paths are without `ROOT`.

    Args:
        tries: how often a call is made that gets no answer, or a fault; 0: as often as others.
    """

    def __init__(self, found: OperatedDeployment, clock: Clock, *, tries: int = 0) -> None:
        from botocore.auth import SigV4Auth  # noqa: PLC0415 - other commands start without it

        address = found.api_url()
        check_address(address, "request", name="the API's address")
        super().__init__(Destination(address + ROOT, ""), clock, tell, installed_version())
        self._found = found
        self._tries = tries or self._tries
        self._signer = SigV4Auth(found.credentials(), SERVICE, found.session.region_name)

    def send(self, method: str, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a change, which may be repeated after a lost answer."""
        return self._call(method, path, json.dumps(body).encode(), {"Content-Type": "application/json"}, again=True)

    def _authorization(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Mapping[str, str]:
        """Return the headers that sign a request (Signature Version 4)."""
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415

        signed = AWSRequest(method, url, data=body, headers=dict(headers))
        self._signer.add_auth(signed)
        return dict(signed.headers.items())

    def _refused(self, answer: urllib3.BaseHTTPResponse, problem: Mapping[str, Any]) -> CommandError:
        where, stage = self._found.where, self._found.stage
        kind, code = _KINDS.get(answer.status), str(problem.get("code") or "")
        if answer.status == _FORBIDDEN and not code:
            return NotAuthorised(
                f"{where} refused this call: your AWS identity may not make it. Attach a policy of the stack to it, "
                f"as `aws cloudformation describe-stacks --stack-name {prefix(stage)}` shows them"
            )
        if kind is NotFound and not code:
            return NotFound(f"stack {prefix(stage)} in {where} has no operators' function: deploy this version")
        if kind is not None:
            return kind(_words(problem), problem=code)
        return super()._refused(answer, problem)


def _words(problem: Mapping[str, Any]) -> str:
    """Return what a problem says as the commands write it: without a capital and a full stop."""
    faults = problem.get("errors") or [{"message": problem["detail"]}]
    text = "; ".join(map(_fault, faults)).rstrip(".")
    return text[:1].lower() + text[1:]


def _fault(fault: Mapping[str, Any]) -> str:
    """Return what is wrong with a field. Some messages name no field: they begin with `This field`."""
    message = str(fault["message"])
    return f"{fault['field']}: {message}" if message.startswith("This field") else message


def timed(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return a row of an answer with some of its times as the commands write them."""
    return {**row, **{name: moment(row[name]) for name in names}}


def segment(name: str) -> str:
    """Return an id or a name as one segment of a path."""
    if name.strip(".") == "":
        raise Misused("this is not an id")
    return quote(name, safe="")


@contextmanager
def door(
    ctx: typer.Context, stage: str, *, aws: bool, tries: int = 0
) -> Iterator[tuple[OperatorClient, OperatedDeployment]]:
    """Yield a client of a deployment's operators' function, and the deployment. Errors of AWS become one line.

    Args:
        stage: the stage's name; empty for the default one.
        aws: whether AWS is meant even if a local cloud is up.
        tries: as of the client.
    """
    found = deployment(stage, aws=aws)
    with aws_errors(found.where):
        client = OperatorClient(found, surroundings(ctx).clock, tries=tries)
        try:
            yield client, found
        finally:
            client.close()
