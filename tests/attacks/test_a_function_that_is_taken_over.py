"""A function is taken over: its role writes what may stand in `records`, and so lets an attacker in.

Which role may do what: `tests/infra/test_rights.py`, and under IAM `tests/deployed/test_roles.py`. The local cloud and
other emulators know no conditions on keys of partitions, so here the write succeeds, and must not help.
"""

import pytest

from shared.adapters.dynamo.accounts.accounts import Accounts
from shared.adapters.dynamo.audit import DynamoJournal
from shared.adapters.dynamo.client import Dynamo
from shared.domain.audit import Act, audited
from tests.api.conftest import SENDER, Api


@pytest.fixture
def taken(api: Api) -> Accounts:
    """Writes and reads as the version did whose identities stood in `records`."""
    return Accounts(api.client, api.tables.records, api.services.clock)


@pytest.mark.promise(9)
def test_a_key_that_a_function_makes_is_refused(api: Api, taken: Accounts) -> None:
    taken.create_account("Mallory")
    (mallory,) = [a.id for a in taken.list_accounts() if a.name == "Mallory"]
    for account in (mallory, api.account):
        forged, _ = taken.create_key(account)
        assert taken.find_by_key(forged) is not None, "it is in `records`"
        assert api.call("GET", "/jobs", key=forged).status == 401


@pytest.mark.promise(9)
def test_a_sender_that_a_function_allows_is_refused(api: Api, taken: Accounts) -> None:
    taken.add_sender(api.account, "bank.example")
    answer = api.call("POST", "/batches", {**api.body(("ann@example.org",)), "from": "news@bank.example"})
    assert (answer.status, answer.json["code"]) == (422, "from_not_allowed")
    assert api.call("POST", "/batches", {**api.body(("ann@example.org",)), "from": SENDER}).status == 202


@pytest.mark.promise(9)
def test_an_entry_that_a_function_puts_into_the_old_audit_log_is_not_shown(api: Api) -> None:
    before = api.call("GET", "/audit").json["items"]
    at = int(api.services.clock.now() * 1000)
    entry = audited(api.account, at, api.account, Act.ACCOUNT_SUSPENDED, "operator:1:innocent")
    DynamoJournal(Dynamo(api.client), api.tables.records).write(entry)
    assert api.call("GET", "/audit").json["items"] == before
