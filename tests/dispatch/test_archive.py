"""The archive as it is deployed: sweeper, queue, export function, bucket."""

import csv
import io
from dataclasses import replace
from typing import Any

import boto3
import pytest

from shared import contracts
from shared.bootstrap import Deployment
from shared.contracts import Settings
from shared.domain.archive import export_id, file
from shared.domain.jobs.states import Cell, Change
from tests.contracts.conftest import CONTENT, Parts
from tests.fakes.clock import FakeClock
from tests.fakes.tables import create_tables, mock_aws

BUCKET = "b-archive"


@pytest.mark.slow
@pytest.mark.parametrize("days", [0, 400])
def test_a_finished_job_ends_in_the_archive_if_that_is_asked_for(monkeypatch: pytest.MonkeyPatch, days: int) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        tables = create_tables(boto3.client("dynamodb", region_name="us-east-1"))
        s3: Any = boto3.client("s3", region_name="us-east-1")
        s3.create_bucket(Bucket=BUCKET)
        sqs: Any = boto3.client("sqs", region_name="us-east-1")
        url = {name: sqs.create_queue(QueueName=name)["QueueUrl"] for name in ("export", "ingest", "lane-test")}
        env = {
            contracts.ENV_SETTINGS: Settings("dev", (), {}, archive_days=days, feedback_timeout=3600).dumps(),
            contracts.ENV_RECORDS_TABLE: tables.records,
            contracts.ENV_OPS_TABLE: tables.ops,
            contracts.ENV_BUCKET: BUCKET,
            contracts.ENV_EXPORT_QUEUE_URL: url["export"],
            contracts.ENV_INGEST_QUEUE_URL: url["ingest"],
            contracts.ENV_LANE_URL_PREFIX: url["lane-test"].removesuffix("test"),
        }
        clock = FakeClock()
        d = Deployment(env, clock)
        parts = Parts(clock, [2], ttl=clock.ms // 1000 + 30 * 86_400)
        parts.ledgers = [replace(x, cells=bytes([1 << 4 | Cell.SENT] * 2)) for x in parts.ledgers]
        d.records.accept(parts.job, parts.chunks, parts.ledgers, CONTENT, None)
        for change in (Change.FINISH, Change.LOG):
            assert d.records.change(parts.job, change, clock.ms).won

        names = [walk.name for walk in d.walks]
        assert (names[:2], names[-1]) == (["unlisted", "jobs"], "archive" if days else "seals"), (
            "first what live jobs need"
        )

        def sweep() -> list[str]:
            Deployment(env, clock).sweeper.sweep(clock.now() + 60)
            return [m["Body"] for m in sqs.receive_message(QueueUrl=url["export"]).get("Messages", [])]

        assert sweep() == []
        clock.advance(3600)
        assert sweep() == ([contracts.export(export_id(parts.job.id))] if days else [])
        if days:
            d.exporter.work(export_id(parts.job.id), owner="me", deadline=clock.now() + 900)
            found = s3.get_object(Bucket=BUCKET, Key=file(parts.job))["Body"].read().decode("utf-8-sig")
            rows = list(csv.reader(io.StringIO(found, newline="")))[1:]
            assert [r[2] for r in rows] == ["r0.0@example.com", "r0.1@example.com"]
            assert sweep() == []
        assert list(d.records.unarchived(10**14, 10)) == []
