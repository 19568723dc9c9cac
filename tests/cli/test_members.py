"""`posthaste member`: who may use the console for an account."""

from collections.abc import Callable

import boto3
import pytest

from shared.adapters.dynamo.accounts.first_accounts import DynamoFirstAccounts
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.homes import Homes
from shared.adapters.dynamo.people.people import DynamoPeople
from shared.contracts import ENV_CONSOLE, ENV_PEOPLE_TABLE
from shared.contracts.console import ConsoleSettings
from shared.domain.people import Identity, Newcomer, Role, WebSession
from tests.cli.conftest import TABLE
from tests.cli.fakes import FakeClock, Run
from tests.cli.operators import OperatorsFunction
from tests.fakes.people import create_people

pytestmark = pytest.mark.usefixtures("aws")
PEOPLE = "dev-people"
ANN = Identity("github", "1", "Ann", "Ann Example")


@pytest.fixture
def people(aws: None, clock: FakeClock, operators: OperatorsFunction) -> DynamoPeople:
    client = boto3.client("dynamodb", region_name="us-east-1")
    create_people(client, PEOPLE)
    operators.variables = {ENV_PEOPLE_TABLE: PEOPLE, ENV_CONSOLE: ConsoleSettings("github", "client").dumps()}
    return DynamoPeople(Dynamo(client), PEOPLE, clock)


@pytest.fixture
def account(run: Run) -> str:
    return str(run("account", "create", "Ann & Co", "--json").json["account_id"])


@pytest.fixture
def listed(run: Run, account: str) -> Callable[[], list[tuple[str, str, str]]]:
    def rows() -> list[tuple[str, str, str]]:
        return [(x["login"], x["role"], x["state"]) for x in run("member", "list", account, "--json").lines]

    return rows


@pytest.mark.slow
def test_a_login_is_invited_signs_in_gets_another_role_and_is_removed(
    run: Run, people: DynamoPeople, account: str, listed: Callable[[], list[tuple[str, str, str]]]
) -> None:
    assert run("member", "invite", account, "@ann").code == 0
    assert listed() == [("ann", "viewer", "invited")]
    people.signed_in(ANN)
    assert listed() == [("Ann", "viewer", "member")]
    again = run("member", "invite", account, "ann", "--role", "admin")
    assert (again.code, "posthaste member role" in again.err) == (2, True)
    assert run("member", "role", account, "ANN", "admin", "--json").json["role"] == "admin"
    assert listed() == [("Ann", "admin", "member")]
    assert run("member", "remove", account, "ann").code == 0
    assert listed() == []
    actions = [row["action"] for row in run("audit", account, "--json").lines]
    assert {"member.invited", "member.role_changed", "member.removed"} <= set(actions)


@pytest.mark.slow
def test_an_invitation_is_taken_back(
    run: Run, people: DynamoPeople, account: str, listed: Callable[[], list[tuple[str, str, str]]]
) -> None:
    run("member", "invite", account, "Ben", "--role", "sender")
    assert run("member", "remove", account, "BEN").code == 0
    assert listed() == []
    people.signed_in(Identity("github", "2", "ben"))
    assert listed() == []


@pytest.mark.slow
def test_all_sessions_of_a_person_end(run: Run, people: DynamoPeople, account: str, clock: FakeClock) -> None:
    user = people.signed_in(ANN)
    now = int(clock.now() * 1000)
    people.begin(WebSession("d", user.id, now, now + 1000))
    done = run("member", "sign-out", "ann", "--json")
    assert done.json == {"login": "ann", "users": [user.id], "signed_out": True, "revoke": []}
    found = people.session("d")
    assert found is not None
    assert not found[0].valid_at(now, found[1].user)
    assert [row["action"] for row in run("audit", "--json").lines] == ["member.signed_out"]
    assert run("member", "invite", account, "ann").code == 0, "they may be invited all the same"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("role", "ACCOUNT", "ben", "admin"), 3),
        (("remove", "ACCOUNT", "ben"), 3),
        (("sign-out", "ben"), 3),
        (("invite", "ACCOUNT", "not a login"), 2),
        (("invite", "ACCOUNT", "ben", "--role", "king"), 2),
        (("list", "acc_000000000000"), 3),
    ],
)
def test_what_is_not_there_is_one_line(
    run: Run, people: DynamoPeople, account: str, words: tuple[str, ...], code: int
) -> None:
    assert people.members(account) == []
    done = run("member", *(account if word == "ACCOUNT" else word for word in words))
    assert (done.code, done.out, done.err.count("\n")) == (code, "", 1)


def test_a_stage_without_a_console_says_so(run: Run, account: str) -> None:
    done = run("member", "list", account)
    assert done.code == 3
    assert "has no console" in done.err


@pytest.mark.slow
def test_a_login_of_the_settings_is_released_for_another_person(run: Run, people: DynamoPeople) -> None:
    assert people.owns_login(ANN)
    assert not people.owns_login(Identity("github", "2", "ann"))
    assert people.owns_login(ANN)
    assert run("member", "release", "@Ann", "--json").json == {"login": "Ann", "released": True}
    assert run("member", "release", "ann").code == 3
    assert people.owns_login(Identity("github", "2", "ann"))
    assert [row["action"] for row in run("audit", "--json").lines] == ["member.login_released"]


@pytest.mark.slow
def test_two_members_of_one_login_are_told_apart_by_their_ids(run: Run, people: DynamoPeople, account: str) -> None:
    for subject in ("1", "2"):
        people.invite("github", "ann", account, Role.VIEWER)
        people.signed_in(Identity("github", subject, "ann"))
    listed = run("member", "list", account, "--json").lines
    first, second = (x["user_id"] for x in listed)
    refused = run("member", "role", account, "ann", "admin")
    assert (refused.code, first in refused.err, second in refused.err) == (2, True, True)
    assert run("member", "role", account, second, "admin").code == 0
    assert run("member", "remove", account, first).code == 0
    assert [(x["user_id"], x["role"]) for x in run("member", "list", account, "--json").lines] == [(second, "admin")]


@pytest.mark.slow
def test_removing_and_signing_out_name_the_keys_that_go_on(
    run: Run, people: DynamoPeople, account: str, clock: FakeClock
) -> None:
    user = people.signed_in(ANN)
    functions = Dynamo(boto3.client("dynamodb", region_name="us-east-1"), homes=Homes(TABLE, TABLE))
    made = DynamoFirstAccounts(functions, clock).make(Newcomer(user.id, "Ann", user.actor, "0" * 64))
    people.settle(user, made.account)
    command = f"posthaste key revoke {made.account} {made.key}"
    assert command in run("member", "sign-out", "ann").out
    assert run("member", "remove", made.account, user.id, "--json").json["revoke"] == [command]
    assert run("key", "list", made.account, "--json").json["name"] == "first key of Ann"
