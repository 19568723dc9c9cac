"""Calls as this function's handlers get them: of an operator, whom API Gateway has identified by IAM."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict

from functions.operate.services import OperateServices
from shared.domain.accounts import ALL_SCOPES, ApiKey, Scope
from shared.domain.audit import EVERYONE, checked_reason, operator
from shared.web import routing
from shared.web.http import Answer
from shared.web.problems import Problem
from shared.web.routing import B, Principal, Q, Route

Call: TypeAlias = routing.Call[OperateServices, Q, B]
"""A call of an operator. `key.id` is the operator, as the audit log names them."""

ROOT: Final = "/operate"
"""Begins the path of each route. IAM grants routes by method and path, so a group of rights is a group of paths."""


class OperateQuery(BaseModel):
    """OperateQuery parameters: unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True, defer_build=True)


class OperateBody(BaseModel):
    """A body: unknown fields are refused, and JSON types are taken as they are."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True, defer_build=True)


class Why(OperateBody):
    """Why a change is made."""

    reason: Annotated[str, AfterValidator(checked_reason)]


class OperateView(BaseModel):
    """An answer. Times are Unix milliseconds: the command writes them for people."""

    model_config = ConfigDict(extra="forbid", defer_build=True, from_attributes=True)

    def answer(self) -> Answer:
        """Return it as an answer."""
        return Answer(200, self.model_dump_json())


def route(
    method: str,
    path: str,
    summary: str,
    handler: Callable[[Call[Any, Any]], Answer],
    answer: type[BaseModel],
    *problems: str,
) -> Route:
    """Return a route of operators.

    IAM has decided who may call it, so its scope means nothing.

    Args:
        path: template, without `ROOT`.
        answer: the model of its 200.
        problems: codes besides the common ones.
    """
    name = handler.__qualname__
    return Route(method, f"{ROOT}{path}", name, summary, Scope.ADMIN, handler, {200: answer}, problems)


def caller_of(event: Mapping[str, Any]) -> Principal:
    """Return the operator of an event. Only API Gateway writes the part of it that is read.

    Raises:
        Problem: unauthorized: no route with IAM's authorisation was called.
    """
    authorizer = (event.get("requestContext") or {}).get("authorizer") or {}
    arn = (authorizer.get("iam") or {}).get("userArn")
    if not arn:
        raise Problem("unauthorized", "Sign the request as an AWS identity with the right execute-api:Invoke.")
    return Principal(ApiKey(operator(str(arn)), EVERYONE, test=False, scopes=ALL_SCOPES, name="", created_at=0))
