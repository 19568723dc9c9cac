"""The whole engine in one process, over moto and metered: what AWS would be asked for, without AWS.

Time is fake, provider calls are answered on the spot, and what event sources do is done here by hand, one invocation
after another. Workers' looks for dead ones are left out, whose number is chance. So every figure is reproducible.
"""

import base64
import json
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import replace
from io import StringIO
from typing import Any, Final
from unittest.mock import Mock, patch

import boto3
from moto import mock_aws
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.dynamo_type import DynamoType

from benchmarks.rig.mail import prose, recipients
from benchmarks.rig.meter import RECORDS_INDICES, Meter, Tally
from benchmarks.rig.sizes import Item, kept_size
from shared import contracts
from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.accounts.accounts import Accounts
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.recipients.stored_names import KeyedNames
from shared.adapters.reports import matches
from shared.contracts import Credential, ProviderEvent, Routing, Settings
from shared.domain.content.content import Content, Mailbox
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.job import Policy
from shared.engine.intake.accept import AcceptedJob, Acceptor, BatchRequest
from shared.engine.lane.calls import Calls
from shared.ports import Response
from tests.fakes.clock import FakeClock, FakePool
from tests.fakes.tables import Tables, create_tables

REGION: Final = "us-east-1"
TABLES: Final = Tables("")
SENDER_SECONDS: Final = 120
CALL_SECONDS: Final = 10.0
REQUEST: Final = "JKJaXmPLvHcESHA="
"""An id of API Gateway."""
ID_BYTES: Final = 60
"""The provider's ids are this long, and random, as the promise says."""


class Wire:
    """A provider's end of the wire: takes everything, with ids as long as the promise says. Counts bytes out."""

    secret: Mapping[str, str] = {"api_key": "SG.bench"}
    """Of each of its credentials."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self.calls = 0
        self.sent = 0
        """Bytes of request bodies."""

    def request(
        self, method: str, url: str, *, headers: Mapping[str, str], body: bytes | tuple[bytes, ...], deadline: float
    ) -> Response:
        """Accept; see `ports.Http`."""
        del method, url, headers, deadline
        self.calls += 1
        self.sent += len(body) if isinstance(body, bytes) else sum(map(len, body))
        text = base64.b64encode(self._random.randbytes(ID_BYTES)).decode()[:ID_BYTES]
        return self.answer(text)

    def answer(self, name: str) -> Response:
        """Return what a provider of mail says that took a message."""
        return Response(202, {"x-message-id": name}, b"")


class Context:
    """The context of an invocation that Lambda passes to a function."""

    function_name = "bench"
    memory_limit_in_mb = 512
    invoked_function_arn = "arn:aws:lambda:us-east-1:123456789012:function:bench"
    aws_request_id = "6f1f8a52-1a58-4d3c-9c1b-0f6a7c3a1b2d"

    def get_remaining_time_in_millis(self) -> int:
        """Return a sender's whole time."""
        return SENDER_SECONDS * 1000


def settings(rate: float, per_call: int) -> Settings:
    """Return a deployment's settings with two credentials on the route, as failover needs them."""
    names = ("sendgrid-main", "sendgrid-second")
    credentials = tuple(
        Credential(c, "sendgrid", "email", rate, "https://provider.invalid", per_call=per_call) for c in names
    )
    return Settings("bench", credentials, {"email": names})


class World:
    """A deployment on moto, made by `world()`; every method runs what AWS would start.

    Attributes:
        meter: counts the calls of the engine's clients, not those made here; `wire`: the provider.
        invocations: function → how often it was started since `take`.
        printed: their figures for CloudWatch.
    """

    def __init__(self, config: Settings, wire: Wire) -> None:
        from functions.dispatch import ingest, log, plan, send, take, track  # noqa: PLC0415 - the environment is set
        from shared.bootstrap import Deployment  # noqa: PLC0415
        from shared.bootstrap.sending import SendingLane  # noqa: PLC0415

        self.clock = FakeClock()
        self.config = config
        self.wire = wire
        self.invocations: dict[str, int] = {}
        self.printed = StringIO()
        self.meter = Meter(_peek, {TABLES.records: RECORDS_INDICES})
        self._plain = boto3.Session(region_name=REGION)
        self._make()
        self.deployment = Deployment(os.environ, self.clock)
        self.meter.attach(self.deployment.aws.session.get_component("event_emitter"))
        self.deployment.tracker._pool = FakePool  # noqa: SLF001 - the meter wants one thread
        self._lanes = {}
        for c in config.credentials:
            served = SendingLane(self.deployment, c)
            served._http = self.wire  # noqa: SLF001 - the one seam below the real provider
            sender = served.sender(CALL_SECONDS)
            calls = Calls(sender._provider, self.clock, CALL_SECONDS, FakePool, messages=served._messages)  # noqa: SLF001
            sender._calls, sender._glance = calls, Mock()  # noqa: SLF001 - on the spot, and without looks
            self._lanes[c.id] = served
        self._handlers = {
            "send": send.handler,
            "log": log.handler,
            "track": track.handler,
            "ingest": ingest.handler,
            "plan": plan.handler,
            "take": take.handler,
        }
        self._seen: dict[tuple[str, str], int] = {}

    def _make(self) -> None:
        db = self._plain.client("dynamodb")
        create_tables(db, TABLES)
        db.put_item(TableName=TABLES.records, Item=keys.unlisting())  # as once the sweeper has run
        accounts = Accounts(db, TABLES.records, self.clock, homes=TABLES.homes)
        self.account = accounts.create_account("Bench", ["example.com"])
        self._key, _ = accounts.create_key(self.account)
        self._sqs = self._plain.client("sqs")
        names = [contracts.lane_queue_name("bench", c.id) for c in self.config.credentials]
        urls = [self._sqs.create_queue(QueueName=n)["QueueUrl"] for n in names]
        self._queues = dict(zip([c.id for c in self.config.credentials], urls, strict=True))
        for c in self.config.credentials:
            self._sqs.create_queue(QueueName=contracts.express_queue_name("bench", c.id))
        self._feedback = self._sqs.create_queue(QueueName="posthaste-bench-feedback")["QueueUrl"]
        self._lists = self._sqs.create_queue(QueueName="posthaste-bench-ingest")["QueueUrl"]
        self._inboxes = self._sqs.create_queue(QueueName=contracts.inbox_queue_name("bench"))["QueueUrl"]
        self._plain.client("s3").create_bucket(Bucket="bench")
        secrets = self._plain.client("secretsmanager")
        secrets.create_secret(
            Name=contracts.unsubscribe_secret_name("bench"), SecretString=json.dumps({"current": "k" * 64})
        )
        key = "k" * 64
        secrets.create_secret(Name=contracts.addresses_secret_name("bench"), SecretString=json.dumps({"current": key}))
        keyed = KeyedNames(
            Dynamo(self._plain.client("dynamodb")), TABLES.records, lambda _: {"current": key}, self.clock
        )
        if not keyed.begin(empty=lambda: True):
            raise RuntimeError("the names of addresses have no key")
        for c in self.config.credentials:
            secrets.create_secret(Name=contracts.secret_name("bench", c.id), SecretString=json.dumps(self.wire.secret))
        self._plain.client("scheduler").create_schedule_group(Name=contracts.prefix("bench"))
        os.environ |= {
            contracts.ENV_SETTINGS: self.config.dumps(),
            contracts.ENV_RECORDS_TABLE: TABLES.records,
            contracts.ENV_OPS_TABLE: TABLES.ops,
            contracts.ENV_IDENTITIES_TABLE: TABLES.homes.identities,
            contracts.ENV_AUDIT_TABLE: TABLES.homes.audit,
            contracts.ENV_BUCKET: "bench",
            contracts.ENV_FEEDBACK_QUEUE_URL: self._feedback,
            contracts.ENV_INGEST_QUEUE_URL: self._lists,
            contracts.ENV_EXPORT_QUEUE_URL: self._feedback,  # nothing here is exported
            contracts.ENV_DUE_QUEUE_URL: self._sqs.create_queue(QueueName="posthaste-bench-due")["QueueUrl"],
            contracts.ENV_SCHEDULER_ROLE_ARN: "arn:aws:iam::123456789012:role/bench",
            contracts.ENV_API_URL: "https://0123456789.execute-api.us-east-1.amazonaws.com",
            contracts.ENV_LANE_URL_PREFIX: urls[0].removesuffix(self.config.credentials[0].id),
            contracts.ENV_LANE: self.config.credentials[0].id,
            contracts.ENV_LEASE_MARGIN: "5",
        }

    # What AWS starts

    def post_each(self, count: int, body: int) -> list[str]:
        """Post as many single messages of `body` bytes of HTML to one process of the API, and return their jobs."""
        from functions.api import services  # noqa: PLC0415

        process = services.build(self.deployment)
        return [self.post(recipients(1), body, process=lambda: process) for _ in range(count)]

    def post(
        self,
        people: Sequence[Recipient],
        body: int,
        *,
        process: Callable[[], Any] | None = None,
        more: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> str:
        """Post a batch of `body` bytes of HTML to the API, and return its job.

        Args:
            process: returns what the API's process has made and knows; None: it is new, and knows no key.
            headers: as of `ask`.
        """
        batch = {
            **(more or {}),
            "from": "Example News <news@example.com>",
            "to": [f"{p.display} <{p.address}>" for p in people],
            "subject": "What is new this week",
            "body": prose(body),
            "name": "weekly",
        }
        return str(self.ask("POST", "/batches", json.dumps(batch), process=process, headers=headers)["job_id"])

    def ask(
        self,
        method: str,
        path: str,
        body: str,
        media_type: str = "application/json",
        login: str = "",
        process: Callable[[], Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Return the API's JSON to a request that must succeed.

        Args:
            method: of the request, as its path.
            path: without a query.
            login: `name:password` of a notifier; empty: the account's key is sent.
            process: as of `post`.
            headers: further ones, with lower-case names.
        """
        from functions.api import services  # noqa: PLC0415
        from functions.api.handler import respond  # noqa: PLC0415

        authorization = f"Basic {base64.b64encode(login.encode()).decode()}" if login else f"Bearer {self._key}"
        event = {
            "version": "2.0",
            "rawPath": path,
            "rawQueryString": "",
            "headers": {"authorization": authorization, "content-type": media_type, **(headers or {})},
            "requestContext": {"http": {"method": method, "path": path}, "stage": "$default"},
            "body": body,
            "isBase64Encoded": False,
        }
        answer = respond(event, REQUEST, process or (lambda: services.build(self.deployment)))
        if not 200 <= answer["statusCode"] < 300:  # noqa: PLR2004 - the class of HTTP successes
            raise RuntimeError(f"not accepted: {answer['body']}")
        return json.loads(answer["body"])

    def accept(self, people: Sequence[Recipient], body: int, key: str = "") -> str:
        """Accept a batch as the API does once the request is valid, and return its job."""
        return self.accept_request(self.request(people, body, key))

    def accept_request(self, request: BatchRequest) -> str:
        """Accept a valid batch and return its job."""
        d = self.deployment
        acceptor = Acceptor(
            records=d.records, lanes=d.lanes, breaker_cache=d.breaker_cache, settings=self.config, clock=self.clock
        )
        answer = acceptor.accept(request)
        if not isinstance(answer, AcceptedJob):
            raise TypeError("a repeated key")
        return answer.job.id

    def request(self, people: Sequence[Recipient], body: int, key: str = "") -> BatchRequest:
        """Return a valid batch of `body` bytes of HTML."""
        return BatchRequest(
            account=self.account,
            test=False,
            channel="email",
            route=self.config.routes["email"],
            content=Content(Mailbox("news@example.com", "Example News"), "What is new this week", prose(body)),
            recipients=tuple(people),
            duplicates=0,
            policy=Policy(),
            name="weekly",
            idempotency_key=key,
            fingerprint="0" * 64 if key else "",
        )

    def finish(self, *, together: int = 1) -> None:
        """Start senders and loggers until nothing waits. `together`: ledgers of one invocation of the logger."""
        while sum(self._send(c) for c in self._queues):
            if together > 1:
                self.send()
            self.log(together)

    def send(self, together: int = 1) -> None:
        """Start senders until no pointer waits. `together`: pointers to small jobs of one invocation."""
        while sum(self._send(c, together) for c in self._queues):
            continue

    def ingest(self) -> None:
        """Start the reader of lists until none waits."""
        while self._receive(self._lists, "ingest"):
            pass

    def intake(self) -> None:
        """Start the function that takes records of notifiers until no inbox waits."""
        while self._receive(self._inboxes, "take"):
            pass

    def plan(self, job: str) -> None:
        """Start the planner for a job, as the stream of jobs does when one is READY or gives its credential back."""
        image = {"job": {"S": job}, "state": {"S": "READY"}}
        with self._here(""):
            self._run("plan", {"Records": [{"eventName": "MODIFY", "dynamodb": {"NewImage": image}}]})

    def _send(self, credential: str, together: int = 1) -> bool:
        url = self._queues[credential]
        small = self._receive(url + contracts.EXPRESS_SUFFIX, "send", credential, most=together)
        return small or self._receive(url, "send", credential)

    def _receive(self, queue: str, function: str, credential: str = "", *, most: int = 1) -> bool:
        """Start a function for up to `most` messages of a queue; False if there is none."""
        got = self._sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=most).get("Messages", [])
        for message in got:
            self._sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
        if not got:
            return False
        with self._here(credential):
            records = [{"messageId": x["MessageId"], "body": x["Body"], "eventSourceARN": queue} for x in got]
            self._run(function, {"Records": records})
        return True

    def log(self, together: int = 1) -> None:
        """Start what folds the ledgers that pass the streams' filters, for so many at once."""
        for table, function, pattern in (
            (TABLES.ops, "log", contracts.LOG_STREAM_FILTER),
            (TABLES.records, "plan", contracts.PLAN_STREAM_FILTERS[-1]),
        ):
            found = self._changed(table, pattern)
            for start in range(0, len(found), together):
                with self._here(""):
                    self._run(function, {"Records": found[start : start + together]})

    def _changed(self, table: str, pattern: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """Return a stream's records of ledgers that pass its filter, and were not returned before."""
        found: list[Mapping[str, Any]] = []
        for image in _items(table):
            record = {"eventName": "MODIFY", "dynamodb": {"NewImage": image}}
            name = (image["pk"]["S"], image["sk"]["S"])
            if matches(pattern, record) and self._seen.get(name) != (version := codec.ledger(image).version):
                self._seen[name] = version
                found.append(record)
        return sorted(found, key=lambda x: str(x["dynamodb"]["NewImage"]["pk"]))

    def hears(self, job: str) -> bool:
        """Tell whether a write of a job, as it is now, starts the function that makes webhooks."""
        record = {"dynamodb": {"NewImage": _peek(TABLES.records, keys.job(job))}}
        return any(matches(x, record) for x in contracts.HOOKS_RECORDS_FILTERS)

    def track(self, credential: str, posts: Sequence[Sequence[ProviderEvent]]) -> None:
        """Start the tracker for a batch of feedback messages; `log` folds what they changed."""
        records = [
            {"messageId": str(i), "body": contracts.dump_feedback(credential, list(p))} for i, p in enumerate(posts)
        ]
        with self._here(""):
            self._run("track", {"Records": records})

    def idle(self, handler: Callable[[Mapping[str, Any], Any], Any], event: Mapping[str, Any]) -> None:
        """Start a function a minute later, when it has nothing to do."""
        self.clock.advance(60)
        with redirect_stdout(StringIO()):  # figures for CloudWatch
            handler(event, Context())

    def _run(self, name: str, event: Mapping[str, Any]) -> None:
        self.invocations[name] = self.invocations.get(name, 0) + 1
        with redirect_stdout(self.printed):
            answer = self._handlers[name](event, Context())
        if answer["batchItemFailures"]:
            raise RuntimeError(f"{name} failed")

    @contextmanager
    def _here(self, credential: str) -> Iterator[None]:
        from functions.dispatch import services  # noqa: PLC0415

        with ExitStack() as stack:
            stack.enter_context(patch.object(services, "deployment", lambda: self.deployment))
            if credential:
                stack.enter_context(patch.dict(self.deployment.__dict__, lane=self._lanes[credential]))
            yield

    def stored(self) -> dict[tuple[str, str, str], tuple[int, int]]:
        """Return table and key of each item that expires → its bytes, entries of indices included, and when it does.

        Times are Unix seconds. DynamoDB bills 100 bytes besides for each item, and for each entry of an index.
        """
        kept = ((table, x) for table in (TABLES.records, TABLES.ops) for x in _items(table) if "ttl" in x)
        return {
            (table, x["pk"]["S"], x["sk"]["S"]): (kept_size([x, *_entries(table, x)]), int(x["ttl"]["N"]))
            for table, x in kept
        }

    def take(self) -> Tally:
        """Return what was counted since the last time."""
        self.invocations = {}
        return self.meter.take()


@contextmanager
def world(*, rate: float, per_call: int = 1, spread: bool = True) -> Iterator[World]:
    """Make a deployment whose credentials send `rate` messages a second in calls of `per_call`.

    Args:
        spread: jobs begin at each of two credentials, by their ids, which are drawn; False: all begin at the first.
    """
    config = settings(rate, per_call)
    with deployed(config if spread else replace(config, routing={"email": Routing.ORDERED}), Wire()) as made:
        yield made


@contextmanager
def deployed(config: Settings, wire: Wire) -> Iterator[World]:
    """Make a deployment of given credentials and their provider."""
    with (
        mock_aws(),
        patch.dict(
            os.environ,
            {
                "AWS_ACCESS_KEY_ID": "bench",
                "AWS_SECRET_ACCESS_KEY": "bench",
                "AWS_DEFAULT_REGION": REGION,
                "POWERTOOLS_LOG_LEVEL": "CRITICAL",
            },
        ),
    ):
        yield World(config, wire)


def _backend(table: str) -> Any:
    return dynamodb_backends[DEFAULT_ACCOUNT_ID][REGION].tables[table]


def _peek(table: str, key: Mapping[str, Any]) -> Item | None:
    found = _backend(table).get_item(DynamoType(key["pk"]), DynamoType(key["sk"]))
    return None if found is None else found.to_json()["Attributes"]


def _items(table: str) -> list[dict[str, Any]]:
    parts = list(_backend(table).items.values())
    return [item.to_json()["Attributes"] for part in parts for item in part.values()]


def _entries(table: str, item: Item) -> list[Item | None]:
    return [x.entry(item) for x in RECORDS_INDICES] if table == TABLES.records else []
