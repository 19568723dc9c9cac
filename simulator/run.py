"""Running a simulator: in a thread of this process for tests, or in a process of its own for everything measured."""

import asyncio
import contextlib
import json
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import uvloop
from uvicorn import Config

from simulator.client import ControlClient
from simulator.control import Control
from simulator.model import Clock
from simulator.servers.app import App
from simulator.servers.listener import KEEP_ALIVE_S, Listener
from simulator.webhooks import Webhooks
from simulator.world import Options, World

START_TIMEOUT_S = 20
STOP_TIMEOUT_S = 15


async def serve(
    options: Options,
    *,
    port: int,
    listen: Sequence[tuple[str, str, int]],
    ready: Callable[[dict[str, Any]], None],
    stop: asyncio.Event,
) -> None:
    """Serve until `stop` is set.

    Args:
        options: see `Options`.
        port: of the shared listener; 0: any free one.
        listen: (provider, credential, port) of credentials that get a port of their own.
        ready: called with the address document once all ports listen.
    """
    world = World(options)
    world.log.pulse.start()
    control = Control(world)
    config = Config(
        App(world, control),
        http="httptools",
        ws="none",
        lifespan="off",
        interface="asgi3",
        access_log=False,
        log_config=None,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_S,
    )
    config.load()
    control.config = config
    main = Listener(config, port)
    try:
        await main.open()
        base_urls = {f"{p}/{c}": await control.listen(world.credential(p, c), own) for p, c, own in listen}
        ready(
            {
                "url": main.url,
                "base_urls": base_urls,
                "seed": options.seed,
                "keys": {name: provider.describe() for name, provider in world.providers.items()},
            }
        )
        await stop.wait()
    finally:
        main.shut()
        await world.close()


class _Running:
    """The services of a running simulator, in this process or another."""

    url = ""
    control: ControlClient

    def base_url(self, provider: str, credential: str) -> str:
        """Return a credential's base URL on the shared port."""
        return f"{self.url}/{provider}/{credential}"

    def listen(self, provider: str, credential: str) -> str:
        """Return a credential's base URL on a port of its own, which can refuse connections."""
        return self.control.listen(provider, credential)


class Simulator(_Running):
    """A simulator in a thread of this process: `with Simulator() as sim: sim.url`.

    Args:
        seed: of all chances and ids; random if empty.
        webhook_url_template: URL with `{provider}` and `{credential_id}`.
        keys: provider → accepted API keys.
        key_files: provider → file of its webhook signing key.
        webhooks: settings all credentials start with.
        now: tells the Unix time in seconds, in a test in which time is made to pass; timers keep the real time.
    """

    def __init__(
        self,
        *,
        seed: str = "",
        webhook_url_template: str = "",
        keys: dict[str, frozenset[str]] | None = None,
        key_files: dict[str, Path] | None = None,
        webhooks: Webhooks | None = None,
        now: Callable[[], float] | None = None,
    ) -> None:
        self._options = Options(
            seed=seed or secrets.token_hex(8),
            webhook_url_template=webhook_url_template,
            keys=keys,
            key_files=key_files,
            webhooks=webhooks or Webhooks(),
            clock=Clock(now),
        )
        self._thread = threading.Thread(target=self._main, name="simulator", daemon=True)
        self._started = threading.Event()
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None

    def _main(self) -> None:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(self._serve())
        except BaseException as e:  # noqa: BLE001 - handed to the thread that waits for the start
            self._failure = e
        finally:
            self._started.set()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        await serve(self._options, port=0, listen=(), ready=self._ready, stop=self._stop)

    def _ready(self, document: dict[str, Any]) -> None:
        self.url = document["url"]
        self.control = ControlClient(self.url)
        self._started.set()

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait(START_TIMEOUT_S)
        if not self.url:
            raise RuntimeError("the simulator did not start") from self._failure
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        if self._loop is not None and self._stop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(STOP_TIMEOUT_S)
        if self._failure is not None and kind is None:
            raise RuntimeError("the simulator failed") from self._failure


class SimulatorProcess(_Running):
    """A simulator in a process of its own: it takes no time from the measured one.

    Args:
        arguments: of `python -m simulator`.
    """

    def __init__(self, *arguments: str) -> None:
        self._command = [sys.executable, "-m", "simulator", "--port", "0", *arguments]
        self._process: subprocess.Popen[str] | None = None
        self.document: dict[str, Any] = {}
        """The line that it printed when ready: url, base_urls, seed, keys."""

    @property
    def pid(self) -> int:
        """The process id, 0 before the start."""
        return self._process.pid if self._process else 0

    def __enter__(self) -> Self:
        root = Path(__file__).resolve().parent.parent
        self._process = subprocess.Popen(self._command, cwd=root, stdout=subprocess.PIPE, text=True)
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            self.__exit__(None, None, None)
            raise RuntimeError("the simulator did not start; see its standard error")
        self.document = json.loads(line)
        self.url = self.document["url"]
        self.control = ControlClient(self.url)
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        if self._process is None:
            return
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_TIMEOUT_S)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
