"""Records which requests a local cloud answers: each method and path once, in a file of the cloud.

`tests.deployed.exercised` asks it what no test on a cloud has done.
"""

import re
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from pathlib import Path
from typing import Any, Final

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Coroutine[Any, Any, None]]
GATEWAY: Final = re.compile(r"^/_aws/execute-api/[^/]+/[^/]+(/[^?]*)")
"""Path of a request to the HTTP API, and after the stage what the API sees."""
REFUSED: Final = 400
"""From this status on a request has done nothing."""


def recorded(app: App, file: Path) -> App:
    """Return an ASGI application that answers as another one, and adds each new request to a file.

    Args:
        file: gets a line `METHOD /path` of each request to the HTTP API that was not refused.
    """
    seen = set(file.read_text("utf-8").splitlines()) if file.exists() else set[str]()

    async def answer(scope: Message, receive: Receive, send: Send) -> None:
        place = GATEWAY.match(scope["raw_path"].decode("ascii")) if scope["type"] == "http" else None
        if place is None:
            await app(scope, receive, send)
            return
        line = f"{scope['method']} {place[1]}"

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < REFUSED and line not in seen:
                seen.add(line)
                with file.open("a", encoding="utf-8") as lines:
                    lines.write(f"{line}\n")
            await send(message)

        await app(scope, receive, sent)

    return answer
