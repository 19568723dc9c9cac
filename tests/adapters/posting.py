"""A client that makes each request on a wire, and a way to post with any client."""

from collections.abc import Mapping

from shared.adapters.http.transport import HttpClient, parse
from shared.adapters.http.wire import HttpWire
from shared.domain.content.streams import Body
from shared.ports import AnswerLost, Response, WireRequest
from tests.adapters.servers import Conversation

BODY = b'{"hello":1}'


class WiredClient(HttpClient):
    """Makes each request on a wire, over a connection that is opened for it if none is there."""

    def request(self, method: str, url: str, *, headers: Mapping[str, str], body: Body, deadline: float) -> Response:
        answers: list[Response | AnswerLost] = []
        with HttpWire(self) as wire:
            asked = WireRequest(method, url, headers, body, deadline)
            if not wire.begin(asked, answers.append):
                origin = parse(url)[0]
                connection = self._connect(origin, deadline)
                connection.idle_since = self.now()
                self.keep(origin, connection)
                wire.begin(asked, answers.append)
        for answer in answers:
            if isinstance(answer, AnswerLost):
                raise answer
            return answer
        return super().request(method, url, headers=headers, body=body, deadline=deadline)


def post(client: HttpClient, url: str, seconds: float = 10, body: Body = BODY) -> Response:
    deadline = client.now() + seconds
    return client.request("POST", url, headers={"Authorization": "Bearer k"}, body=body, deadline=deadline)


def reset(c: Conversation) -> None:
    c.hear()
    c.reset()
