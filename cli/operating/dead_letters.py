"""Dead letters: the queues of a stack, the messages in their dead-letter queues, and the probable reasons.

SQS keeps no reason with a message. The message has its time, the number of its deliveries, and a body. The body is a
hint that names a job, an upload or an export. The rest comes from the state of that object and from the logs of the
function behind the queue.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from cli.deployment import OPS_OUTPUT, OperatedDeployment
from shared import contracts
from shared.domain.digests.window import is_window_id
from shared.domain.hooks.endpoint import is_endpoint
from shared.domain.ids import Ref
from shared.domain.jobs.states import Cell
from shared.domain.notices.notifier import is_name
from shared.domain.recipients.local_parts import IN_TEXT
from shared.ports import BadEvents

if TYPE_CHECKING:
    from shared.domain.campaigns.campaign import Upload
    from shared.domain.exports import Export
    from shared.domain.jobs.job import Job
    from shared.domain.jobs.ledger import Ledger

QUEUE: Final = "AWS::SQS::Queue"
DEAD: Final = "-dlq"
LANE: Final = "lane-"
REDRIVES: Final = "posthaste.redrives"
RUN: Final = "posthaste.run"
"""Attributes of a redriven message: how often it was redriven, and in which run last."""
MAX_ENTRIES: Final = 10
"""Messages that one call of SQS receives, sends or deletes."""
WAIT_SECONDS: Final = 1
"""A receive that waits asks all of SQS's servers; one that does not may see an empty queue where there is none."""
MAX_PAGES: Final = 10
"""Pages of a log read for the errors of one queue: enough for a fault of the last hours, and over in seconds."""
MAX_ERROR: Final = 160
MAX_ID: Final = 64
"""Characters. Ids have 26; what has more than a key of DynamoDB takes would end a redrive."""
MAX_CHUNK: Final = 99_999
_NO_ADDRESS: Final = re.compile(rf"(?:{IN_TEXT}|[^\s@<>\"']+)@[^\s@<>\"']+|\+\d{{6,}}")
_FAULTS: Final = ("ERROR_CODE", "ERROR_MESSAGE", "ErrorCode", "ErrorMessage")
"""Attributes that EventBridge (upper case) and SNS write beside a message that they could not deliver."""


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """A queue of the stack.

    Attributes:
        name: without the stack's prefix, such as `lane-sendgrid-main`.
        url: of the queue; empty for `plan`, `log` and `sweep`, to which only reports of failed invocations come.
        dead: of its dead-letter queue; empty for a lane's express queue, whose dead letters lie with the lane's.
    """

    name: str
    url: str
    dead: str

    @property
    def kind(self) -> str:
        """The subject of its messages: `lane` for all lanes, else its name."""
        return "lane" if self.name.startswith(LANE) else self.name


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead message that this command holds. Times are Unix milliseconds.

    Attributes:
        receipt: with it the message is deleted or given back.
        group: its MessageGroupId, the share of an account in a lane; empty without one.
        deliveries: how often it was received, also by commands that looked at it.
        redrives: how often it was redriven; `run`: in which run last.
        fault: what the service that could not deliver it says.
    """

    id: str
    body: str
    receipt: str
    group: str
    sent_at: int
    first_at: int
    deliveries: int
    redrives: int
    run: str
    fault: str


@dataclass(frozen=True, slots=True)
class About:
    """The subject of a message, and its state: two short texts."""

    what: str
    state: str


def places(found: OperatedDeployment) -> list[QueuePlace]:
    """Return the stack's queues in the order of their names; NotFound if there is no such stack."""
    start = f"{contracts.prefix(found.stage)}-"
    urls = {}
    for physical in found.resources(QUEUE):
        url = physical if "/" in physical else found.client("sqs").get_queue_url(QueueName=physical)["QueueUrl"]
        urls[url.rpartition("/")[2].removeprefix(start)] = url
    names = sorted({name.removesuffix(DEAD) for name in urls})
    return [
        QueuePlace(name, urls.get(name, ""), urls.get(name + DEAD, ""))
        for name in names
        if name + DEAD in urls or name.endswith(contracts.EXPRESS_SUFFIX)
    ]


def receive(sqs: Any, url: str, *, hold: int, most: int = MAX_ENTRIES) -> list[Letter]:
    """Receive messages and hide them from other receivers.

    Args:
        sqs: a boto3 client.
        hold: seconds for which the messages are hidden.
        most: the number of messages, at most 10.
    """
    answer = sqs.receive_message(
        QueueUrl=url,
        MaxNumberOfMessages=min(most, MAX_ENTRIES),
        VisibilityTimeout=hold,
        WaitTimeSeconds=WAIT_SECONDS,
        MessageSystemAttributeNames=["All"],
        MessageAttributeNames=["All"],
    )
    return [_letter(x) for x in answer.get("Messages", [])]


def give_back(sqs: Any, url: str, receipts: Sequence[str]) -> None:
    """Make messages visible again at once. A message whose hold has expired is visible already.

    Args:
        sqs: a boto3 client.
        receipts: receipt handles of received messages, any number.
    """
    for start in range(0, len(receipts), MAX_ENTRIES):
        entries = [
            {"Id": str(n), "ReceiptHandle": receipt, "VisibilityTimeout": 0}
            for n, receipt in enumerate(receipts[start : start + MAX_ENTRIES])
        ]
        sqs.change_message_visibility_batch(QueueUrl=url, Entries=entries)


def _letter(message: Mapping[str, Any]) -> Letter:
    system = message.get("Attributes", {})
    own = {name: value.get("StringValue", "") for name, value in message.get("MessageAttributes", {}).items()}
    redrives = own.get(REDRIVES, "")
    return Letter(
        id=message["MessageId"],
        body=message["Body"],
        receipt=message["ReceiptHandle"],
        group=system.get("MessageGroupId", ""),
        sent_at=int(system.get("SentTimestamp", 0)),
        first_at=int(system.get("ApproximateFirstReceiveTimestamp", 0)),
        deliveries=int(system.get("ApproximateReceiveCount", 0)),
        redrives=int(redrives) if redrives.isdecimal() else 0,
        run=own.get(RUN, ""),
        fault=_short(" ".join(own[name] for name in _FAULTS if own.get(name))),
    )


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
    def of(cls, found: OperatedDeployment) -> "Reader":
        """Return a reader of a deployment's own stores."""
        from shared.adapters.dynamo.campaigns.uploads import DynamoUploads  # noqa: PLC0415
        from shared.adapters.dynamo.client import Dynamo  # noqa: PLC0415
        from shared.adapters.dynamo.jobs.exports import DynamoExports  # noqa: PLC0415
        from shared.adapters.dynamo.jobs.ledgers import DynamoLedgers  # noqa: PLC0415
        from shared.adapters.dynamo.jobs.records import DynamoRecords  # noqa: PLC0415
        from shared.adapters.s3.blobs import S3Blobs  # noqa: PLC0415 - loads botocore

        dynamo, table, ops = Dynamo(found.client("dynamodb")), found.table(), found.output(OPS_OUTPUT)
        blobs = S3Blobs(lambda: found.client("s3"), "")  # contents are not read
        return cls(
            job=DynamoRecords(dynamo, records=table, ops=ops, blobs=blobs).job,
            ledger=DynamoLedgers(dynamo, ops).read,
            upload=DynamoUploads(dynamo, records=table, ops=ops).get,
            export=DynamoExports(dynamo, table).get,
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
        way = contracts.ResumeTask.loads(body)
        if way is not None:
            what = _short(way.credential or way.account) or "everything"
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
    """Read a hint about a window, or the report of a run that failed. A run each minute makes up for both."""
    name = contracts.load_digest_hint(body)
    if not name:
        return _report(body)
    if not is_window_id(name):
        raise ValueError("not the id of a window")
    return About(f"window {name}", "made by the next run")


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
    return About(what, _short(f"{condition} {error}".strip()))


class Errors:
    """Errors about messages in the logs of the function behind a queue."""

    def __init__(self, found: OperatedDeployment, url: str) -> None:
        self._logs = found.client("logs")
        self._groups = _groups(found, url) if url else []

    def since(self, at: int) -> dict[str, str]:
        """Return message id → its last error, of what was logged from a moment on (Unix ms), as far as it is cheap."""
        errors: dict[str, str] = {}
        for group in self._groups:
            more: dict[str, Any] = {}
            for _ in range(MAX_PAGES):
                try:
                    page = self._logs.filter_log_events(
                        logGroupName=group, startTime=at, filterPattern='"exception_name"', **more
                    )
                except self._logs.exceptions.ResourceNotFoundException:
                    break  # nothing was ever logged
                for event in page.get("events", []):
                    errors.update(errors_of(event.get("message", "")))
                if not page.get("nextToken"):
                    break
                more = {"nextToken": page["nextToken"]}
        return errors


def _groups(found: OperatedDeployment, url: str) -> list[str]:
    arn = found.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    functions = found.client("lambda")
    groups = []
    for source in functions.list_event_source_mappings(EventSourceArn=arn)["EventSourceMappings"]:
        known = functions.get_function_configuration(FunctionName=source["FunctionArn"])
        name = f"/aws/lambda/{known['FunctionName']}"
        groups.append(known.get("LoggingConfig", {}).get("LogGroup") or name)
    return groups


def errors_of(line: str) -> dict[str, str]:
    """Return message id → error of one line of a log; empty if it is about no message."""
    try:
        raw = json.loads(line)
    except ValueError:
        return {}
    if not isinstance(raw, dict) or not isinstance(raw.get("exception_name"), str):
        return {}
    ids = [raw["message_id"]] if "message_id" in raw else raw.get("message_ids", [])
    lines = str(raw.get("exception", "")).strip().splitlines()
    error = _short(lines[-1] if lines else raw["exception_name"])
    return {str(name): error for name in ids}


def _short(text: str) -> str:
    """Return a text that fits into a line, without addresses and phone numbers."""
    text = _NO_ADDRESS.sub("…", " ".join(text.split()))
    return text if len(text) <= MAX_ERROR else f"{text[: MAX_ERROR - 1]}…"
