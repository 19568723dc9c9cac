"""`posthaste account limit`, by the operators' door."""

import pytest

from tests.cli.fakes import Run

pytestmark = pytest.mark.usefixtures("aws")


@pytest.fixture
def account(run: Run) -> str:
    return str(run("account", "create", "Ann & Co", "--json").json["account_id"])


def row(limit: str, most: float, *, default: bool = False) -> dict[str, object]:
    return {"limit": limit, "most": most, "used": 0, "default": default}


def test_limits_are_set_changed_and_taken_away(run: Run, account: str) -> None:
    assert run("account", "limit", account, "--json").json["items"] == []
    first = run("account", "limit", account, "--sms", "500/day", "--email", "10000", "--price", "20.50/day", "--json")
    assert first.json["items"] == [row("email", 10_000), row("sms", 500), row("price", 20.5)]
    assert first.json["resets_at"] == "2026-09-22T00:00:00Z"
    second = run("account", "limit", account, "--sms", "none", "--email", "default", "--json")
    assert second.json["items"] == [row("price", 20.5)]
    assert "20.5" in run("account", "limit", account).out


def test_countries_are_set_and_freed(run: Run, account: str) -> None:
    done = run("account", "limit", account, "--countries", "de, AT", "--json")
    assert done.json["countries"] == ["AT", "DE"]
    assert "numbers of AT, DE" in run("account", "limit", account, "--sms", "5/day").out
    assert run("account", "limit", account, "--countries", "all", "--json").json["countries"] == []
    assert run("account", "limit", account, "--countries", "Germany").code == 2
    key = run("key", "create", account, "--json").json["key_id"]
    assert run("account", "limit", account, "--key", key, "--countries", "DE").code == 2


def test_a_key_has_its_own(run: Run, account: str) -> None:
    key = run("key", "create", account, "--json").json["key_id"]
    done = run("account", "limit", account, "--key", key, "--voice", "5/day", "--json")
    assert (done.json["key_id"], done.json["items"]) == (key, [row("voice", 5)])
    assert run("account", "limit", account, "--json").json["items"] == []
    assert f"key {key}" in run("account", "limit", account, "--key", key, "--voice", "default").out


@pytest.mark.parametrize(
    ("option", "text"),
    [("--email", "10/hour"), ("--email", "-1/day"), ("--email", "1.5/day"), ("--sms", "many"), ("--price", "1,5/day")],
)
def test_what_is_no_limit_is_refused_and_changes_nothing(run: Run, account: str, option: str, text: str) -> None:
    refused = run("account", "limit", account, option, text)
    assert refused.code == 2
    assert "a day, such as" in refused.err
    assert run("account", "limit", account, "--json").json["items"] == []


def test_an_account_or_key_that_is_not_there_is_named(run: Run, account: str) -> None:
    assert run("account", "limit", "acc_000000000000", "--email", "1").code == 3
    gone = run("account", "limit", account, "--key", "0123456789abcdef", "--email", "1/day")
    assert gone.code == 3
    assert "0123456789abcdef" in gone.err
    assert run("account", "limit", account, "--key", "me", "--email", "1/day").code == 2


def test_the_audit_log_names_the_operator_and_the_limits(run: Run, account: str) -> None:
    run("account", "limit", account, "--email", "7/day")
    (entry,) = [x for x in run("audit", account, "--json").lines if x["action"] == "account.limits_set"]
    assert entry["data"] == {"email": 7}
    assert entry["actor"].endswith("user/moto")
