"""The clients: one that waits, and one for asyncio."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from types import TracebackType
from typing import Final, Self

import httpx

from posthaste_sdk._calls import Access, access, headers, lost
from posthaste_sdk._generated import models
from posthaste_sdk._generated.operations import AsyncOperations, Operations
from posthaste_sdk.errors import ApiError
from posthaste_sdk.retries import RetryPolicy

DEFAULT: Final = RetryPolicy()
TIMEOUT: Final = httpx.Timeout(35.0, connect=5.0)
"""The API itself gives up after 30 s."""
POLL: Final = 2.0
"""Seconds between looks at a job."""
ENDED: Final = "LOGGED"


class Posthaste(Operations):
    """A client of one API. Every method makes one call and returns its answer's document.

    Args:
        url: the API's address; without it and the key, POSTHASTE_URL and POSTHASTE_API_KEY are used.
        key: the API key.
        notifier: name and password of a notifier, in place of a key.
        retries: when a call is made again.
        timeout: of each try.
        transport: replaces the network, as in tests.
        sleep: waits for some seconds.

    Raises:
        ValueError: address or key is missing, or the key would travel unencrypted.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        notifier: tuple[str, str] | None = None,
        retries: RetryPolicy = DEFAULT,
        timeout: httpx.Timeout | float = TIMEOUT,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._policy = retries
        self._sleep = sleep
        self._timeout = timeout
        self._transport = transport
        found = access(url, key, notifier)
        self._http = httpx.Client(base_url=found.url, headers=headers(found), timeout=timeout, transport=transport)

    def wait(self, job_id: str, *, timeout: float | None = None) -> models.JobView:
        """Wait until a job has ended: each message has its outcome, or its provider has yet to report it.

        Args:
            job_id: of a batch, or of a campaign's list.
            timeout: seconds after which TimeoutError is raised; None: never.
        """
        spent = 0.0
        while True:
            begun = time.monotonic()
            job = self.get_job(job_id)
            if job["state"] == ENDED:
                return job
            spent += time.monotonic() - begun
            if timeout is not None and spent >= timeout:
                raise TimeoutError(f"job {job_id} is still {job['state']}")
            self._sleep(POLL)
            spent += POLL

    def upload_list(self, campaign_id: str, content: bytes | Iterator[bytes], *, size: int) -> models.UploadView:
        """Upload a list (CSV, UTF-8) of up to 5 GB straight to the bucket, and start its reading.

        Args:
            campaign_id: whose list it is.
            content: the file, at once or in pieces.
            size: of the file, in bytes.

        Raises:
            ApiError: the API or the bucket refused it.
            ConnectionFailedError: no answer came. Upload it again.
        """
        place = self.create_upload(campaign_id, {"size": size})
        sent = {**place["headers"], "Content-Length": str(size)}
        with httpx.Client(timeout=self._timeout, transport=self._transport) as http:
            try:
                answer = http.request(place["method"], place["url"], content=content, headers=sent)
            except httpx.HTTPError as error:
                raise lost(error) from error
        return self.complete_upload(campaign_id, place["upload_id"], _taken(answer))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncPosthaste(AsyncOperations):
    """The same for asyncio. Iterators are also asynchronous: `async for job in api.iter_jobs()`.

    Args:
        url: the API's address; without it and the key, POSTHASTE_URL and POSTHASTE_API_KEY are used.
        key: the API key.
        notifier: name and password of a notifier, in place of a key.
        retries: when a call is made again.
        timeout: of each try.
        transport: replaces the network, as in tests.
        sleep: waits for some seconds.

    Raises:
        ValueError: address or key is missing, or the key would travel unencrypted.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        notifier: tuple[str, str] | None = None,
        retries: RetryPolicy = DEFAULT,
        timeout: httpx.Timeout | float = TIMEOUT,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._policy = retries
        self._sleep = sleep
        self._timeout = timeout
        self._transport = transport
        found: Access = access(url, key, notifier)
        self._http = httpx.AsyncClient(base_url=found.url, headers=headers(found), timeout=timeout, transport=transport)

    async def wait(self, job_id: str, *, timeout: float | None = None) -> models.JobView:  # noqa: ASYNC109 - of looks
        """Wait until a job has ended: each message has its outcome, or its provider has yet to report it.

        Args:
            job_id: of a batch, or of a campaign's list.
            timeout: seconds after which TimeoutError is raised; None: never.
        """
        spent = 0.0
        while True:
            begun = time.monotonic()
            job = await self.get_job(job_id)
            if job["state"] == ENDED:
                return job
            spent += time.monotonic() - begun
            if timeout is not None and spent >= timeout:
                raise TimeoutError(f"job {job_id} is still {job['state']}")
            await self._sleep(POLL)
            spent += POLL

    async def upload_list(
        self, campaign_id: str, content: bytes | AsyncIterator[bytes], *, size: int
    ) -> models.UploadView:
        """Upload a list (CSV, UTF-8) of up to 5 GB straight to the bucket, and start its reading.

        Args:
            campaign_id: whose list it is.
            content: the file, at once or in pieces.
            size: of the file, in bytes.

        Raises:
            ApiError: the API or the bucket refused it.
            ConnectionFailedError: no answer came. Upload it again.
        """
        place = await self.create_upload(campaign_id, {"size": size})
        sent = {**place["headers"], "Content-Length": str(size)}
        async with httpx.AsyncClient(timeout=self._timeout, transport=self._transport) as http:
            try:
                answer = await http.request(place["method"], place["url"], content=content, headers=sent)
            except httpx.HTTPError as error:
                raise lost(error) from error
        return await self.complete_upload(campaign_id, place["upload_id"], _taken(answer))

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _taken(answer: httpx.Response) -> models.UploadDone:
    """Return how the bucket names the file; ApiError if it refused it."""
    if not answer.is_success:
        raise ApiError(answer.status_code, {"detail": "the bucket refused the file: ask for a new upload"})
    etag = answer.headers.get("ETag")
    return {"etag": etag} if etag else {}
