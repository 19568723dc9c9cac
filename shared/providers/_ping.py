"""Questions that send nothing: what an answer, or none, says of a service (`ports.Pingable`)."""

from collections.abc import Mapping
from typing import Final

from shared.domain.jobs.outcomes import Outcome, Rejected, Unknown
from shared.domain.times import Seconds
from shared.ports import Http, Response
from shared.providers._common import exchange

_BROKEN: Final = 500


def get(http: Http, url: str, headers: Mapping[str, str], *, deadline: Seconds) -> str:
    """Ask by GET. Return why the service is not there; empty if it answers.

    Args:
        headers: with the authorization.
        deadline: Unix seconds by which the answer must have come.
    """
    return silence(exchange(http, "GET", url, headers=headers, body=b"", deadline=deadline))


def silence(answer: Response | Outcome) -> str:
    """Return why an answer is none; empty if the service is there.

    A refusal is an answer: the key may have no right to ask, and a message tells what the account may do. So is 429.
    """
    if isinstance(answer, Response):
        return f"http_{answer.status}" if answer.status >= _BROKEN else ""
    if isinstance(answer, Unknown):
        return answer.reason
    return answer.code if isinstance(answer, Rejected) else ""
