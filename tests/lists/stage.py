"""A list in an AWS of its own, whose server can kill the process that reads it at any of its requests."""

import copy
import hashlib
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from tempfile import TemporaryFile
from typing import Any

import boto3
from botocore.config import Config
from moto.dynamodb.models.table import Table
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

from benchmarks.upload import blocks
from shared import contracts
from shared.adapters.clock import SystemClock
from shared.adapters.dynamo import keys
from shared.adapters.dynamo.campaigns.campaign_codec import campaign_item
from shared.adapters.dynamo.campaigns.campaigns import DynamoCampaigns
from shared.adapters.dynamo.campaigns.uploads import DynamoUploads
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.codec import ledger
from shared.adapters.dynamo.open_places import DynamoOpenPlaces
from shared.adapters.s3.files import BLOCK, CONFIG, S3Files
from shared.adapters.sqs import SqsQueue
from shared.contracts import Credential, Settings, ingest
from shared.domain.campaigns.campaign import Campaign, Message, Upload
from shared.domain.ids import new_id
from shared.domain.jobs import ledger as rules
from shared.domain.jobs.job import Policy
from shared.domain.jobs.ledger import Ledger
from shared.domain.lists.ingest import Ingest
from shared.domain.lists.uploads import BadRow, Checkpoint, ListRules, Options
from shared.engine.lists.uploading import Uploading, UploadTarget
from tests.fakes.forks import FORKS
from tests.fakes.tables import Tables, create_tables
from tests.lists import reader

BUCKET = "lists"
LEASE = 2000.0
"""Seconds by which each reader's clock is ahead of the one before."""
SETTINGS = Settings("test", (Credential("main", "sendgrid", "email", 100),), {"email": ("main",)})


class Cloud:
    """moto behind a real socket. `hook` is told of each request, before (False) and after (True) it has its effect;
    before, it may refuse it by returning True."""

    def __init__(self) -> None:
        self.hook: Callable[[bool], bool] = lambda _after: False
        self._app = DomainDispatcherApplication(create_backend_app)
        self._lock = threading.Lock()  # moto is not made for two requests at once
        here: Any = Table
        here.__deepcopy__ = _copied
        self._server = make_server("127.0.0.1", 0, self._serve, threaded=True, request_handler=_Silent)
        self.url = f"http://127.0.0.1:{self._server.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def _serve(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        if self.hook(False):
            start_response("503 Service Unavailable", [("Content-Length", "0")])
            return []
        with self._lock:
            answer = list(self._app(environ, start_response))
        self.hook(True)
        return answer

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        here: Any = Table
        del here.__deepcopy__


def _copied(table: Any, _memo: object) -> Any:
    """Copy a table without its items, which transactions of puts replace: moto copies it for each of their actions."""
    twin = copy.copy(table)
    twin.items = defaultdict(dict, {key: dict(items) for key, items in table.items.items()})
    return twin


class _Silent(WSGIRequestHandler):
    """Writes nothing of each request, nor of clients that died."""

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 - its name there
        """Say nothing."""

    def handle(self) -> None:
        """Serve a connection; its client may have been killed."""
        try:
            super().handle()
        except ConnectionError:
            self.close_connection = True


@dataclass(frozen=True, slots=True)
class Read:
    """What came of a list: chunks' hashes, their ledgers, and what is reported."""

    digests: tuple[str, ...]
    ledgers: tuple[Ledger, ...]
    problems: tuple[BadRow, ...]
    checkpoint: Checkpoint


def uninterrupted(data: Iterable[bytes], options: Options, upload: Upload) -> Read:
    """Return what comes of a list that is read at one go, without storing anything."""
    rows = Ingest(options)
    digests: list[str] = []
    sizes: list[int] = []
    problems: list[BadRow] = []
    step = None
    for block in (*data, None):
        step = rows.finish() if block is None else rows.feed(block)
        digests += [c.digest for c in step.chunks]
        sizes += [c.size for c in step.chunks]
        problems += step.problems
    assert step is not None
    ledgers = tuple(
        rules.create(
            job=upload.id,
            chunk=n,
            skipped=(),
            size=size,
            lane="main",
            route=("main",),
            limit=Policy().max_attempts,
            ttl=upload.ttl,
        )
        for n, size in enumerate(sizes)
    )
    return Read(tuple(digests), ledgers, tuple(problems), step.checkpoint)


class Stage:
    """One uploaded list and those who read it."""

    def __init__(self, cloud: Cloud, rows: int, *, drop_duplicates: bool = True) -> None:
        self.cloud = cloud
        self.rows = rows
        common: dict[str, Any] = {
            "endpoint_url": cloud.url,
            "region_name": "us-east-1",
            "aws_access_key_id": "testing",
            "aws_secret_access_key": "testing",
        }
        self._db = boto3.client("dynamodb", config=Config(proxies={}), **common)
        s3 = boto3.client(
            "s3", config=Config(**CONFIG).merge(Config(proxies={}, s3={"addressing_style": "path"})), **common
        )
        sqs = boto3.client("sqs", config=Config(proxies={}), **common)
        s3.create_bucket(Bucket=BUCKET)
        self._tables: Tables = create_tables(self._db)
        self._queue = sqs.create_queue(QueueName=f"ingest-{self._tables.ops}")["QueueUrl"]
        dynamo, clock = Dynamo(self._db), SystemClock()
        self._uploads = DynamoUploads(dynamo, records=self._tables.records, ops=self._tables.ops)
        files = S3Files(lambda: s3, BUCKET, clock)
        uploading = Uploading(
            campaigns=DynamoCampaigns(dynamo, records=self._tables.records, blobs=files),
            uploads=self._uploads,
            files=files,
            places=DynamoOpenPlaces(dynamo, records=self._tables.records, clock=clock),
            queue=SqsQueue(sqs, self._queue, clock),
            settings=SETTINGS,
            clock=clock,
        )
        now = int(clock.now() * 1000)
        campaign = Campaign(new_id(now), "acc_1", False, "Big", "email", "main", Message("Hi"), now)
        self._db.put_item(TableName=self._tables.records, Item=campaign_item(campaign))
        place = uploading.start(campaign, ListRules(drop_duplicates=drop_duplicates))
        assert isinstance(place, UploadTarget)
        self._campaign, self._name = campaign.id, place.upload.id
        with self._spooled() as body:
            s3.upload_fileobj(body, BUCKET, place.upload.blob)
        assert isinstance(uploading.complete(campaign, self._name), Upload)
        self._rounds = 0

    @contextmanager
    def _spooled(self) -> Iterator[Any]:
        with TemporaryFile() as file:
            for block in blocks(self.rows, "email"):
                file.write(block)
            file.seek(0)
            yield file

    @property
    def upload(self) -> Upload:
        """The upload as it is stored."""
        found = self._uploads.get(self._campaign, self._name)
        assert found is not None
        return found

    def reader(self, *, seconds: float = 900.0, block: int = BLOCK) -> BaseProcess:
        """Return a process that will read the list: in `seconds`, `block` bytes of it at a time."""
        self._rounds += 1
        env = {
            "PATH": os.defpath,
            "AWS_ENDPOINT_URL": self.cloud.url,
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "POWERTOOLS_SERVICE_NAME": "ingest",
            "NO_PROXY": "127.0.0.1",
            contracts.ENV_SETTINGS: SETTINGS.dumps(),
            contracts.ENV_RECORDS_TABLE: self._tables.records,
            contracts.ENV_OPS_TABLE: self._tables.ops,
            contracts.ENV_BUCKET: BUCKET,
            contracts.ENV_INGEST_QUEUE_URL: self._queue,
        }
        return FORKS.Process(
            target=reader.main,
            args=(env, ingest(self._campaign, self._name)),
            kwargs={"ahead": self._rounds * LEASE, "seconds": seconds, "block": block},
            daemon=True,
        )

    def read(self) -> Read:
        """Return all that is stored of the list."""
        chunks = self._all(self._tables.records, keys.CHUNK_PREFIX)
        digests = tuple(hashlib.sha256(bytes(x["recipients"]["B"])).hexdigest() for x in chunks)
        ledgers = tuple(ledger(x) for x in self._all(self._tables.ops, keys.LEDGER_PREFIX))
        upload = self.upload
        problems, _ = self._uploads.problems(upload, after=0, limit=10_000)
        assert upload.checkpoint is not None
        return Read(digests, ledgers, tuple(problems), upload.checkpoint)

    def _all(self, table: str, prefix: str) -> Iterator[Any]:
        return iter(Dynamo(self._db).partition(table, keys.job_pk(self._name), prefix))
