"""The doctor on accounts that people made at the console, on real stores."""

from typing import Any

import pytest

from cli.doctor import doctor
from shared.adapters.dynamo import keys
from shared.adapters.dynamo.accounts.first_accounts import DynamoFirstAccounts
from shared.adapters.dynamo.client import Dynamo
from shared.domain.ids import new_id
from shared.domain.people import Newcomer
from tests.cli.fakes import FakeClock, Run
from tests.cli.test_defaults import Case, case

__all__ = ["case"]


def test_an_account_that_is_older_than_its_mark_is_a_warning(
    run: Run, case: Case, clock: FakeClock, moto_dynamo: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "CHECKS", [x for x in doctor.CHECKS if x.name == "first accounts"])
    first = DynamoFirstAccounts(Dynamo(moto_dynamo, homes=case.api.tables.homes), clock)
    made, marked = (
        first.make(Newcomer(new_id(int(clock.now() * 1000)), name, f"user:{name}", digest * 64)).account
        for name, digest in (("eve", "0"), ("ann", "1"))
    )
    assert run("doctor", "--json").json["items"][0]["level"] == "ok"
    for key in (keys.account(made), keys.accounts(made)):
        moto_dynamo.update_item(
            TableName=case.api.tables.homes.identities,
            Key=key,
            UpdateExpression="REMOVE #own",
            ExpressionAttributeNames={"#own": "own"},
        )
    (item,) = run("doctor", "--json").json["items"]
    assert (item["level"], made in item["says"], marked in item["says"]) == ("warning", True, False)
    assert item["do"].startswith(f"posthaste account suspend {made}")
