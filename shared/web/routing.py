"""Routes as data: the router answers by them, and the OpenAPI document is generated from them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import Any, Final, Generic, Protocol, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from shared.domain.accounts import ApiKey, Scope
from shared.domain.ids import named
from shared.domain.notices.notifier import Notifier
from shared.frozen import dataclass
from shared.web.http import Answer, Request, in_utf_8
from shared.web.loose import refuse_loose
from shared.web.problems import Problem, of_validation


class Scheme(StrEnum):
    """How a caller proves who it is."""

    KEY = "Bearer"
    """An API key."""
    BASIC = "Basic"
    """A notifier's name and password."""


class Nothing(BaseModel):
    """No parameters, or a body that may be left out and has no fields."""

    model_config = ConfigDict(extra="forbid", title="Empty", defer_build=True)


def parameters(path: str) -> list[str]:
    """Return the names of a template's parameters."""
    return [part[1:-1] for part in path.strip("/").split("/") if part.startswith("{")]


S = TypeVar("S")
Q = TypeVar("Q", bound=BaseModel)
B = TypeVar("B", bound=BaseModel)
GREEDY: Final = frozenset({"address", "message_id", "prefix"})
"""Path parameters that take the rest of the path, or all but its literal end: they may have slashes."""


_OF_BODIES: Final = frozenset({"malformed_json", "invalid_utf8", "validation_failed"})
"""Codes of faults that a body may have."""


@dataclass(frozen=True, slots=True)
class Call(Generic[S, Q, B]):
    """One authenticated, validated call.

    Attributes:
        request: as it came.
        services: the function's own.
        key: the caller's API key; of a notifier one that only reads its account's things.
        path: the path's parameters.
        query: the query's.
        body: the body.
        notifier: the caller, if it is a notifier.
    """

    request: Request
    services: S
    key: ApiKey
    path: Mapping[str, str]
    query: Q
    body: B
    notifier: Notifier | None = None


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks. `key`: as in `Call`; `notifier`: None for an API key."""

    key: ApiKey
    notifier: Notifier | None = None


@dataclass(frozen=True, slots=True)
class Form:
    """Another form of problems than this API's own.

    Attributes:
        model: of the body.
        status: code of a problem → HTTP status.
        answer: makes the answer, from the problem and the request's id.
    """

    model: type[BaseModel]
    status: Callable[[str], int]
    answer: Callable[[Problem, str], Answer]


@dataclass(frozen=True, slots=True)
class Route:
    """One operation.

    Attributes:
        method: of HTTP.
        path: template, with parameters in braces.
        name: unique; the OpenAPI operationId.
        summary: a line for people; `description`: further text.
        scope: what the key needs, or one of `areas`.
        handler: what answers.
        answers: status → model of the 2xx answers.
        problems: codes besides the common ones.
        tag: the part of the document that shows it; `section` sets it.
        query: its model; BaseModel: the one in the handler's annotation, `call: Call[Query, Body]`.
        body: likewise.
        body_required: whether the body may not be left out; None: it may if all its fields have defaults.
        idempotent: whether an Idempotency-Key has an effect.
        media: other types of body than JSON, which the handler reads by itself.
        bytes_media: those of them that are no text: any bytes are taken.
        schemes: how a caller may prove who it is; a notifier needs no scope.
        status: a notifier asks for the results of its notices.
        tagged: the answer has an ETag, and `If-None-Match` has an effect.
        key_use: what an Idempotency-Key does where it does not bring back the first answer; empty: nothing.
        refusal: the code of every body that is not valid; empty: each kind of fault has its own.
        form: of its problems; None: this API's own.
        headers: of its 2xx answers, name → description.
        while_suspended: whether a suspended account may call it, or its handler asks; None: it may if this reads or
            deletes.
        areas: scopes that suffice in place of `scope`; `functions/api/access/areas.py` sets them.
        key_header: another header that may hold the key, as it is, in lower case; empty: there is none.
        brief: the document names it and describes no fields: another service's documentation does.
    """

    method: str
    path: str
    name: str
    summary: str
    scope: Scope
    handler: Callable[[Call[Any, Any, Any]], Answer]
    answers: Mapping[int, type[BaseModel]]
    problems: Sequence[str] = ()
    description: str = ""
    tag: str = ""
    query: type[BaseModel] = BaseModel
    body: type[BaseModel] = BaseModel
    body_required: bool | None = None
    idempotent: bool = False
    media: Sequence[str] = ()
    bytes_media: Sequence[str] = ()
    schemes: Sequence[Scheme] = (Scheme.KEY,)
    status: bool = False
    tagged: bool = False
    refusal: str = ""
    key_use: str = ""
    form: Form | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    while_suspended: bool | None = None
    areas: tuple[Scope, ...] = ()
    key_header: str = ""
    brief: bool = False
    scopes: frozenset[Scope] = field(init=False)

    def __post_init__(self) -> None:
        """Take the models that are not given from the handler's annotation."""
        _, query, body = get_args(self.handler.__annotations__["call"])
        if self.query is BaseModel:
            object.__setattr__(self, "query", query)
        if self.body is BaseModel:
            object.__setattr__(self, "body", body)
        object.__setattr__(self, "scopes", frozenset(self.needs))

    @property
    def needs(self) -> tuple[Scope, ...]:
        """The scopes of which a key needs one, the narrowest first."""
        return (*self.areas, self.scope)

    @property
    def needs_body(self) -> bool:
        """Whether the body may not be left out."""
        if self.body_required is not None:
            return self.body_required
        return any(x.is_required() for x in self.body.model_fields.values())

    @property
    def sends(self) -> bool:
        """Whether it sends, or changes what is sent: no number of other calls uses up the allowance for it."""
        return self.scope is Scope.SEND and self.method != "GET"

    @property
    def shut(self) -> bool:
        """Whether it is refused to a suspended account."""
        return self.method not in {"GET", "DELETE"} if self.while_suspended is None else not self.while_suspended

    @property
    def parameters(self) -> list[str]:
        """The names of the path's parameters."""
        return parameters(self.path)

    def answer(self, request: Request, services: object, caller: Principal, path: Mapping[str, str]) -> Answer:
        """Validate and call the handler."""
        query = _query(self.query, request)
        return self.handler(Call(request, services, caller.key, path, query, self._body(request), caller.notifier))

    def _body(self, request: Request) -> BaseModel:
        if not self.refusal:
            return self._valid(request)
        try:
            return self._valid(request)
        except Problem as found:
            if found.code not in _OF_BODIES:
                raise
            raise Problem(self.refusal, errors=found.errors) from None

    def _valid(self, request: Request) -> BaseModel:
        if self.body is Nothing and request.method in {"GET", "DELETE"}:
            return self.body()
        kind = media_type(request)
        if kind not in self.bytes_media:
            _in_utf8(request)
        if kind in self.media:
            return self.body.model_construct()
        if request.body and kind not in {"", "application/json"}:
            taken = " or ".join(("application/json", *self.media))
            raise Problem("unsupported_media_type", f"Send the body as {taken}.")
        if not request.body and not self.needs_body:
            return self.body()
        refuse_loose(request.body, large=bool(self.refusal))
        try:
            return self.body.model_validate_json(request.body)
        except ValidationError as error:
            raise of_validation(error, self.body) from None


def _in_utf8(request: Request) -> None:
    """Refuse a body that is compressed or in another encoding than UTF-8, whether it says so or not."""
    if request.body and request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Problem("unsupported_media_type", "The body is compressed. Send it without Content-Encoding.")
    in_utf_8(request.headers)
    try:
        request.body.decode()
    except UnicodeDecodeError:
        raise Problem("invalid_utf8") from None


@dataclass(frozen=True, slots=True)
class Page:
    """An operation without authentication and validation: health, the document, the documentation."""

    path: str
    name: str
    summary: str
    content_type: str
    handler: Callable[[], Answer]
    method: str = field(default="GET", init=False)


@dataclass(frozen=True, slots=True)
class PublicRequest(Generic[S]):
    """A call of somebody without a key. `path`: the path's parameters."""

    request: Request
    services: S
    path: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Public:
    """An operation for people without a key, who prove by the link itself that it is theirs.

    The type of the request's body is not checked.

    Attributes:
        answers: the types of its 200.
        description: more than the summary.
        conflict: what a 409 means; empty if there is none.
    """

    method: str
    path: str
    name: str
    summary: str
    handler: Callable[[PublicRequest[Any]], Answer]
    answers: Sequence[str]
    description: str = ""
    conflict: str = ""


@dataclass(frozen=True, slots=True)
class Exchange:
    """An operation by which a client exchanges what it has for a token. It finds out by itself who asks.

    Attributes:
        body: the model of the form that it takes.
        answer: the model of its 200.
        form: of its problems.
        problems: their codes.
        example: the fields of a form; a value may name a variable of the shell.
        description: more than the summary.
    """

    method: str
    path: str
    name: str
    summary: str
    handler: Callable[[PublicRequest[Any]], Answer]
    body: type[BaseModel]
    answer: type[BaseModel]
    form: Form
    problems: Sequence[str]
    example: Mapping[str, str]
    description: str = ""


def _query(model: type[Q], request: Request) -> Q:
    try:
        return model.model_validate_strings(dict(request.query))
    except ValidationError as error:
        raise of_validation(error, model) from None


def media_type(request: Request) -> str:
    """Return the type of a request's body, without parameters, in lower case."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


Operation = Route | Page | Public | Exchange


def section(tag: str, *routes: Route) -> tuple[Route, ...]:
    """Return routes as those of a part of the document; `tag`: the part's name."""
    return tuple(replace(route, tag=tag) for route in routes)


class Placed(Protocol):
    """Anything that answers a method at a path template."""

    @property
    def method(self) -> str:
        """The method of HTTP."""

    @property
    def path(self) -> str:
        """The template, with parameters in braces."""


R = TypeVar("R", bound=Placed)


def find(routes: Sequence[R], request: Request) -> tuple[R, dict[str, str]]:
    """Return the operation of a request and the path's parameters.

    Raises:
        Problem: not_found; method_not_allowed, with the header Allow.
    """
    allowed: set[str] = set()
    for route in routes:
        path = _match(route.path, request.segments)
        if path is not None:
            if route.method == request.method:
                return route, path
            allowed.add(route.method)
    if allowed:
        raise Problem("method_not_allowed", headers={"Allow": ", ".join(sorted(allowed))})
    shown = named("path", f"/{'/'.join(request.segments)}")
    raise Problem("not_found", f"This API has no {shown}. /docs shows all paths.")


def matches(template: str, segments: Sequence[str]) -> bool:
    """Return whether a path has the form of a template. `segments`: as in `Request`."""
    return _match(template, segments) is not None


def _match(template: str, segments: Sequence[str]) -> dict[str, str] | None:
    parts = template.strip("/").split("/")
    found: dict[str, str] = {}
    for i, part in enumerate(parts):
        if i >= len(segments):
            return None
        if not part.startswith("{"):
            if segments[i] != part:
                return None
        elif part[1:-1] in GREEDY:
            end = len(segments) - len(parts) + i + 1
            found[part[1:-1]] = "/".join(segments[i:end])
            return found if found[part[1:-1]] and [*segments[end:]] == parts[i + 1 :] else None
        elif segments[i]:
            found[part[1:-1]] = segments[i]
        else:
            return None
    return found if len(parts) == len(segments) else None
