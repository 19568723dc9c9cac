"""A made-up network for the guarded client, and what posts through it."""

import socket
from collections.abc import Callable, Sequence

import pytest

from shared.adapters.http.connect import dial
from shared.adapters.http.guarded import GuardedClient, Secure
from shared.ports import HookAnswer, HookUnreachable
from tests.adapters.servers import Conversation

NAME = "hooks.example.com"
URL = f"https://{NAME}/in?x=1"
BODY = b'{"type": "test"}'
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
HEAD = b"HTTP/1.1 200 OK\r\n"


class Net:
    """Names and routes of a made-up network: every address leads to one port of this machine."""

    def __init__(self, port: int, *answers: Sequence[str]) -> None:
        self.port = port
        self.answers = list(answers)
        self.asked: list[tuple[str, int]] = []
        self.dialled: list[tuple[str, int]] = []
        self.dead: set[str] = set()

    def resolve(self, host: str, port: int) -> Sequence[str]:
        self.asked.append((host, port))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def connect(self, host: str, port: int, until: float, now: Callable[[], float], secure: Secure) -> socket.socket:
        self.dialled.append((host, port))
        if host in self.dead:
            raise ConnectionRefusedError
        return dial("127.0.0.1", self.port, until, now, secure)


def post(client: GuardedClient, url: str = URL, seconds: float = 10.0) -> HookAnswer:
    until = client._now() + seconds
    return client.post(url, headers={"webhook-id": "evt_1"}, body=BODY, until=until)


def unreachable(client: GuardedClient, url: str = URL, seconds: float = 10.0) -> str:
    with pytest.raises(HookUnreachable) as caught:
        post(client, url, seconds)
    assert str(caught.value) == caught.value.code
    assert caught.value.ms >= 0
    return caught.value.code


def endless(data: bytes, then: bytes = b"") -> Callable[[Conversation], None]:
    def script(c: Conversation) -> None:
        c.hear()
        c.say(data)
        while then:
            c.say(then)

    return script
