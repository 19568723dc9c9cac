"""A transport and a clock for adapters alone."""

from collections.abc import Mapping

from shared.domain.content.streams import Body, whole
from shared.ports import AnswerLost, Response
from shared.providers._common import INQUIRIES

NOW = 1_790_000_000.0


class Fixed:
    def now(self) -> float:
        return NOW

    def sleep(self, seconds: float) -> None:
        raise AssertionError


class FakeHttp:
    """Keeps requests, and answers or fails as it is told."""

    def __init__(self, answer: Response | Exception) -> None:
        self.answer = answer
        self.requests: list[tuple[str, str, Mapping[str, str], bytes]] = []
        self.parts = 0

    def request(self, method: str, url: str, *, headers: Mapping[str, str], body: Body, deadline: float) -> Response:
        self.parts = len(body) if isinstance(body, tuple) else 1
        self.requests.append((method, url, headers, whole(body)))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def insisted(answer: Response | Exception) -> list[Response | Exception]:
    """Return an answer as often as a question is asked that gets it each time."""
    lost = isinstance(answer, AnswerLost) or (isinstance(answer, Response) and answer.status >= 500)
    return [answer] * (INQUIRIES if lost else 1)
