"""Errors that a call can raise.

```
PosthasteError
├── ApiError                    the API refused the call; `code` is stable
│   ├── InvalidRequestError     400, 413, 415, 422: the request is wrong
│   │   └── IdempotencyMismatchError   another request used this key
│   ├── AuthenticationError     401: the key is not valid
│   ├── ForbiddenError          403: the key or its account may not do this
│   ├── NotFoundError           404
│   ├── ConflictError           409: not in this state
│   ├── RateLimitedError        429: too many requests, for longer than the client waits
│   └── ServerError             5xx
├── ConnectionFailedError       no answer
└── WebhookError                a webhook that is not genuine, or too old
```
"""

from collections.abc import Mapping
from typing import Any, Final


class PosthasteError(Exception):
    """Anything that this package raises about a call or a webhook. It can be copied and pickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)


class ConnectionFailedError(PosthasteError):
    """No answer came. A call that has an idempotency key can be made again under the same key.

    Attributes:
        sent: whether the API may have taken the call.
        key: the call's idempotency key, None if it takes none.
    """

    def __init__(self, text: str, *, sent: bool, key: str | None) -> None:
        super().__init__(text)
        self.sent = sent
        self.key = key


class WebhookError(PosthasteError):
    """The request is no webhook of this endpoint, or it is too old. Answer it with 401."""


class ApiError(PosthasteError):
    """The API refused a call: the problem details of RFC 9457.

    Attributes:
        status: of HTTP.
        code: the problem's stable code, one of `ErrorCode`; empty if the answer is not the API's.
        detail: the problem, for people.
        fields: the invalid fields, each with `field` and `message`.
        request_id: what to name when you ask about the call, as the answer has it; None if it has none.
        retry_after: seconds to wait, None if the answer does not say.
    """

    def __init__(self, status: int, problem: Mapping[str, Any], retry_after: float | None = None) -> None:
        self.status = status
        self.code = str(problem.get("code") or "")
        self.detail = str(problem.get("detail") or problem.get("title") or f"HTTP {status}")
        fields = problem.get("errors")
        listed = fields if isinstance(fields, list) else []
        self.fields: list[dict[str, Any]] = [x for x in listed if isinstance(x, dict)]
        found = problem.get("request_id")
        self.request_id: str | None = str(found) if found else None
        self.retry_after = retry_after
        wrong = "".join(f"; {x.get('field')}: {x.get('message')}" for x in self.fields)
        super().__init__(f"{self.detail} ({self.code or status}){wrong}")


class InvalidRequestError(ApiError):
    """The request is wrong: `fields` has the invalid fields."""


class IdempotencyMismatchError(InvalidRequestError):
    """Another request used this idempotency key."""


class AuthenticationError(ApiError):
    """The API key is not valid."""


class ForbiddenError(ApiError):
    """The API key lacks a scope, or the account is suspended."""


class NotFoundError(ApiError):
    """There is no such thing in this account."""


class ConflictError(ApiError):
    """The thing is not in a state that allows this; `retry_after` says when it may be."""


class RateLimitedError(ApiError):
    """Too many requests, for longer than the client waits."""


class ServerError(ApiError):
    """The server failed."""


def _restored(kind: type[PosthasteError], args: tuple[Any, ...], state: Mapping[str, Any]) -> PosthasteError:
    """Return an error as it was pickled or copied; its constructor, which takes something else, is not called."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


BY_CODE: Final[Mapping[str, type[ApiError]]] = {
    "idempotency_mismatch": IdempotencyMismatchError,
    "rate_limited": RateLimitedError,
    "unauthorized": AuthenticationError,
}
BY_STATUS: Final[Mapping[int, type[ApiError]]] = {
    400: InvalidRequestError,
    401: AuthenticationError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    413: InvalidRequestError,
    415: InvalidRequestError,
    422: InvalidRequestError,
    429: RateLimitedError,
}


def api_error(status: int, problem: Mapping[str, Any], retry_after: float | None = None) -> ApiError:
    """Return the error of an answer: of the problem's code, else of the status.

    Args:
        status: of HTTP.
        problem: the problem details, empty if the answer has none.
        retry_after: seconds to wait, None if the answer does not say.
    """
    other = ServerError if status >= 500 else ApiError  # noqa: PLR2004 - HTTP's own numbers
    kind = BY_CODE.get(str(problem.get("code")), BY_STATUS.get(status, other))
    return kind(status, problem, retry_after)
