"""Redrive: dead messages go back to where they are worked on, once more; promise 8 makes any repetition safe.

A message is sent first and deleted afterwards, so that nothing is lost at any interruption. A message that was sent and
not deleted is redriven again, and changes nothing.

SQS's own StartMessageMoveTask is not used. It also moves unreadable messages, does not report what it moved, and cannot
move reports of failed invocations back to their source.
"""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from botocore.exceptions import ReadTimeoutError

from shared.adapters.queues.dead_letters import HOLD_SECONDS, MAX_ENTRIES, REDRIVES, RUN, give_back, receive
from shared.adapters.reports import Batch, batch_of, matches, read
from shared.domain.queues.dead_letters import Letter, QueuePlace, Redriven
from shared.frozen import dataclass

MAX_BATCH_BYTES: Final = 256 * 1024
"""Bytes that one call may carry where SQS's limit is not raised to 1 MiB; a message of feedback has up to 200 KB."""
ATTRIBUTE_BYTES: Final = 200
"""More than the names, types and values of a message's two attributes take."""
PATIENCE: Final = 10
"""Seconds that an operator's request waits for a function that does a batch again. Most take a second."""
MAX_STALE: Final = 100
"""Receives in a row that bring only messages that were left before. With more left messages than that, all of them come
again before the end is seen."""
BACK_AGAIN: Final = "was redriven in this run, and failed again"
UNREADABLE: Final = "not a message of this queue"
SWEEP: Final = "sweep"
GATHERS: Final = "gather_hooks"
"""The function that hears of alarms."""
STILL_RUNNING: Final = f"was not done within {PATIENCE} seconds, and is still being done: look again in a minute"
NO_BATCH: Final = "it names no batch of a stream"
TOO_OLD: Final = "its records are older than the 24 hours for which the stream keeps them"
NO_STREAM: Final = "its stream or shard is gone"
NOT_WHOLE: Final = "not all of its records could be read: try again"
HOPELESS: Final = frozenset({UNREADABLE, NO_BATCH, TOO_OLD, NO_STREAM})
"""Reasons why a message can never be worked on again; only such a message may be discarded."""


class Delivery(Protocol):
    """How dead messages of one queue are worked on again."""

    def __call__(self, letters: Sequence[Letter]) -> Mapping[str, str]:
        """Deliver messages; return why not, by id, for those that could not be."""
        ...


class Redrive:
    """One run over one queue.

    Args:
        deliver: handles a message that can be read.
        about: returns whether a body can be read.
        discard: delete messages that can never be worked on again, instead of leaving them.
        at_once: messages that are in hand at a time, at most 10.
    """

    def __init__(
        self,
        sqs: Any,
        place: QueuePlace,
        deliver: Delivery,
        about: Callable[[str], bool],
        *,
        run: str,
        discard: bool = False,
        at_once: int = MAX_ENTRIES,
    ) -> None:
        self._sqs = sqs
        self._place = place
        self._deliver = deliver
        self._about = about
        self._run = run
        self._discard = discard
        self._at_once = at_once
        self._seen: set[str] = set()
        self._held: list[str] = []
        self.tally = Redriven()

    def go(self, limit: int, over: Callable[[], bool]) -> None:
        """Move up to `limit` messages; an interruption leaves none hidden.

        Args:
            limit: the most to be moved.
            over: asked after each call; returns whether the time is over.
        """
        stale = 0
        try:
            while self.tally.moved < limit:
                letters = receive(
                    self._sqs, self._place.dead, hold=HOLD_SECONDS, most=min(self._at_once, limit - self.tally.moved)
                )
                self._held += [x.receipt for x in letters]
                fresh = [x for x in letters if x.id not in self._seen]
                # What is left comes again when its time in hand is over; behind it there may be more.
                stale = 0 if fresh else stale + 1
                if not letters or stale > MAX_STALE:
                    return
                self._seen |= {x.id for x in fresh}
                self._one(fresh)
                if over():
                    self.tally.more = True
                    return
        finally:
            give_back(self._sqs, self._place.dead, self._held)

    def _one(self, letters: Sequence[Letter]) -> None:
        why = self._unfit(letters)
        good = [x for x in letters if x.id not in why]
        if good:
            why |= self._deliver(good)
        done = [x for x in good if x.id not in why]
        self._delete(done)
        self.tally.moved += len(done)
        self._leave([(x, why[x.id]) for x in letters if x.id in why])

    def _unfit(self, letters: Sequence[Letter]) -> dict[str, str]:
        """Return the letters that are not to be delivered, by id, with the reason of each."""
        why = {x.id: UNREADABLE for x in letters if not self._about(x.body)}
        why |= {x.id: BACK_AGAIN for x in letters if x.run == self._run}
        return why

    def _leave(self, letters: Sequence[tuple[Letter, str]]) -> None:
        """Leave letters, each for a reason; delete the hopeless ones if that is asked for."""
        hopeless = [x for x, why in letters if why in HOPELESS] if self._discard else []
        if hopeless:
            self._delete(hopeless)
            self.tally.discarded += len(hopeless)
        self.tally.left += [(x, why) for x, why in letters if x not in hopeless]

    def _delete(self, letters: Sequence[Letter]) -> None:
        """Delete what was delivered. One that is not deleted comes again, and changes nothing."""
        if not letters:
            return
        entries = [{"Id": str(n), "ReceiptHandle": x.receipt} for n, x in enumerate(letters)]
        self._sqs.delete_message_batch(QueueUrl=self._place.dead, Entries=entries)
        gone = {x.receipt for x in letters}
        self._held = [receipt for receipt in self._held if receipt not in gone]


@dataclass(frozen=True, slots=True)
class Redriver:
    """Sends messages to their queue again, marked with this run, each in its own group."""

    sqs: Any
    url: str
    run: str

    def __call__(self, letters: Sequence[Letter]) -> Mapping[str, str]:
        """Send up to ten messages, in as many calls as their sizes ask for."""
        why: dict[str, str] = {}
        for part in parts(letters):
            entries = [self._entry(str(n), x) for n, x in enumerate(part)]
            failed = self.sqs.send_message_batch(QueueUrl=self.url, Entries=entries).get("Failed", [])
            why |= {part[int(fault["Id"])].id: f"SQS did not take it: {fault['Code']}" for fault in failed}
        return why

    def _entry(self, name: str, letter: Letter) -> dict[str, Any]:
        entry = {
            "Id": name,
            "MessageBody": letter.body,
            "MessageAttributes": {
                REDRIVES: {"DataType": "Number", "StringValue": str(letter.redrives + 1)},
                RUN: {"DataType": "String", "StringValue": self.run},
            },
        }
        return {**entry, "MessageGroupId": letter.group} if letter.group else entry


def parts(letters: Sequence[Letter]) -> list[list[Letter]]:
    """Return messages in parts that one call carries; one that is larger is a part of its own."""
    found: list[list[Letter]] = []
    weight = MAX_BATCH_BYTES
    for letter in letters:
        size = len(letter.body.encode()) + ATTRIBUTE_BYTES
        if weight + size > MAX_BATCH_BYTES:
            found.append([])
            weight = 0
        found[-1].append(letter)
        weight += size
    return found


class Again:
    """Does again what a report says has failed: a batch of a stream is read and handed over again, the sweeper runs.

    A change of an alarm is in its report itself, and is handed over from there.

    Args:
        kind: `plan`, `log`, `sweep`, `gather_hooks` or `call_hooks`.
        functions: a client of Lambda that waits for `PATIENCE` and asks once.
        named: function → ARN, of `sweep` and `gather_hooks`.
    """

    def __init__(self, kind: str, functions: Any, streams: Any, named: Mapping[str, str]) -> None:
        self._kind = kind
        self._functions = functions
        self._streams = streams
        self._named = named
        self._swept = False

    def __call__(self, letters: Sequence[Letter]) -> Mapping[str, str]:
        """Do it again for each report; the sweeper once for all, as each of its runs does all there is to do.

        The answer does not wait for the sweeper. If its run fails, Lambda writes another report.
        """
        if self._kind == SWEEP:
            if self._swept:
                return {}
            self._swept = True
            self._functions.invoke(FunctionName=self._named[SWEEP], InvocationType="Event", Payload=b"{}")
            return {}
        why = {x.id: self._one(x) for x in letters}
        return {name: fault for name, fault in why.items() if fault}

    def _one(self, letter: Letter) -> str:
        """Have a batch worked on again; return why not, or an empty text."""
        batch = batch_of(letter.body)
        if batch is None:
            alarm = alarm_of(letter.body) if self._kind == GATHERS else None
            return NO_BATCH if alarm is None else self._invoke(self._named[GATHERS], alarm)
        try:
            return self._do(batch)
        except self._streams.exceptions.TrimmedDataAccessException:
            return TOO_OLD
        except self._streams.exceptions.ResourceNotFoundException:
            return NO_STREAM

    def _do(self, batch: Batch) -> str:
        sources = self._functions.list_event_source_mappings(EventSourceArn=batch.stream)["EventSourceMappings"]
        if not sources:
            return NO_STREAM
        records = read(self._streams, batch)
        if records is None:
            return NOT_WHOLE
        fault = ""
        for source in sources:
            some = _for_source(source, records)
            if some:
                answer = self._invoke(source["FunctionArn"], {"Records": [event(r, batch.stream) for r in some]})
                fault = fault or answer
        return fault

    def _invoke(self, function: str, payload: Mapping[str, Any]) -> str:
        """Run a function; return how it failed, or an empty text."""
        faults = self._functions.exceptions
        try:
            answer = self._functions.invoke(FunctionName=function, Payload=json.dumps(payload).encode())
        except (faults.TooManyRequestsException, faults.RequestTooLargeException) as error:
            return f"Lambda did not take it: {error.response['Error']['Code']}"
        except ReadTimeoutError:
            return STILL_RUNNING
        if not answer.get("FunctionError"):
            return ""
        said = json.loads(answer["Payload"].read() or b"{}")
        return f"{self._kind} failed again ({said.get('errorType', 'no reason')}): see its log"


def alarm_of(body: str) -> dict[str, Any] | None:
    """Return the change of an alarm that a report is about; None: it is about something else.

    Lambda wraps an event that its function could not handle. EventBridge writes one that it could not deliver as it is.
    """
    try:
        raw = json.loads(body)
        found = raw.get("requestPayload", raw)
        return dict(found) if found["source"] == "aws.cloudwatch" else None
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _for_source(source: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the records that an event source's filters let through."""
    patterns = [json.loads(f["Pattern"]) for f in source.get("FilterCriteria", {}).get("Filters", [])]
    return [r for r in records if not patterns or any(matches(p, r) for p in patterns)]


def event(record: Mapping[str, Any], stream: str) -> dict[str, Any]:
    """Return a record as Lambda hands it over: bytes in base64, times in seconds."""
    return {**_plain(record), "eventSourceARN": stream}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.timestamp() if hasattr(value, "timestamp") else value
