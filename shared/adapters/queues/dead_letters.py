"""Dead letters on SQS: the queues of a deployment, the messages in their dead-letter queues, and probable reasons.

SQS keeps no reason with a message. The message has its time, the number of its deliveries, and a body. The rest comes
from the state of what the body names, and from the logs of the function behind the queue.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from shared import contracts
from shared.domain.queues.dead_letters import Letter, QueuePlace, errors_of, short
from shared.domain.times import Millis, Seconds

REDRIVES: Final = "posthaste.redrives"
RUN: Final = "posthaste.run"
"""Attributes of a redriven message: how often it was redriven, and in which run last."""
MAX_ENTRIES: Final = 10
"""Messages that one call of SQS receives, sends or deletes."""
WAIT_SECONDS: Final = 1
"""A receive that waits asks all of SQS's servers; one that does not may see an empty queue where there is none."""
HOLD_SECONDS: Final = contracts.DEAD_LETTER_HOLD
MAX_PAGES: Final = 10
"""Pages of a log read for the errors of one queue: enough for a fault of the last hours, and over in seconds."""
WORKERS: Final = 8
METRIC_MINUTES: Final = 15
"""CloudWatch has the age of a queue's oldest message for every minute, some minutes late."""
MAX_METRICS: Final = 500
"""Queries in one GetMetricData."""
_COUNTS: Final = {
    "waiting": "ApproximateNumberOfMessages",
    "in_flight": "ApproximateNumberOfMessagesNotVisible",
    "delayed": "ApproximateNumberOfMessagesDelayed",
}
_FAULTS: Final = ("ERROR_CODE", "ERROR_MESSAGE", "ErrorCode", "ErrorMessage")
"""Attributes that EventBridge (upper case) and SNS write beside a message that they could not deliver."""


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
        fault=short(" ".join(own[name] for name in _FAULTS if own.get(name))),
    )


class DeadLetterQueues:
    """How much is in queues and since when, what is dead in them, and why.

    Args:
        sqs: a client, as the others.
    """

    def __init__(self, sqs: Any, cloudwatch: Any, functions: Any, logs: Any) -> None:
        self._sqs = sqs
        self._cloudwatch = cloudwatch
        self._functions = functions
        self._logs = logs

    def rows(self, known: Sequence[QueuePlace], now: Seconds) -> list[dict[str, Any]]:
        """Return what is in each queue, ages in seconds, None if unknown. `now`: Unix seconds."""
        urls = [url for place in known for url in (place.url, place.dead) if url]
        with ThreadPoolExecutor(WORKERS) as pool:
            counts = dict(zip(urls, pool.map(self.counts, urls), strict=True))
        ages = self._ages([url for url in urls if any(counts[url].values())], now)
        return [self._amounts(place, counts, ages, now) for place in known]

    def counts(self, url: str) -> dict[str, int]:
        """Return how many messages wait, are in flight and are delayed."""
        found = self._sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(_COUNTS.values()))["Attributes"]
        return {name: int(found.get(attribute, 0)) for name, attribute in _COUNTS.items()}

    def look(self, url: str, most: int) -> list[Letter]:
        """Return up to so many dead messages, oldest first, and give all of them back."""
        letters: dict[str, Letter] = {}
        receipts = []
        try:
            while len(letters) < most:
                some = receive(self._sqs, url, hold=HOLD_SECONDS, most=most - len(letters))
                receipts += [x.receipt for x in some]
                fresh = {x.id: x for x in some if x.id not in letters}
                if not fresh:
                    break
                letters |= fresh
        finally:
            give_back(self._sqs, url, receipts)
        return sorted(letters.values(), key=lambda x: x.sent_at)

    def _amounts(
        self, place: QueuePlace, counts: Mapping[str, Mapping[str, int]], ages: Mapping[str, int], now: Seconds
    ) -> dict[str, Any]:
        """Return what is in one queue, as `rows` does. `counts` and `ages` (seconds): by the queue's URL."""
        work, dead = counts.get(place.url), counts.get(place.dead)
        lying = dead["waiting"] + dead["in_flight"] if dead else None
        age = ages.get(place.dead)
        if dead and dead["waiting"] and age is None:
            first = min((x.sent_at for x in self.look(place.dead, 1)), default=0)
            age = max(0, int(now - first / 1000)) if first else None
        return {
            "queue": place.name,
            **{name: work[name] if work else None for name in _COUNTS},
            "oldest": ages.get(place.url),
            "dead": lying,
            "dead_oldest": age if lying else None,
        }

    def _ages(self, urls: Sequence[str], now: Seconds) -> dict[str, int]:
        """Return the age of the oldest message of queues in seconds, of those of which CloudWatch knows it."""
        end = datetime.fromtimestamp(now, UTC)
        ages = {}
        for start in range(0, len(urls), MAX_METRICS):
            some = urls[start : start + MAX_METRICS]
            queries = [
                {
                    "Id": f"q{n}",
                    "MetricStat": {
                        "Metric": {
                            "Namespace": "AWS/SQS",
                            "MetricName": "ApproximateAgeOfOldestMessage",
                            "Dimensions": [{"Name": "QueueName", "Value": url.rpartition("/")[2]}],
                        },
                        "Period": 60,
                        "Stat": "Maximum",
                    },
                }
                for n, url in enumerate(some)
            ]
            answer = self._cloudwatch.get_metric_data(
                MetricDataQueries=queries,
                StartTime=end - timedelta(minutes=METRIC_MINUTES),
                EndTime=end,
                ScanBy="TimestampDescending",
            )
            for result in answer["MetricDataResults"]:
                if result["Values"]:
                    ages[some[int(result["Id"][1:])]] = int(result["Values"][0])
        return ages

    def errors(self, url: str, since: Millis) -> dict[str, str]:
        """Return message id → its last error in the logs of a queue's function, as far as it is cheap to find."""
        errors: dict[str, str] = {}
        for group in self._groups(url):
            more: dict[str, Any] = {}
            for _ in range(MAX_PAGES):
                try:
                    page = self._logs.filter_log_events(
                        logGroupName=group, startTime=since, filterPattern='"exception_name"', **more
                    )
                except self._logs.exceptions.ResourceNotFoundException:
                    break  # nothing was ever logged
                for event in page.get("events", []):
                    errors.update(errors_of(event.get("message", "")))
                if not page.get("nextToken"):
                    break
                more = {"nextToken": page["nextToken"]}
        return errors

    def _groups(self, url: str) -> list[str]:
        attributes = self._sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]
        groups = []
        sources = self._functions.list_event_source_mappings(EventSourceArn=attributes["QueueArn"])
        for source in sources["EventSourceMappings"]:
            known = self._functions.get_function_configuration(FunctionName=source["FunctionArn"])
            name = f"/aws/lambda/{known['FunctionName']}"
            groups.append(known.get("LoggingConfig", {}).get("LogGroup") or name)
        return groups
