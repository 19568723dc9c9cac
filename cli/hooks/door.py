"""Where endpoints are seen to: by the API, or by an operator straight in the deployment's table."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol

from cli.client import LARGEST_PAGE, ApiClient, path_of

HOOKS: Final = "hooks"
Document = dict[str, Any]


class HookBackend(Protocol):
    """Endpoints and their deliveries, as the API's documents."""

    def create(self, body: Mapping[str, Any]) -> Document:
        """Create an endpoint, and return it with its secret."""
        ...

    def every(self) -> list[Document]:
        """Return the endpoints, oldest first."""
        ...

    def read(self, name: str) -> Document:
        """Return an endpoint, and how it does."""
        ...

    def change(self, name: str, body: Mapping[str, Any]) -> Document:
        """Change an endpoint."""
        ...

    def rotate(self, name: str) -> Document:
        """Give an endpoint a second secret, and return it with that."""
        ...

    def delete(self, name: str) -> Document:
        """Delete an endpoint."""
        ...

    def test(self, name: str) -> Document:
        """Have a `test` event posted, and return its delivery."""
        ...

    def deliveries(self, name: str, state: str) -> Iterator[list[Document]]:
        """Yield pages of deliveries; `state`: only those, empty for all."""
        ...

    def delivery(self, name: str, delivery: str) -> Document:
        """Return a delivery with its attempts."""
        ...

    def retry(self, name: str, delivery: str) -> Document:
        """Have a delivery tried now."""
        ...

    def replay(self, name: str, body: Mapping[str, Any]) -> Document:
        """Have deliveries of a time made again."""
        ...


class ApiHooks:
    """Endpoints of the account whose key the environment has."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api

    def create(self, body: Mapping[str, Any]) -> Document:
        """Create an endpoint. A lost answer is not asked for again: its secret would be lost with it."""
        return self._api.post(f"/{HOOKS}", body)

    def every(self) -> list[Document]:
        """Return the endpoints, oldest first."""
        return [x for page in self._api.pages(f"/{HOOKS}", {}) for x in page]

    def read(self, name: str) -> Document:
        """Return an endpoint, and how it does."""
        return self._api.get(path_of(HOOKS, name))

    def change(self, name: str, body: Mapping[str, Any]) -> Document:
        """Change an endpoint."""
        return self._api.patch(path_of(HOOKS, name), body)

    def rotate(self, name: str) -> Document:
        """Give an endpoint a second secret. It is not repeated: a second one would end the present secret."""
        return self._api.post(path_of(HOOKS, name, "/rotate"))

    def delete(self, name: str) -> Document:
        """Delete an endpoint."""
        return self._api.delete(path_of(HOOKS, name))

    def test(self, name: str) -> Document:
        """Have a `test` event posted, and return its delivery."""
        return self._api.post(path_of(HOOKS, name, "/test"), again=True)

    def deliveries(self, name: str, state: str) -> Iterator[list[Document]]:
        """Yield pages of deliveries."""
        query = {"limit": LARGEST_PAGE, **({"state": state} if state else {})}
        return self._api.pages(path_of(HOOKS, name, "/deliveries"), query)

    def delivery(self, name: str, delivery: str) -> Document:
        """Return a delivery with its attempts."""
        return self._api.get(path_of(HOOKS, name, path_of("deliveries", delivery)))

    def retry(self, name: str, delivery: str) -> Document:
        """Have a delivery tried now."""
        rest = path_of("deliveries", delivery, "/retry")
        return self._api.post(path_of(HOOKS, name, rest), again=True)

    def replay(self, name: str, body: Mapping[str, Any]) -> Document:
        """Have deliveries of a time made again."""
        return self._api.post(path_of(HOOKS, name, "/replay"), body)
