"""The deployment's own endpoints, for its operators: by the operators' door."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer

from cli.hooks.door import HOOKS, Document, HookBackend
from cli.operating.door import OperatorClient, door, segment


class OperatedHooks:
    """Implements `HookBackend` by the operators' function. A request that makes a secret is not repeated."""

    def __init__(self, client: OperatorClient) -> None:
        self._client = client

    def create(self, body: Mapping[str, Any]) -> Document:
        """Create an endpoint, and return it with its secret."""
        return self._client.post(f"/{HOOKS}/create", body)

    def every(self) -> list[Document]:
        """Return the endpoints, oldest first."""
        return list(self._client.get(f"/{HOOKS}")["items"])

    def read(self, name: str) -> Document:
        """Return an endpoint, and how it does."""
        return self._client.get(_path(name))

    def change(self, name: str, body: Mapping[str, Any]) -> Document:
        """Change an endpoint."""
        return self._client.send("POST", _path(name, "/change"), body)

    def rotate(self, name: str) -> Document:
        """Give an endpoint a second secret, and return it with that."""
        return self._client.post(_path(name, "/rotate"))

    def delete(self, name: str) -> Document:
        """Delete an endpoint."""
        return self._client.send("POST", _path(name, "/delete"), {})

    def test(self, name: str) -> Document:
        """Have a `test` event posted, and return its delivery."""
        return self._client.send("POST", _path(name, "/test"), {})

    def deliveries(self, name: str, state: str) -> Iterator[list[Document]]:
        """Yield pages of deliveries; `state`: only those, empty for all."""
        asked = {"state": state} if state else {}
        after, more = "", True
        while more:
            page = self._client.get(_path(name, "/deliveries"), {**asked, "after": after})
            yield page["items"]
            after = page["after"]
            more = bool(after)

    def delivery(self, name: str, delivery: str) -> Document:
        """Return a delivery with its attempts."""
        return self._client.get(_path(name, f"/deliveries/{segment(delivery)}"))

    def retry(self, name: str, delivery: str) -> Document:
        """Have a delivery tried now."""
        return self._client.send("POST", _path(name, f"/deliveries/{segment(delivery)}/retry"), {})

    def replay(self, name: str, body: Mapping[str, Any]) -> Document:
        """Have deliveries of a time made again."""
        return self._client.post(_path(name, "/replay"), body)


@contextmanager
def operated(ctx: typer.Context, stage: str, *, aws: bool) -> Iterator[HookBackend]:
    """Yield the deployment's own endpoints. Errors of AWS become one line.

    Args:
        stage: the stage's name; empty for the default one.
        aws: whether AWS is meant even if a local cloud is up.
    """
    with door(ctx, stage, aws=aws) as (client, _):
        yield OperatedHooks(client)


def _path(name: str, rest: str = "") -> str:
    """Return the path of an endpoint's route. `rest`: its end, from the slash on."""
    return f"/{HOOKS}/{segment(name)}{rest}"
