"""Log lines of the functions: JSON, each with the id that leads from one function to the next.

`correlation_id` is the id of the job that a line is about, or of its upload or export. Where a line is about several,
it is the id of the request or of the invocation. Lines that the engine logs by the standard library have the same form.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from aws_lambda_powertools import Logger

from shared.contracts import ON_LAMBDA

ENGINE: Final = "shared"
"""The package whose loggers follow the function's."""


Lines = Logger
"""What functions write lines by."""


def lines(service: str | None = None) -> Logger:
    """Return a function's logger.

    In Lambda it takes in what the engine logs: Lambda's own handler would leave service and ids out.

    Args:
        service: whose lines; by default what `POWERTOOLS_SERVICE_NAME` says.
    """
    made = Logger(service=service)
    if ON_LAMBDA in os.environ:
        engine = logging.getLogger(ENGINE)
        engine.handlers = [made.registered_handler]
        engine.propagate = False
    return made


def begin(logger: Logger, name: str) -> None:
    """Let this thread's lines be about one request, invocation or job, and nothing else."""
    logger.thread_safe_clear_keys()
    logger.thread_safe_append_keys(correlation_id=name)


@contextmanager
def about(logger: Logger, name: str) -> Iterator[None]:
    """Let this thread's lines be about one job for a while."""
    before = logger.thread_safe_get_current_keys()
    logger.thread_safe_append_keys(correlation_id=name)
    try:
        yield
    finally:
        logger.thread_safe_clear_keys()
        logger.thread_safe_append_keys(**before)


def invocation(context: Any) -> str:
    """Return the id of an invocation, as Lambda's own lines also have it."""
    return str(getattr(context, "aws_request_id", ""))
