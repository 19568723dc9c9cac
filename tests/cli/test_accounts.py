import io
import re
from pathlib import Path

import boto3
import pytest

from cli.errors import Misused
from cli.keys.commands import _expiry
from functions.operate.handler import logger
from shared.adapters.dynamo.accounts.accounts import Accounts
from shared.adapters.dynamo.accounts.first_accounts import DynamoFirstAccounts
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.homes import Homes
from shared.domain.accounts import Scope, key_digest
from shared.domain.ids import new_id
from shared.domain.people import Newcomer
from tests.cli.conftest import TABLE, everything_stored
from tests.cli.fakes import NOW, FakeClock, Run
from tests.cli.operators import OperatorsFunction

pytestmark = pytest.mark.usefixtures("aws")


@pytest.fixture
def account(run: Run) -> str:
    return str(run("account", "create", "Ann & Co", "--sender", "Example.com", "--json").json["account_id"])


@pytest.mark.slow
def test_a_new_account_has_its_senders_and_appears_in_the_list(run: Run) -> None:
    made = run("account", "create", "Ann", "--sender", "News@Example.org", "--sender", "example.com", "--json")
    assert made.code == 0
    assert made.json["senders"] == ["example.com", "news@example.org"]
    listed = run("account", "list", "--json")
    assert listed.json == {
        "account_id": made.json["account_id"],
        "name": "Ann",
        "created_at": "2026-09-21T14:13:20Z",
        "suspended": False,
        "paused": False,
        "region": None,
        "own": False,
        "channels": [],
        "quiet_hours": {},
        "search": True,
        "leaves_at": None,
    }


@pytest.mark.slow
def test_what_people_read_names_the_next_steps(run: Run) -> None:
    made = run("account", "create", "Ann")
    found = re.search(r"acc_[0-9a-z]{12}", made.out)
    assert found is not None
    assert f"posthaste sender add {found[0]} " in made.out
    assert f"posthaste key create {found[0]}" in made.out
    assert "AWS us-east-1" in made.out
    assert found[0] in run("account", "list").out


def test_a_wrong_sender_creates_no_account(run: Run) -> None:
    refused = run("account", "create", "Ann", "--sender", "not a domain")
    assert refused.code == 2
    assert refused.err.count("\n") == 1
    assert run("account", "list", "--json").lines == []


@pytest.mark.parametrize("name", ["", "   ", "x" * 101, "a\x1b[31mb"])
def test_a_wrong_name_is_refused(run: Run, name: str) -> None:
    assert run("account", "create", name).code == 2


@pytest.mark.slow
def test_a_key_works_is_shown_once_and_stored_only_as_a_hash(run: Run, account: str, clock: FakeClock) -> None:
    made = run("key", "create", account, "--name", "ci", "--scope", "send", "--json").json
    text = made["key"]
    assert text.startswith("ph_live_")
    accounts = Accounts(boto3.client("dynamodb", region_name="us-east-1"), TABLE, clock)
    found = accounts.find_by_key(text)
    assert found is not None
    assert (found.account, found.name, found.scopes) == (account, "ci", frozenset({Scope.SEND}))
    assert key_digest(text)[:16] == made["key_id"]
    listed = run("key", "list", account, "--json")
    assert [row["key_id"] for row in listed.lines] == [made["key_id"]]
    assert text not in listed.out + run("key", "list", account).out + everything_stored()


@pytest.mark.promise(9)
def test_no_line_of_the_log_has_a_key(run: Run, account: str, monkeypatch: pytest.MonkeyPatch) -> None:
    logged = io.StringIO()
    monkeypatch.setattr(logger.registered_handler, "stream", logged)
    made = run("key", "create", account, "--json").json
    heir = run("key", "rotate", account, made["key_id"], "--json").json
    lines = logged.getvalue()
    assert '"operation":"create_key"' in lines
    assert '"operation":"rotate_key"' in lines
    for text in (made["key"], heir["key"]):
        assert text not in lines
        assert text.removeprefix("ph_live_") not in lines


def test_a_key_is_not_made_again_when_its_answer_is_lost(
    run: Run, account: str, operators: OperatorsFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = run("key", "create", account, "--json").json["key_id"]
    operators.asked.clear()
    monkeypatch.setattr("tests.cli.operators.signed", lambda *_: 1 / 0)  # the connection breaks
    for words in (("key", "create", account), ("key", "rotate", account, kept), ("account", "create", "Ann")):
        assert run(*words).code == 5
    assert len(operators.asked) == 3


def test_stdout_has_only_the_key(run: Run, account: str) -> None:
    made = run("key", "create", account, "--test")
    assert re.fullmatch(r"ph_test_[A-Za-z0-9_-]{43}\n", made.out)
    assert made.out.strip() not in made.err
    assert "shown once" in made.err


@pytest.mark.slow
def test_a_test_key_has_no_admin_scope_unless_it_is_asked_for(run: Run, account: str) -> None:
    assert run("key", "create", account, "--json").json["scopes"] == ["admin", "read", "send"]
    assert run("key", "create", account, "--test", "--json").json["scopes"] == ["read", "send"]
    asked = run("key", "create", account, "--test", "--scope", "admin", "--scope", "send", "--json").json
    assert asked["scopes"] == ["admin", "send"]


@pytest.mark.slow
def test_a_team_key_acts_for_its_account_without_the_scope_admin(run: Run, account: str) -> None:
    made = run("key", "create", account, "--team", "--json").json
    assert made["key"].startswith("ph_team_")
    assert (made["account_id"], made["kind"], made["test"]) == (account, "team", False)
    assert made["scopes"] == ["read", "send"]
    (row,) = [x for x in run("key", "list", account).out.splitlines() if made["key_id"] in x]
    assert row.split()[1] == "team"
    heir = run("key", "rotate", account, made["key_id"], "--json").json
    assert (heir["key"][:8], heir["kind"]) == ("ph_team_", "team")
    assert run("key", "revoke", account, made["key_id"]).code == 0


def test_a_key_is_either_for_tests_or_for_the_team(run: Run, account: str) -> None:
    done = run("key", "create", account, "--team", "--test")
    assert (done.code, done.err) == (2, "error: choose one of --test and --team\n")
    assert run("audit", account, "--team", "--test").code == 2


def test_a_key_expires_at_its_set_time(run: Run, account: str) -> None:
    made = run("key", "create", account, "--expires", "30d", "--json").json
    assert made["expires_at"] == "2026-10-21T14:13:20Z"
    assert "2026-10-21T14:13:20Z" in run("key", "list", account).out


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("", 0),
        ("12h", int(NOW + 12 * 3600) * 1000),
        ("2w", int(NOW + 14 * 86400) * 1000),
        ("2027-01-31", 1_801_353_600_000),
        ("2027-01-31T00:00:00+01:00", 1_801_350_000_000),
    ],
)
def test_spans_and_dates_are_understood(text: str, milliseconds: int) -> None:
    assert _expiry(text, NOW) == milliseconds


@pytest.mark.parametrize("text", ["2020-01-01", "0d", "30", "soon", "-1d", "9999-99-99"])
def test_an_expiry_that_is_past_or_nonsense_is_refused(text: str) -> None:
    with pytest.raises(Misused):
        _expiry(text, NOW)


@pytest.mark.slow
def test_a_revoked_key_is_gone(run: Run, account: str, clock: FakeClock) -> None:
    made = run("key", "create", account, "--json").json
    assert run("key", "revoke", account, made["key_id"]).code == 0
    accounts = Accounts(boto3.client("dynamodb", region_name="us-east-1"), TABLE, clock)
    assert accounts.find_by_key(made["key"]) is None
    assert run("key", "list", account, "--json").lines == []
    again = run("key", "revoke", account, made["key_id"])
    assert (again.code, again.err.count("\n")) == (3, 1)


@pytest.mark.slow
def test_a_key_is_ended_and_its_end_taken_back(run: Run, account: str) -> None:
    key = run("key", "create", account, "--json").json["key_id"]
    assert run("key", "expire", account, key, "12h", "--json").json["expires_at"] == "2026-09-22T02:13:20Z"
    assert "until 2026-09-21T14:13:20Z" in run("key", "expire", account, key, "now").out
    assert "until it is revoked" in run("key", "expire", account, key, "never").out
    assert run("key", "list", account, "--json").lines[0]["expires_at"] is None
    assert run("key", "expire", account, "0" * 16, "12h").code == 3
    for nonsense in ("", "soon", "2020-01-01"):
        assert run("key", "expire", account, key, nonsense).code == 2
    assert run("key", "rotate", account, key, "--overlap", "").code == 2


@pytest.mark.slow
def test_a_rotated_key_has_a_successor_and_a_day_left(run: Run, account: str, clock: FakeClock) -> None:
    old = run("key", "create", account, "--test", "--name", "ci", "--scope", "read", "--json").json
    made = run("key", "rotate", account, old["key_id"])
    assert re.fullmatch(r"ph_test_[A-Za-z0-9_-]{43}\n", made.out)
    assert "2026-09-22T14:13:20Z" in made.err
    listed = run("key", "list", account, "--json").lines
    assert [(x["name"], x["scopes"]) for x in listed] == [("ci", ["read"])] * 2
    assert {x["key_id"]: x["expires_at"] for x in listed}[old["key_id"]] == "2026-09-22T14:13:20Z"
    accounts = Accounts(boto3.client("dynamodb", region_name="us-east-1"), TABLE, clock)
    assert accounts.find_by_key(made.out.strip()) is not None
    assert accounts.find_by_key(old["key"]) is not None
    assert run("key", "rotate", account, "0" * 16).code == 3


def test_when_a_key_was_used_is_shown(run: Run, account: str, clock: FakeClock) -> None:
    text = run("key", "create", account, "--json").json["key"]
    accounts = Accounts(boto3.client("dynamodb", region_name="us-east-1"), TABLE, clock)
    key = accounts.find_by_key(text)
    assert key is not None
    assert run("key", "list", account, "--json").lines[0]["last_used_at"] is None
    accounts.note_use(text, key)
    assert "2026-09-21T14:13:20Z" in run("key", "list", account).out.replace("2026-09-21T14:13:20Z", "", 1)


@pytest.mark.slow
def test_an_account_is_suspended_once_and_for_a_reason_without_an_address(run: Run, account: str) -> None:
    first = run("account", "suspend", account, "--reason", "complaints, ticket 7", "--json").json
    assert first == {"account_id": account, "suspended": True, "changed": True}
    assert "already" in run("account", "suspend", account).out
    assert run("account", "list", "--json").lines[0]["suspended"] is True
    for reason in (" ", "x" * 101, "a\x1bb", "of ann@example.org", "ann, +49 30 5550123"):
        refused = run("account", "suspend", account, "--reason", reason)
        assert refused.code == 2
        assert "ann" not in refused.err
    assert run("account", "unsuspend", account, "--json").json["changed"] is True
    assert run("account", "unsuspend", account, "--json").json["changed"] is False
    assert run("account", "list", "--json").lines[0]["suspended"] is False


@pytest.mark.slow
def test_an_accounts_country_of_numbers_is_set_and_taken_back(run: Run, account: str) -> None:
    assert run("account", "region", account, "de", "--json").json == {"account_id": account, "region": "DE"}
    assert run("account", "list", "--json").lines[0]["region"] == "DE"
    assert "unknown country" in run("account", "region", account, "QQ").err
    assert run("account", "region", "acc_000000000000", "DE").code == 3
    assert run("account", "list", "--json").lines[0]["region"] == "DE"
    assert "need their country code" in run("account", "region", account, "none").out
    assert run("account", "list", "--json").lines[0]["region"] is None
    kinds = [x["action"] for x in run("audit", account, "--json").lines]
    assert "account.region_set" in kinds


def test_quiet_hours_of_a_channel_are_set_shown_and_taken_back(run: Run, account: str) -> None:
    night = "21:00-08:00 Europe/Paris"
    done = run("account", "quiet-hours", account, "sms", " 21:00-08:00   Europe/Paris", "--json")
    assert done.json == {"account_id": account, "channel": "sms", "quiet": night}
    assert "from 21:00-08:00 Europe/Paris" in run("account", "quiet-hours", account, "voice", night).out
    assert run("account", "list", "--json").lines[0]["quiet_hours"] == {"sms": night, "voice": night}
    for channel, hours, said in (
        ("fax", night, "one of"),
        ("sms", "21:00", "HH:MM"),
        ("sms", "21:00-08:00 Mars", "time zone"),
        ("sms", "00:00-24:00 UTC", "leave a part"),
    ):
        refused = run("account", "quiet-hours", account, channel, hours)
        assert refused.code == 2
        assert said in refused.err
    assert run("account", "quiet-hours", "acc_000000000000", "sms", night).code == 3
    assert "no quiet hours" in run("account", "quiet-hours", account, "voice", "none").out
    assert run("account", "list", "--json").lines[0]["quiet_hours"] == {"sms": night}
    assert "account.quiet_hours_set" in [x["action"] for x in run("audit", account, "--json").lines]


def test_pages_for_searches_are_turned_off_and_on(run: Run, account: str) -> None:
    done = run("account", "search", account, "off", "--json")
    assert done.json == {"account_id": account, "search": False}
    assert run("account", "list", "--json").lines[0]["search"] is False
    assert "keeps pages" in run("account", "search", account, "on").out
    assert run("account", "list", "--json").lines[0]["search"] is True
    assert run("account", "search", account, "maybe").code == 2
    assert run("account", "search", "acc_000000000000", "off").code == 3
    assert "account.search_set" in [x["action"] for x in run("audit", account, "--json").lines]


@pytest.mark.parametrize("command", [("revoke",), ("expire", "12h"), ("rotate",)])
def test_a_key_given_instead_of_its_id_is_not_repeated(run: Run, account: str, command: tuple[str, ...]) -> None:
    text = run("key", "create", account, "--json").json["key"]
    refused = run("key", command[0], account, text, *command[1:])
    assert refused.code == 2
    assert text not in refused.out + refused.err


@pytest.mark.slow
def test_senders_are_added_listed_and_removed(run: Run, account: str) -> None:
    assert run("sender", "add", account, "News@Example.ORG", "--json").json["sender"] == "news@example.org"
    assert len(run("sender", "list", account, "--json").lines) == 2
    assert "example.com" in run("sender", "list", account).out
    assert run("sender", "remove", account, "EXAMPLE.com").code == 0
    assert len(run("sender", "list", account, "--json").lines) == 1
    assert run("sender", "remove", account, "example.com").code == 3
    assert run("sender", "add", account, "@").code == 2


def test_an_account_goes_by_its_name_while_only_one_has_it(run: Run, account: str) -> None:
    assert run("sender", "list", "Ann & Co", "--json").lines == [{"sender": "example.com"}]
    run("account", "create", "Ann & Co")
    refused = run("sender", "list", "Ann & Co")
    assert refused.code == 2
    assert account in refused.err


@pytest.mark.slow
def test_an_account_that_is_not_there_is_exit_code_3(run: Run) -> None:
    for words in (
        ("key", "create"),
        ("key", "list"),
        ("key", "revoke", "0123456789abcdef"),
        ("key", "rotate", "0123456789abcdef"),
        ("key", "expire", "0123456789abcdef", "1h"),
        ("account", "suspend"),
        ("account", "unsuspend"),
        ("sender", "add", "example.com"),
        ("sender", "list"),
        ("sender", "remove", "example.com"),
    ):
        for account in ("acc_000000000000", "nobody"):
            found = run(*words[:2], account, *words[2:])
            assert (found.code, found.out) == (3, "")
            assert found.err == f"error: no account {account}: see `posthaste account list`\n"
    assert everything_stored() == "[]"


def test_names_of_others_do_not_steer_the_terminal(run: Run, folder: Path, clock: FakeClock) -> None:
    Accounts(boto3.client("dynamodb", region_name="us-east-1"), TABLE, clock).create_account("a\x1b]0;owned\x07b")
    shown = run("account", "list").out
    assert "owned" in shown
    assert "\x1b" not in shown
    assert "\x07" not in shown


@pytest.mark.slow
def test_an_operator_opens_a_channel_to_a_persons_account_and_closes_it(run: Run, clock: FakeClock) -> None:
    functions = Dynamo(boto3.client("dynamodb", region_name="us-east-1"), homes=Homes(TABLE, TABLE))
    made = DynamoFirstAccounts(functions, clock).make(Newcomer(new_id(int(NOW * 1000)), "Eve", "user:eve", "0" * 64))
    assert run("account", "open", "Eve", "--channel", "email").code == 2
    opened = run("account", "open", "Eve", "--channel", "sms", "--json").json
    assert opened == {"account_id": made.account, "channel": "sms", "open": True}
    listed = run("account", "list", "--json").json
    assert (listed["own"], listed["channels"]) == (True, ["sms"])
    assert "posthaste account suspend" in run("account", "close", made.account, "--channel", "sms").out
    assert run("account", "list", "--json").json["channels"] == []
    kinds = [x["action"] for x in run("audit", made.account, "--json").lines]
    assert {"account.channel_closed", "account.channel_opened"} <= set(kinds)


@pytest.mark.slow
def test_an_operators_account_needs_no_opening(run: Run, account: str) -> None:
    closed = run("account", "close", account, "--channel", "voice")
    assert "still sends by voice" in closed.out
    assert run("account", "close", account, "--channel", "voice", "--json").json["open"] is True
    assert run("account", "open", account, "--channel", "voice").out == f"{account} may send by voice\n"
