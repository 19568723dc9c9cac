"""Errors travel between processes, as from a worker of a task queue."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from posthaste_sdk import ConnectionFailedError, PosthasteError, WebhookError
from posthaste_sdk.errors import BY_STATUS, ApiError, IdempotencyMismatchError, ServerError, api_error

PROBLEM = {"code": "some", "detail": "No.", "errors": [{"field": "to", "message": "is empty"}], "request_id": "r1"}
ERRORS = [
    *(api_error(status, PROBLEM, 3.0) for status in BY_STATUS),
    IdempotencyMismatchError(422, {"code": "idempotency_mismatch"}),
    ServerError(500, {}),
    ApiError(418, {}),
    ConnectionFailedError("no answer", sent=True, key="invoice-17"),
    WebhookError("the request has no signature"),
]


def pickled(error: PosthasteError) -> Any:
    return pickle.loads(pickle.dumps(error))  # noqa: S301 - its own


@pytest.mark.parametrize("again", [pickled, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: f"{type(error).__name__}-{getattr(error, 'status', '')}")
def test_an_error_is_the_same_after_it_travelled(again: Callable[[PosthasteError], Any], error: PosthasteError) -> None:
    found = again(error)
    assert found is not error
    assert (type(found), str(found), found.args, vars(found)) == (type(error), str(error), error.args, vars(error))
    found.add_note("seen by the parent")
    assert not hasattr(error, "__notes__")
