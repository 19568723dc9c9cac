"""The subjects of dead letters: the job, upload or export that a body names, and its state."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from functions.operate.services import OperateServices
from shared import contracts
from shared.domain.digests.window import is_window_id
from shared.domain.hooks.endpoint import is_endpoint
from shared.domain.ids import Ref
from shared.domain.jobs.states import Cell
from shared.domain.notices.notifier import is_name
from shared.domain.queues.dead_letters import short
from shared.frozen import dataclass
from shared.ports import BadEvents

if TYPE_CHECKING:
    from shared.domain.campaigns.campaign import Upload
    from shared.domain.exports import Export
    from shared.domain.jobs.job import Job
    from shared.domain.jobs.ledger import Ledger

MAX_ID: Final = 64
"""Characters. Ids have 26; what has more than a key of DynamoDB takes would end a redrive."""
MAX_CHUNK: Final = 99_999


@dataclass(frozen=True, slots=True)
class About:
    """The subject of a message, and its state: two short texts."""

    what: str
    state: str


class Reader:
    """Reads messages, and the state of their subjects; each job is read once.

    Args:
        job: by its id; None if there is none (any more), as of the others.
    """

    def __init__(
        self,
        *,
        job: Callable[[str], "Job | None"],
        ledger: Callable[[str, int], "Ledger | None"],
        upload: Callable[[str, str], "Upload | None"],
        export: Callable[[str], "Export | None"],
    ) -> None:
        self._job = cache(job)
        self._ledger = ledger
        self._upload_of = upload
        self._export_of = export

    @classmethod
    def of(cls, services: OperateServices) -> "Reader":
        """Return a reader of a deployment's own stores."""
        return cls(
            job=services.records.job,
            ledger=services.ledgers.read,
            upload=services.uploads.get,
            export=services.exports.get,
        )

    def about(self, kind: str, body: str) -> About | None:
        """Return what a message of a queue is about; None if it is not what is sent to that queue."""
        read = {
            "lane": self._pointer,
            "feedback": self._words,
            "due": self._due,
            "ingest": self._upload,
            "export": self._export,
            "inbox": _inbox,
            "digest": _window,
            "hooks": _changes,
            "calls": _call,
            "calls-slow": _call,
        }
        try:
            return read.get(kind, _report)(body)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, BadEvents):
            return None

    def _pointer(self, body: str) -> About:
        raw = json.loads(body)
        job, chunk = _id(raw["job"]), raw["chunk"]
        if type(chunk) is not int or not 0 <= chunk <= MAX_CHUNK:
            raise TypeError("not a pointer")
        asks = ", asks about doubts" if raw.get("resolve") else ""
        what, state = f"job {job} chunk {chunk}{asks}", self._state(job)
        ledger = self._ledger(job, chunk)
        if ledger is not None:
            waiting = len(ledger.having(Cell.QUEUED)) + len(ledger.having(Cell.RETRY))
            state += f"; chunk {ledger.status.value} in lane {ledger.lane}, {waiting} to send"
        return About(what, state)

    def _words(self, body: str) -> About:
        try:
            credential, words = contracts.load_feedback(body)
        except KeyError:
            from shared.providers import registry  # noqa: PLC0415 - only deployments with a topic need it

            credential, words = registry.from_topic(body)
        jobs = dict.fromkeys(ref.job for ref in (Ref.parse(word.ref) for word in words) if ref is not None)
        first = next(iter(jobs), "")
        state = self._state(first) if first else "nothing to join"
        more = f" and {len(jobs) - 1} jobs more" if len(jobs) > 1 else ""
        return About(f"{len(words)} words from {credential}", f"job {first}: {state}{more}" if first else state)

    def _due(self, body: str) -> About:
        if body == contracts.LOOK:
            return About("looks for leases of dead workers", "to be done")
        minute = contracts.DueMinute.loads(body)
        if minute is not None:
            return _minute(minute)
        way = contracts.ResumeTask.loads(body)
        if way is not None:
            what = short(way.credential or way.account) or "everything"
            return About(f"wakes what a pause of {what} held back", "to be done")
        job = _id(contracts.load_due(body))
        return About(f"job {job}", self._state(job))

    def _upload(self, body: str) -> About:
        campaign, name = map(_id, contracts.load_ingest(body))
        upload = self._upload_of(campaign, name)
        return About(f"upload {name} of campaign {campaign}", upload.state.value if upload else "gone")

    def _export(self, body: str) -> About:
        name = _id(contracts.load_export(body))
        export = self._export_of(name)
        return About(f"export {name}", export.state.value if export else "gone")

    def _state(self, job: str) -> str:
        found = self._job(job)
        return f"job {found.state.value}" if found else "job gone"


def _id(text: Any) -> str:
    """Return what may be the id of something of ours; TypeError or ValueError on anything else."""
    if not isinstance(text, str):
        raise TypeError("not an id")
    if not (text.isascii() and text.isalnum() and len(text) <= MAX_ID):
        raise ValueError("not an id")
    return text


def _inbox(body: str) -> About:
    """Read a hint to an inbox. If the hint is lost, the sweeper still takes the inbox's records."""
    name = contracts.load_inbox(body)
    if not is_name(name):
        raise ValueError("not the name of a notifier")
    return About(f"inbox of notifier {name}", "taken by the next hint")


def _window(body: str) -> About:
    """Read a hint about a window or a minute, or the report of a run that failed. The sweeper makes up for them."""
    minute = contracts.DueMinute.loads(body)
    if minute is not None:
        return _minute(minute)
    name = contracts.load_digest_hint(body)
    if not name:
        return _report(body)
    if not is_window_id(name):
        raise ValueError("not the id of a window")
    return About(f"window {name}", "made by the next run")


def _minute(minute: contracts.DueMinute) -> About:
    """Return what a minute is about. If it is lost, the sweeper finds what was due."""
    when = f" at {datetime.fromtimestamp(minute.at, UTC):%Y-%m-%d %H:%M}" if minute.at else ", overdue"
    return About(f"{minute.kind}{when}", "found by the sweeper")


def _changes(body: str) -> About:
    """Read a hint about changes of which endpoints are to hear."""
    changes = contracts.HookChanges.loads(body)
    chunks = sum(map(len, changes.places.values()))
    return About(f"changes in {chunks} chunks of {len(changes.places)} jobs", "handed on by the next run")


def _call(body: str) -> About:
    """Read a hint about an endpoint. If the hint is lost, a look each minute still finds the endpoint."""
    name = contracts.HookCall.loads(body).endpoint
    if not is_endpoint(name):
        raise ValueError("not the id of an endpoint")
    return About(f"endpoint {name}", "called by the next run")


def _report(body: str) -> About:
    """Read Lambda's report of a failed invocation, or the event that EventBridge could not deliver."""
    raw = json.loads(body)
    if "requestContext" not in raw:
        return About(f"event {raw['detail-type']} of {raw['source']}", "not delivered")
    condition = str(raw["requestContext"]["condition"])
    batch = raw.get("DDBStreamBatchInfo")
    answer = raw.get("responsePayload") or {}
    error = f"{answer.get('errorType', '')} {answer.get('errorMessage', '')}".strip()
    what = f"{batch['batchSize']} records of shard {batch['shardId'][-8:]}" if batch else "a run"
    return About(what, short(f"{condition} {error}".strip()))
