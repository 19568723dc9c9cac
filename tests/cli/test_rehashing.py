"""`posthaste rehash` and the doctor's look at hashes, against the operators' function on stores of moto."""

import json
from typing import Any

import boto3
import pytest

from cli.checks import Level, secrets
from shared.adapters.dynamo import keys
from shared.adapters.dynamo.accounts.accounts import Accounts
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.recipients.stored_names import KeyedNames
from shared.adapters.dynamo.recipients.suppressions import Suppressions
from shared.contracts import addresses_secret_name
from shared.domain.recipients.address_names import MOVE_MS, NameKeys, NamesState, generation_of
from tests.cli.conftest import TABLE
from tests.cli.fakes import FakeClock, Run
from tests.cli.operators import OperatorsFunction
from tests.fakes.keyed_names import FIRST, SECOND

pytestmark = pytest.mark.usefixtures("aws")
PEOPLE = [f"{name}@example.org" for name in ("ann", "ben", "eve")]
NAME = addresses_secret_name("dev")


@pytest.fixture
def secret(aws: None) -> Any:
    client = boto3.client("secretsmanager", region_name="us-east-1")
    client.create_secret(Name=NAME, SecretString=json.dumps({"current": FIRST}))
    return client


def filled(clock: FakeClock) -> str:
    """Let a version before suppress people in an account; return its id."""
    client = boto3.client("dynamodb", region_name="us-east-1")
    account = Accounts(client, TABLE, clock).create_account("Ann & Co")
    for person in PEOPLE:
        Suppressions(client, TABLE, clock).put(account, person, "bounced")
    return account


def generations(account: str) -> set[int]:
    """Return the generations of the names that an account's suppressions have."""
    client = boto3.client("dynamodb", region_name="us-east-1")
    pk = keys.suppression(account, "")["pk"]["S"]
    return {generation_of(x["sk"]["S"]) for x in Dynamo(client).partition(TABLE, pk)}


def test_rehash_announces_waits_and_moves(run: Run, clock: FakeClock, secret: Any) -> None:
    account = filled(clock)
    looked = run("rehash", "--look")
    assert looked.code == 0
    assert "have no key: run posthaste rehash" in looked.out
    began = clock.now()
    done = run("rehash", "--yes")
    assert (done.code, clock.now() >= began + MOVE_MS / 1000) == (0, True), done.err
    assert "all hashes of addresses have the latest key; entries moved: 3" in done.out
    assert generations(account) == {1}
    again = run("rehash", "--yes", "--json")
    assert (again.json["phase"], again.json["moved"], clock.now()) == ("keyed", 3, clock.now())
    assert again.json["ended_at"]


def test_rehash_asks_before_it_begins(run: Run, clock: FakeClock, secret: Any) -> None:
    account = filled(clock)
    asked = run("rehash", input="n\n", terminal=True)
    assert (asked.code, "would not see who is suppressed" in asked.err.replace("\n", " ")) == (1, True)
    assert run("rehash", "--look", "--json").json["phase"] == "plain"
    assert generations(account) == {0}


def test_a_rehash_that_was_interrupted_is_continued_without_a_question(
    run: Run, clock: FakeClock, secret: Any, operators: OperatorsFunction
) -> None:
    account = filled(clock)
    operators.services().names.announce("operator:1:user/ann")
    assert "entries are moved from" in run("rehash", "--look").out
    clock.sleep(MOVE_MS / 1000)
    assert "under way, entries moved: 0" in run("rehash", "--look").out
    done = run("rehash", terminal=True)
    assert done.code == 0, done.err
    assert generations(account) == {1}


def test_rehash_without_a_key_changes_nothing(run: Run, clock: FakeClock) -> None:
    account = filled(clock)
    refused = run("rehash", "--yes")
    words = " ".join(refused.err.split())
    assert (refused.code, "nothing was moved: the secret of addresses has not the keys" in words) == (2, True)
    assert generations(account) == {0}


def test_a_second_key_is_moved_to(run: Run, clock: FakeClock, secret: Any) -> None:
    account = filled(clock)
    assert run("rehash", "--yes").code == 0
    secret.put_secret_value(SecretId=NAME, SecretString=json.dumps({"current": SECOND, "previous": FIRST}))
    assert "have key 1 of 2: run posthaste rehash" in run("rehash", "--look").out
    assert run("rehash", "--yes").code == 0
    assert generations(account) == {2}


def test_the_first_account_begins_with_the_key(run: Run, clock: FakeClock, secret: Any) -> None:
    assert run("account", "create", "Ann & Co").code == 0
    assert run("rehash", "--look", "--json").json["phase"] == "keyed"
    client = boto3.client("dynamodb", region_name="us-east-1")
    names = KeyedNames(Dynamo(client), TABLE, lambda _: {"current": FIRST}, clock)
    assert generation_of(names.new("ann@example.org")) == 1


ONE = NameKeys((FIRST,))
KEYED = NamesState(1, 1, 5, ONE.checks)
HAS_ONE = json.dumps({"current": FIRST})


@pytest.mark.parametrize(
    ("state", "text", "accounts", "level"),
    [
        (NamesState(), HAS_ONE, True, Level.WARNING),
        (NamesState(), HAS_ONE, False, Level.OK),
        (NamesState(0, 1, 5, ONE.checks), HAS_ONE, True, Level.WARNING),
        (KEYED, HAS_ONE, True, Level.OK),
        (KEYED, json.dumps({"current": SECOND, "previous": FIRST}), True, Level.WARNING),
        (KEYED, json.dumps({"current": SECOND}), True, Level.ERROR),
        *(
            (state, text, True, Level.ERROR)
            for state in (KEYED, NamesState())
            for text in ("", "{", "[]", '{"current": 1}')
        ),
        (NamesState(), json.dumps({"current": "short"}), True, Level.ERROR),
    ],
)
def test_the_doctor_judges_hashes(state: NamesState, text: str, level: Level, *, accounts: bool) -> None:
    finding = secrets.hashes(state, text, accounts=accounts)
    assert (finding.level, bool(finding.do)) == (level, level is not Level.OK)
