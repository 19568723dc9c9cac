"""`posthaste account delete`: planned, cancelled, and done at its time."""

import boto3
import pytest

from shared.adapters.dynamo.accounts.accounts import Accounts
from shared.contracts import (
    ENV_AUDIT_TABLE,
    ENV_BUCKET,
    ENV_IDENTITIES_TABLE,
    ENV_OPS_TABLE,
    ENV_RECORDS_TABLE,
)
from shared.engine.jobs import stop
from tests.cli.fakes import FakeClock, Run
from tests.cli.operators import OperatorsFunction
from tests.fakes.tables import Tables, create_tables

pytestmark = pytest.mark.usefixtures("aws", "bucket")


@pytest.fixture
def bucket(aws: None, operators: OperatorsFunction, monkeypatch: pytest.MonkeyPatch) -> Tables:
    """A bucket, and tables with their indices."""
    monkeypatch.setattr(stop, "WIDTH", 1)  # moto's tables are not for several threads
    boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="dev-bucket")
    tables = create_tables(boto3.client("dynamodb", region_name="us-east-1"))
    operators.variables = {
        ENV_BUCKET: "dev-bucket",
        ENV_RECORDS_TABLE: tables.records,
        ENV_OPS_TABLE: tables.ops,
        ENV_IDENTITIES_TABLE: tables.homes.identities,
        ENV_AUDIT_TABLE: tables.homes.audit,
    }
    return tables


@pytest.fixture
def account(clock: FakeClock, bucket: Tables) -> str:
    client = boto3.client("dynamodb", region_name="us-east-1")
    accounts = Accounts(client, bucket.records, clock, homes=bucket.homes)
    found = accounts.create_account("Ann & Co", ["example.com"])
    accounts.create_key(found)
    return found


def test_a_plan_names_the_day_and_both_ways_on(run: Run, account: str) -> None:
    planned = run("account", "delete", "Ann & Co", "--after", "7d")
    assert (planned.code, f"{account} (Ann & Co) may be deleted from 2026-09-28T14:13:20Z on" in planned.out) == (
        0,
        True,
    )
    assert f"posthaste account delete {account} --cancel" in planned.out
    assert run("account", "list", "--json").json["leaves_at"] == "2026-09-28T14:13:20Z"
    assert run("account", "delete", account, "--yes").code == 2, "its time has not come"
    assert f"{account} stays" in run("account", "delete", account, "--cancel").out
    assert "nothing was planned" in run("account", "delete", account, "--cancel").out
    assert run("account", "list", "--json").json["leaves_at"] is None


@pytest.mark.slow
def test_at_its_time_it_is_deleted_after_a_question_and_its_log_stays(
    run: Run, account: str, clock: FakeClock, bucket: Tables
) -> None:
    assert run("account", "delete", account, "--after", "1d", "--json").json["account_id"] == account
    clock.sleep(86_400)
    assert run("account", "delete", account).code == 2, "no terminal to ask on"
    asked = run("account", "delete", account, input="n\n", terminal=True)
    assert (asked.code, f"Delete {account} of stage dev, AWS" in asked.err) == (1, True)
    assert run("key", "list", account, "--json").lines
    done = run("account", "delete", account, "--yes")
    assert (done.code, f"{account} is deleted" in done.out) == (0, True)
    scanned = boto3.client("dynamodb", region_name="us-east-1").scan(TableName=bucket.homes.identities)
    assert "Ann & Co" not in str(scanned)
    assert run("account", "list", "--json").lines == []
    actions = [x["action"] for x in run("audit", account, "--json").lines]
    assert {"account.deletion_planned", "account.deleting", "account.deleted", "key.revoked"} <= {*actions}
    assert run("account", "delete", account, "--yes").code == 2, "it is deleted once"


@pytest.mark.parametrize("wrong", [("--after", "soon"), ("--after", "0d"), ("--after", "7d", "--cancel")])
def test_a_wrong_use_plans_nothing(run: Run, account: str, wrong: tuple[str, ...]) -> None:
    assert run("account", "delete", account, *wrong).code == 2
    assert run("account", "list", "--json").json["leaves_at"] is None
