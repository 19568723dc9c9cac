"""The deployment as this process sees it, made on the first event and kept while the process lives."""

from functools import cache

from shared.bootstrap import Deployment
from shared.bootstrap.digesting import Digesting


@cache
def deployment() -> Deployment:
    """Return the process's deployment."""
    return Deployment()


def digesting() -> Digesting:
    """Return what makes digests."""
    return _digesting(deployment())


@cache
def _digesting(of: Deployment) -> Digesting:
    return Digesting(of)
