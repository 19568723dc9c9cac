"""Crash points: every AWS and provider call of this process, counted; at one of them the process dies."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from botocore.client import BaseClient

from shared.adapters.http.transport import HttpClient
from shared.adapters.http.wire import HttpWire

KILLED: Final = 73
"""Exit status of a process that died at its point."""


class Tap:
    """Counts points and dies at the `kill_at`-th (the first is 1; 0 never)."""

    def __init__(self, kill_at: int) -> None:
        self.names: list[str] = []
        self.after_call: Callable[[int], None] | None = None
        self._kill_at = kill_at
        self._calls = 0
        self._aside = False
        self._lock = threading.Lock()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Count nothing within the block: it is the test that calls."""
        self._aside = True
        try:
            yield
        finally:
            self._aside = False

    def point(self, name: str) -> None:
        """Pass a point, or die there as a killed process does: nothing is flushed, joined or released."""
        if self._aside:
            return
        with self._lock:
            self.names.append(name)
            if len(self.names) == self._kill_at:
                os._exit(KILLED)

    def called(self) -> None:
        """Note one answered provider call."""
        with self._lock:
            self._calls += 1
            calls = self._calls
        if self.after_call is not None:
            self.after_call(calls)


def install(tap: Tap) -> None:
    """Route every AWS and provider call of this process through the tap, for good."""
    aws: Any = BaseClient._make_api_call  # type: ignore[attr-defined]
    http: Any = HttpClient.request

    def aws_call(self: Any, operation: str, params: Any) -> Any:
        tap.point(f"{operation} before")
        answer = aws(self, operation, params)
        tap.point(f"{operation} after")
        return answer

    def http_call(self: Any, method: str, url: str, **kwargs: Any) -> Any:
        tap.point("provider before")
        answer = http(self, method, url, **kwargs)
        tap.point("provider after")
        tap.called()
        return answer

    begin: Any = HttpWire.begin

    def begun(self: Any, request: Any, done: Any, client: Any = None) -> Any:
        what = "provider" if client is None else "store"

        def told(answer: Any) -> None:
            tap.point(f"{what} after")
            if client is None:
                tap.called()
            done(answer)

        tap.point(f"{what} before")
        return begin(self, request, told, client)

    BaseClient._make_api_call = aws_call  # type: ignore[attr-defined]
    HttpClient.request = http_call  # type: ignore[method-assign]
    HttpWire.begin = begun  # type: ignore[method-assign]
