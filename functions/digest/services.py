"""The deployment as this process sees it, made on the first event and kept while the process lives."""

from functools import cache

from shared.bootstrap import Deployment


@cache
def deployment() -> Deployment:
    """Return the process's deployment."""
    return Deployment()
