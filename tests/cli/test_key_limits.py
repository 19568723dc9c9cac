"""What the keys of `posthaste key` are limited to: networks, areas, and the longest life of the settings."""

import base64
import hashlib
import re
from typing import Any

import pytest

from shared.contracts import Settings
from tests.cli.fakes import Run
from tests.cli.operators import OperatorsFunction

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("aws")]


@pytest.fixture
def account(run: Run) -> str:
    found: str = run("account", "create", "Ann", "--json").json["account_id"]
    return found


@pytest.fixture
def limited(operators: OperatorsFunction) -> None:
    """Let the settings say that keys live for at most thirty days."""
    operators.settings = Settings("dev", (), {}, max_key_days=30)


def made(run: Run, account: str, *words: str) -> Any:
    return run("key", "create", account, *words, "--json").json


def test_a_key_has_networks_which_are_shown_and_changed(run: Run, account: str) -> None:
    key = made(run, account, "--network", "198.51.100.7", "--network", "2001:db8::/48")
    assert key["networks"] == ["198.51.100.7/32", "2001:db8::/48"]
    shown = run("key", "list", account).out
    assert "198.51.100.7/32,2001:db8::/48" in shown
    assert "last used from" in shown
    assert "from 192.0.2.0/24" in run("key", "networks", account, key["key_id"], "192.0.2.0/24").out
    assert run("key", "list", account, "--json").lines[0]["networks"] == ["192.0.2.0/24"]
    heir = run("key", "rotate", account, key["key_id"], "--json").json
    assert heir["networks"] == ["192.0.2.0/24"]
    assert "every network" in run("key", "networks", account, key["key_id"], "--everywhere").out
    told = [x["data"] for x in run("audit", account, "--action", "key.networks_changed", "--json").lines]
    assert {"networks": "", "before": "192.0.2.0/24"} in told


@pytest.mark.parametrize(
    ("network", "said"),
    [("192.0.2.7/24", "write 192.0.2.0/24"), ("0.0.0.0/0", "every address"), ("office", "no network")],
)
def test_a_wrong_network_is_refused_and_no_key_is_made(run: Run, account: str, network: str, said: str) -> None:
    refused = run("key", "create", account, "--network", network)
    assert (refused.code, said in refused.err) == (2, True)
    assert run("key", "list", account, "--json").lines == []


def test_networks_are_named_or_expressly_none(run: Run, account: str) -> None:
    key = made(run, account)["key_id"]
    assert run("key", "networks", account, key).code == 2
    assert run("key", "networks", account, key, "192.0.2.0/24", "--everywhere").code == 2
    assert run("key", "networks", account, "0" * 16, "192.0.2.0/24").code == 3


def test_a_key_of_an_area_is_made_and_shown(run: Run, account: str) -> None:
    assert made(run, account, "--scope", "stats", "--scope", "recipients")["scopes"] == ["recipients", "stats"]
    assert "recipients,stats" in run("key", "list", account).out


def test_a_key_that_works_by_tokens_is_made_and_shown(run: Run, account: str) -> None:
    key = made(run, account, "--proof", "oauth")
    assert (key["proof"], made(run, account)["proof"]) == ("oauth", "key")
    assert run("key", "rotate", account, key["key_id"], "--json").json["proof"] == "oauth"
    assert "oauth" in run("key", "list", account).out


def test_a_key_that_signs_is_made_from_its_public_half(run: Run, account: str) -> None:
    public = base64.b64encode(bytes(range(32))).decode()
    done = run("key", "create", account, "--proof", "signature", "--public-key", public)
    assert done.out.strip() == hashlib.sha256(bytes(range(32))).hexdigest()
    assert "no secret" in done.err
    (row,) = run("key", "list", account, "--json").lines
    assert (row["proof"], row["key_id"]) == ("signature", done.out[:16])
    for words, said in (
        (("create", account, "--proof", "signature", "--public-key", public), "another API key"),
        (("create", account, "--proof", "signature", "--public-key", "AAAA"), "32 bytes"),
        (("create", account, "--proof", "signature"), "public key goes with"),
        (("create", account, "--public-key", public), "public key goes with"),
        (("rotate", account, row["key_id"]), "no text to be replaced"),
    ):
        refused = run("key", *words)
        assert (refused.code, said in refused.err) == (2, True), words
    assert len(run("key", "list", account, "--json").lines) == 1


def test_without_the_setting_a_key_has_no_end(run: Run, account: str) -> None:
    assert made(run, account)["expires_at"] is None
    assert made(run, account, "--expires", "900d")["expires_at"] is not None


@pytest.mark.usefixtures("limited")
def test_the_setting_gives_each_new_key_an_end(run: Run, account: str) -> None:
    key = made(run, account)
    assert key["expires_at"] == "2026-10-21T14:13:20Z"
    assert "valid until 2026-10-21" in run("key", "create", account).err
    assert made(run, account, "--expires", "12h")["expires_at"] == "2026-09-22T02:13:20Z"
    assert made(run, account, "--expires", "30d")["expires_at"] == "2026-10-21T14:13:20Z"


@pytest.mark.usefixtures("limited")
@pytest.mark.parametrize("words", [("create", "--expires", "31d"), ("expire", "31d"), ("expire", "never")])
def test_no_key_lives_longer_than_the_setting_says(run: Run, account: str, words: tuple[str, ...]) -> None:
    key = made(run, account)["key_id"]
    where = (account, key) if words[0] == "expire" else (account,)
    refused = run("key", words[0], *where, *words[1:])
    assert (refused.code, "within 30 days" in refused.err) == (2, True)
    assert [x["expires_at"] for x in run("key", "list", account, "--json").lines] == ["2026-10-21T14:13:20Z"]


def test_the_successor_of_a_key_without_an_end_has_the_setting_s(
    run: Run, account: str, operators: OperatorsFunction
) -> None:
    old = made(run, account)
    assert old["expires_at"] is None
    operators.settings = Settings("dev", (), {}, max_key_days=30)
    heir = run("key", "rotate", account, old["key_id"], "--json").json
    assert heir["expires_at"] == "2026-10-21T14:13:20Z"


@pytest.mark.usefixtures("limited")
def test_ending_a_key_now_needs_no_leave_of_the_setting(run: Run, account: str) -> None:
    key = made(run, account)["key_id"]
    assert re.search("until 2026-09-21", run("key", "expire", account, key, "now").out)
