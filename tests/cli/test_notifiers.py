import io
import re

import boto3
import pytest

from functions.operate.handler import logger
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.notices.logins import Logins
from shared.contracts import Credential, Settings
from shared.domain.notices.notifier import password_digest
from tests.cli.conftest import TABLE, everything_stored
from tests.cli.fakes import FakeClock, Run
from tests.cli.operators import OperatorsFunction

pytestmark = pytest.mark.usefixtures("aws")
ZONE = ("--timezone", "Australia/Sydney")


@pytest.fixture(autouse=True)
def _settings(operators: OperatorsFunction) -> None:
    operators.settings = Settings("test", (Credential("texts", "twilio", "sms", 10),), {"sms": ("texts",)})


@pytest.fixture
def account(run: Run) -> str:
    return str(run("account", "create", "Ann & Co", "--json").json["account_id"])


@pytest.fixture
def logins(clock: FakeClock) -> Logins:
    return Logins(Dynamo(boto3.client("dynamodb", region_name="us-east-1")), TABLE, clock)


@pytest.mark.slow
def test_the_password_alone_stands_on_stdout_and_only_its_hash_is_stored(
    run: Run, account: str, logins: Logins
) -> None:
    made = run("notifier", "create", "clinic", "--account", account, *ZONE)
    assert re.fullmatch(r"ph_pass_[A-Za-z0-9_-]{43}\n", made.out)
    assert "shown once" in made.err
    assert made.out.strip() not in made.err + everything_stored()
    assert password_digest(made.out.strip()) in everything_stored()
    assert logins.find("clinic", made.out.strip()) is not None


@pytest.mark.slow
@pytest.mark.promise(9)
def test_no_line_of_the_log_has_a_password(run: Run, account: str, monkeypatch: pytest.MonkeyPatch) -> None:
    logged = io.StringIO()
    monkeypatch.setattr(logger.registered_handler, "stream", logged)
    first = run("notifier", "create", "clinic", "--account", account, *ZONE).out.strip()
    second = run("notifier", "rotate", "clinic").out.strip()
    lines = logged.getvalue()
    assert '"operation":"create_notifier"' in lines
    assert not any(password in lines for password in (first, second))


@pytest.mark.slow
def test_a_notifier_is_changed_and_what_has_to_change_is_named(run: Run, account: str) -> None:
    run("notifier", "create", "clinic", "--account", account, *ZONE)
    changed = run("notifier", "update", "clinic", "--hours", "8-20", "--route", "sms=texts", "--json").json
    assert (changed["reasonable_hours"], changed["route"]) == ("8-20", {"sms": ["texts"]})
    assert changed["timezone"] == "Australia/Sydney"
    refused = run("notifier", "update", "clinic", "--expiry-days", "0")
    assert (refused.code, "days_until_expiry: a number from 1" in refused.err.lower()) == (2, True)
    assert run("notifier", "update", "clinic").code == 2


@pytest.mark.slow
def test_a_notifier_is_shown_counted_and_deleted(run: Run, account: str) -> None:
    run("notifier", "create", "clinic", "--account", account, *ZONE)
    assert "notifier clinic is enabled" in run("notifier", "show", "clinic").out
    stats = run("notifier", "stats", "clinic", "--days", "2", "--json").json
    assert (stats["waiting_notices"], len(stats["items"])) == (0, 2)
    gone = run("notifier", "delete", "clinic")
    assert (gone.code, "it was not disabled" in gone.err) == (0, True)
    for verb in ("show", "stats", "delete", "disable"):
        missing = run("notifier", verb, "clinic")
        assert (missing.code, "no notifier clinic: see `posthaste notifier list`" in missing.err) == (3, True)


@pytest.mark.slow
def test_settings_are_shown(run: Run, account: str) -> None:
    made = run(
        *("notifier", "create", "clinic", "--account", "Ann & Co", *ZONE, "--hours", "8-20", "--country", "au"),
        *("--route", "sms=texts", "--expiry-days", "3", "--conflict-tries", "2", "--test", "--json"),
    ).json
    assert made["account_id"] == account
    assert (made["reasonable_hours"], made["country"], made["route"]) == ("8-20", "AU", {"sms": ["texts"]})
    assert (made["days_until_expiry"], made["conflict_tries"], made["test"]) == (3, 2, True)
    listed = run("notifier", "list", "--json").lines
    assert [x["name"] for x in listed] == ["clinic"]
    assert "clinic" in run("notifier", "list", "--account", account).out


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        ("--timezone", "Mars/Olympus"),
        (*ZONE, "--hours", "9"),
        (*ZONE, "--hours", "21-9"),
        (*ZONE, "--country", "XX"),
        (*ZONE, "--route", "sms"),
        (*ZONE, "--route", "sms=none"),
        (*ZONE, "--expiry-days", "0"),
    ],
)
def test_settings_that_are_not_valid_create_nothing(run: Run, account: str, options: tuple[str, ...]) -> None:
    refused = run("notifier", "create", "clinic", "--account", account, *options)
    assert refused.code == 2
    assert refused.err.count("\n") == 1
    assert run("notifier", "list", "--json").lines == []


@pytest.mark.slow
def test_a_name_is_given_once(run: Run, account: str) -> None:
    create = ("notifier", "create", "clinic", "--account", account, *ZONE)
    assert run(*create).code == 0
    again = run(*create)
    assert again.code == 1
    assert "taken" in again.err
    assert run("notifier", "create", "Clinic", "--account", account, *ZONE).code == 2


@pytest.mark.slow
def test_a_rotation_overlaps(run: Run, account: str, logins: Logins, clock: FakeClock) -> None:
    first = run("notifier", "create", "clinic", "--account", account, *ZONE, "--json").json["password"]
    second = run("notifier", "rotate", "clinic", "--overlap", "2h").out.strip()
    assert logins.find("clinic", first) is not None
    assert logins.find("clinic", second) is not None
    clock.sleep(2 * 3600)
    assert logins.find("clinic", first) is None
    assert logins.find("clinic", second) is not None
    assert run("notifier", "rotate", "clinic", "--overlap", "soon").code == 2
    assert run("notifier", "rotate", "none").code == 3


@pytest.mark.slow
def test_a_disabled_notifier_is_refused_until_it_is_enabled(run: Run, account: str, logins: Logins) -> None:
    password = run("notifier", "create", "clinic", "--account", account, *ZONE).out.strip()
    assert run("notifier", "disable", "clinic").code == 0
    assert logins.find("clinic", password) is None
    assert run("notifier", "list", "--json").lines[0]["disabled"] is True
    assert run("notifier", "enable", "clinic").code == 0
    assert logins.find("clinic", password) is not None
    assert run("notifier", "disable", "none").code == 3
