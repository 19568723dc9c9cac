"""The table of the console's people, in memory."""

from typing import Any

from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.people.people import DynamoPeople
from shared.contracts import ENV_CONSOLE, ENV_PEOPLE_TABLE
from shared.contracts.console import ConsoleSettings
from shared.domain.people import Identity, Role
from tests.api.conftest import Api


def create_people(client: Any, name: str) -> None:
    """Make the table. `client`: a low-level client of DynamoDB; `name`: the table's."""
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": a, "AttributeType": "S"} for a in ("pk", "sk")],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    )


def people_of(api: Api) -> dict[str, str]:
    """Make the table of an API's people, and return the variables of a function that has it."""
    name = api.tables.records.replace("records", "people")
    create_people(api.client, name)
    return {ENV_PEOPLE_TABLE: name, ENV_CONSOLE: ConsoleSettings("github", "client").dumps()}


def member_of(api: Api) -> tuple[str, str]:
    """Return an API's account, and the login of a member that it gets."""
    dynamo, table = Dynamo(api.client, homes=api.tables.alone), api.tables.records.replace("records", "people")
    people = DynamoPeople(dynamo, table, api.world.clock)
    people.invite("github", "ann", api.account, Role.VIEWER)
    ann = Identity("github", "1", "ann", "Ann Example")
    people.owns_login(ann)
    people.signed_in(ann)
    return api.account, "ann"


MEMBER_VERBS = ("list", "invite", "role", "remove", "sign-out", "release")


def member_words(verb: str, case: Any) -> tuple[str, ...]:
    """Return what a command of members is given. `case`: has the API."""
    account, login = member_of(case.api)
    words = {"list": (account,), "invite": (account, "ben"), "role": (account, login, "sender"), "sign-out": (login,)}
    words["release"] = (login,)
    return words.get(verb, (account, login))
