import boto3
import pytest

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.accounts.seals import DynamoSeals
from shared.adapters.dynamo.audit import DynamoJournal
from shared.adapters.dynamo.client import Dynamo
from shared.domain.audit import EVERYONE, audited
from shared.domain.namespaces import namespace
from shared.engine.reports.sealing import Sealer
from tests.cli.conftest import TABLE
from tests.cli.fakes import NOW, FakeClock, Run

pytestmark = pytest.mark.usefixtures("aws")


@pytest.mark.slow
def test_audit_entries_of_an_account_are_shown_newest_first(run: Run) -> None:
    account = run("account", "create", "Ann", "--sender", "news@example.com", "--json").json["account_id"]
    key = run("key", "create", account, "--json").json
    run("account", "suspend", account, "--reason", "unpaid")
    found = run("audit", account, "--json")
    assert {x["action"] for x in found.lines} == {
        *("account.created", "sender.added", "key.created", "account.suspended"),
    }
    assert {x["actor"] for x in found.lines} == {"operator:123456789012:user/moto"}
    assert key["key"] not in found.out
    assert "@" not in found.out
    unknown = run("audit", "Ann", "--action", "account.suspend")
    assert (unknown.code, "did you mean account.suspended?" in unknown.err) == (2, True)
    shown = run("audit", "Ann", "--action", "account.suspended").out
    assert "reason=unpaid" in shown
    assert "key.created" not in shown
    assert len(run("audit", account, "--limit", "2", "--json").lines) == 2


@pytest.mark.slow
def test_a_log_is_compared_with_its_seals(run: Run) -> None:
    account = run("account", "create", "Ann", "--json").json["account_id"]
    run("account", "suspend", account)
    client = boto3.client("dynamodb", region_name="us-east-1")
    db = Dynamo(client)
    seals = DynamoSeals(db, records=TABLE, ops=TABLE.replace("records", "ops"))
    until = int(NOW + 86_400) * 1000
    sealer = Sealer(seals, FakeClock(), 400)
    for log in (EVERYONE, account):
        sealer.seal(log, until)
    done = run("audit", "verify", account)
    assert (done.code, done.out.count("as it was sealed")) == (0, 3)
    rows = run("audit", "verify", "--all", "--json").lines
    assert [(x["log"], x["entries"]) for x in rows][:2] == [(EVERYONE, 0), (account, 2)]
    key = keys.key(f"A#{account}#AUDIT", next(iter(seals.entries(account, 0, until))).place)
    client.delete_item(TableName=TABLE, Key=key)
    done = run("audit", "verify", account)
    assert done.code == 1
    assert "removed: an entry at" in done.out
    assert run("audit", "verify", account, "--json").lines[0]["finding"]["fault"] == "removed"
    for wrong in (("verify", "a", "b"), ("a", "b"), ("verify", "--mine"), ("verify", account, "--test")):
        assert run("audit", *wrong).code == 2


@pytest.mark.slow
def test_deployment_wide_events_have_a_separate_log(run: Run) -> None:
    none = run("audit")
    assert (none.code, none.out, none.err) == (0, "", "no entries\n")
    journal = DynamoJournal(Dynamo(boto3.client("dynamodb", region_name="us-east-1")), TABLE)
    for i in range(3):
        journal.write(audited(EVERYONE, int(NOW + i) * 1000, "one", "credential.rate_set", "operator:1:x", {"rate": i}))
    items = run("audit", "--json").lines
    assert [x["data"] for x in items] == [{"rate": 2}, {"rate": 1}, {"rate": 0}]
    assert run("audit", "*").code == 2
    for nobody in ("nobody", "acc_000000000000"):  # who mistypes an id is not told that nothing was done
        assert run("audit", nobody).code == 3


@pytest.mark.slow
def test_events_of_test_keys_have_a_separate_log(run: Run) -> None:
    account = run("account", "create", "Ann", "--sender", "news@example.com", "--json").json["account_id"]
    journal = DynamoJournal(Dynamo(boto3.client("dynamodb", region_name="us-east-1")), TABLE)
    event = audited(namespace(account, test=True), int(NOW) * 1000, "one", "template.created", "0123456789abcdef")
    journal.write(event)
    assert [x["subject"] for x in run("audit", account, "--test", "--json").lines] == ["one"]
    assert "one" not in [x["subject"] for x in run("audit", account, "--json").lines]
    assert run("audit", "--test").code == 2


@pytest.mark.slow
def test_keys_are_shown_by_their_names(run: Run) -> None:
    account = run("account", "create", "Ann", "--json").json["account_id"]
    key = run("key", "create", account, "--name", "Website", "--json").json["key_id"]
    journal = DynamoJournal(Dynamo(boto3.client("dynamodb", region_name="us-east-1")), TABLE)
    for actor in (key, "0123456789abcdef"):
        journal.write(audited(account, int(NOW) * 1000, actor, "job.stopped", actor))
    found = {x["actor"]: x["actor_name"] for x in run("audit", account, "--action", "job.stopped", "--json").lines}
    assert found == {key: "Website", "0123456789abcdef": None}
    shown = run("audit", account, "--action", "job.stopped").out
    assert f"Website ({key})" in shown
    assert "(0123456789abcdef)" not in shown


@pytest.mark.slow
def test_the_logs_of_all_accounts_are_one_list(run: Run) -> None:
    accounts = [run("account", "create", name, "--json").json["account_id"] for name in ("Ann", "Ben")]
    journal = DynamoJournal(Dynamo(boto3.client("dynamodb", region_name="us-east-1")), TABLE)
    owners = [accounts[0], EVERYONE, namespace(accounts[1], test=True), accounts[1]]
    for i, owner in enumerate(owners):
        journal.write(audited(owner, int(NOW + i) * 1000, f"n{i}", "job.stopped", "operator:1:x"))
    found = run("audit", "--all", "--action", "job.stopped", "--json").lines
    assert [(x["subject"], x["account_id"], x["test"]) for x in found] == [
        ("n3", accounts[1], False),
        ("n2", accounts[1], True),
        ("n1", None, False),
        ("n0", accounts[0], False),
    ]
    newest = run("audit", "--all", "--action", "job.stopped", "--limit", "2").out.splitlines()
    assert [line.split()[1] for line in newest] == ["account", accounts[1], accounts[1]]
    for words in (("--all", "Ann"), ("--all", "--mine"), ("--mine", "Ann"), ("--all", "--test")):
        assert run("audit", *words).code == 2
