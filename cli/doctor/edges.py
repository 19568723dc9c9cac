"""The edge before the API, asked from outside: by its public name, and at API Gateway under the same name."""

import json
from urllib.parse import urlsplit

import urllib3

from cli.checks import Finding, stack
from cli.client import connections

SECONDS = 5.0
MARK = "x-amz-cf-id"
"""A header of each answer by way of CloudFront."""


def look_before(url: str, origin: str, target: str) -> list[Finding]:
    """Judge the edge.

    Args:
        origin: the host of API Gateway, which takes requests of the public name.
        target: what the record of the public name should point to.
    """
    host = urlsplit(url).hostname or ""
    try:
        answer = connections(url).request("GET", f"{url}/health", timeout=SECONDS, retries=False, redirect=False)
        through = MARK in answer.headers
    except urllib3.exceptions.HTTPError:
        through = False  # the check of the address says why it does not answer
    status, code = _beside(host, origin, tls=url.startswith("https:"))
    return [stack.edge(host, target, status, code=code, through=through)]


def _beside(host: str, origin: str, *, tls: bool) -> tuple[int, str]:
    """Ask API Gateway under the public name; return the status, 0 without an answer, and the problem's code."""
    name, _, port = origin.partition(":")
    if tls:
        pool: urllib3.HTTPConnectionPool = urllib3.HTTPSConnectionPool(
            name, int(port or 443), server_hostname=host, assert_hostname=host
        )
    else:
        pool = urllib3.HTTPConnectionPool(name, int(port or 80))
    try:
        answer = pool.request("GET", "/health", headers={"Host": host}, timeout=SECONDS, retries=False, redirect=False)
    except urllib3.exceptions.HTTPError:
        return 0, ""
    finally:
        pool.close()
    return answer.status, _code(answer.data)


def _code(body: bytes) -> str:
    try:
        found = json.loads(body)
    except ValueError:
        return ""
    return str(found.get("code", "")) if isinstance(found, dict) else ""
