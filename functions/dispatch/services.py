"""The deployment as this process sees it, made on the first event and kept while the process lives."""

from functools import cache

from shared.bootstrap import Deployment


@cache
def deployment() -> Deployment:
    """Return the process's deployment."""
    return Deployment()


Answer = dict[str, list[dict[str, str]]]
"""A partial answer to SQS: messages in it are delivered again, and in the end reach the dead-letter queue."""
