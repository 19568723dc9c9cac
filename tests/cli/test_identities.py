"""`posthaste sender identities` and `sender forget`: what Posthaste made known to providers, and its end."""

from typing import Any

import boto3
import pytest

from shared.adapters.dynamo.accounts.claims import DynamoClaims
from shared.adapters.dynamo.accounts.made_identities import DynamoOwnedIdentities
from shared.adapters.dynamo.client import Dynamo
from shared.domain.identities import OwnedIdentity
from shared.ports import IdentityUnanswered
from tests.cli.conftest import TABLE
from tests.cli.fakes import FakeClock, Run

DOMAIN, REGION = "news.example.com", "eu-west-1"


class Made:
    """A domain that the deployment has made known to SES for an account, which has given it up."""

    def __init__(self, run: Run, clock: FakeClock) -> None:
        self.account = str(run("account", "create", "Ann", "--json").json["account_id"])
        dynamo = Dynamo(boto3.client("dynamodb", "us-east-1"))
        self.claims = DynamoClaims(dynamo, TABLE, clock)
        self.notes = DynamoOwnedIdentities(dynamo, TABLE, clock)
        self.make(REGION)

    def make(self, region: str, domain: str = DOMAIN, account: str = "") -> None:
        boto3.client("sesv2", region).create_email_identity(EmailIdentity=domain)
        made = OwnedIdentity("ses", region, domain, account or self.account)
        assert self.notes.reserve(made)
        self.notes.add(made)

    def known(self, region: str = REGION) -> bool:
        pages = boto3.client("sesv2", region).list_email_identities()
        return DOMAIN in [x["IdentityName"] for x in pages["EmailIdentities"]]


@pytest.fixture
def made(aws: None, run: Run, clock: FakeClock) -> Made:
    return Made(run, clock)


@pytest.mark.slow
def test_what_was_made_is_listed_with_the_accounts_that_use_it(run: Run, made: Made) -> None:
    row: dict[str, Any] = {
        "domain": DOMAIN,
        "provider": "ses",
        "region": REGION,
        "made_at": "2026-09-21T14:13:20Z",
        "made_for": made.account,
        "used_by": [],
    }
    assert run("sender", "identities", "--json").lines == [row]
    assert "no account" in run("sender", "identities", "--unused").out
    made.claims.add(made.account, DOMAIN)
    assert run("sender", "identities", "--json").lines == [{**row, "used_by": [made.account]}]
    assert made.account in run("sender", "identities").out
    left = run("sender", "identities", "--unused")
    assert (left.code, left.out, "no domains" in left.err) == (0, "", True)


@pytest.mark.slow
def test_a_domain_that_no_account_uses_is_removed_after_a_question(run: Run, made: Made) -> None:
    no = run("sender", "forget", DOMAIN, terminal=True, input="n\n")
    assert (no.code, made.known()) == (1, True)
    for word in ("ses", REGION, DOMAIN, made.account, "AWS us-east-1", "DKIM: pending"):
        assert word in no.err
    done = run("sender", "forget", "News.Example.com", "--region", REGION, terminal=True, input="y\n")
    assert (done.code, made.known()) == (0, False)
    assert run("sender", "identities", "--json").lines == []
    assert run("sender", "forget", DOMAIN, "--yes").code == 3


@pytest.mark.slow
def test_without_a_terminal_it_needs_yes(run: Run, made: Made) -> None:
    assert (run("sender", "forget", DOMAIN).code, made.known()) == (2, True)
    gone = run("sender", "forget", DOMAIN, "--yes", "--json")
    assert gone.json == {"domain": DOMAIN, "provider": "ses", "region": REGION, "removed": True}
    assert not made.known()


@pytest.mark.promise(9)
@pytest.mark.parametrize("use", ["claim", "below", "granted", "address"])
def test_a_domain_that_an_account_uses_stays(run: Run, made: Made, use: str) -> None:
    other = str(run("account", "create", "Ben", "--json").json["account_id"])
    if use in ("claim", "below"):
        made.claims.add(other, DOMAIN if use == "claim" else f"sub.{DOMAIN}")
    else:
        run("sender", "add", other, DOMAIN if use == "granted" else f"ann@{DOMAIN}")
    refused = run("sender", "forget", DOMAIN, "--yes")
    assert (refused.code, other in refused.err, made.known()) == (1, True, True)


@pytest.mark.slow
@pytest.mark.promise(9)
def test_an_account_that_claims_it_while_the_question_is_open_keeps_it(
    run: Run, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cli.senders.identities.confirm", lambda *_, **__: made.claims.add(made.account, DOMAIN))
    assert (run("sender", "forget", DOMAIN, "--yes").code, made.known()) == (1, True)


@pytest.mark.promise(9)
def test_what_operators_made_known_stays(run: Run, made: Made) -> None:
    ses = boto3.client("sesv2", "us-east-1")
    ses.create_email_identity(EmailIdentity="example.org")
    assert run("sender", "forget", "example.org", "--yes").code == 3
    assert ses.get_email_identity(EmailIdentity="example.org")


@pytest.mark.slow
@pytest.mark.promise(9)
def test_what_somebody_has_changed_since_stays(run: Run, made: Made) -> None:
    """A function that is taken over can note an operator's domain as made by Posthaste."""
    ses = boto3.client("sesv2", REGION)
    tags = [{"Key": "team", "Value": "payments"}]
    ses.create_email_identity(EmailIdentity="bank.example", Tags=tags)
    made.notes.add(OwnedIdentity("ses", REGION, "bank.example", made.account))
    refused = run("sender", "forget", "bank.example", "--yes")
    assert (refused.code, "has tags" in refused.err) == (1, True)
    assert ses.get_email_identity(EmailIdentity="bank.example")


@pytest.mark.slow
def test_a_domain_in_several_regions_needs_one(run: Run, made: Made) -> None:
    made.make("us-east-1")
    refused = run("sender", "forget", DOMAIN, "--yes")
    assert (refused.code, "add --region" in refused.err) == (2, True)
    assert run("sender", "forget", DOMAIN, "--region", "us-east-1", "--yes").code == 0
    assert (made.known("us-east-1"), made.known()) == (False, True)


@pytest.mark.slow
def test_one_that_the_provider_has_lost_is_forgotten(run: Run, made: Made) -> None:
    boto3.client("sesv2", REGION).delete_email_identity(EmailIdentity=DOMAIN)
    assert run("sender", "forget", DOMAIN, "--yes").code == 0
    assert run("sender", "identities", "--json").lines == []


@pytest.mark.slow
def test_no_answer_is_one_line_and_changes_nothing(run: Run, made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> None:
        raise IdentityUnanswered("get_email_identity: AccessDeniedException")

    monkeypatch.setattr("shared.providers.ses.identities.SesIdentities._call", denied)
    refused = run("sender", "forget", DOMAIN, "--yes")
    assert (refused.code, refused.err.count("\n"), "AccessDeniedException" in refused.err) == (1, 1, True)
    assert len(run("sender", "identities", "--json").lines) == 1


def test_a_provider_that_only_a_checkout_has_is_named(run: Run, made: Made) -> None:
    made.notes.add(OwnedIdentity("none-such", REGION, "example.net", made.account))
    refused = run("sender", "forget", "example.net", "--yes")
    assert (refused.code, "needs a checkout" in refused.err) == (1, True)


@pytest.mark.parametrize("wrong", ["not a domain", "@"])
def test_a_wrong_domain_is_refused(run: Run, made: Made, wrong: str) -> None:
    assert run("sender", "forget", wrong, "--yes").code == 2


@pytest.mark.slow
def test_all_that_no_account_uses_are_forgotten_at_once_and_make_room(run: Run, made: Made) -> None:
    for i in range(1, 50):
        assert made.notes.reserve(OwnedIdentity("ses", REGION, f"n{i}.example", made.account))
    made.make("us-east-1")
    made.make(REGION, "used.example", "acc_000000000009")
    made.claims.add(made.account, "used.example")
    made.make(REGION, "others.example", "acc_000000000009")
    more = OwnedIdentity("ses", REGION, "more.example", made.account)
    assert not made.notes.reserve(more)
    assert [x["made_for"] for x in run("sender", "identities", "--json", "--account", made.account).lines] == [
        made.account
    ] * 2
    no = run("sender", "forget", "--unused", "--account", made.account, terminal=True, input="n\n")
    assert (no.code, made.known()) == (1, True)
    for word in ("2 domains", f"{DOMAIN} ({REGION})", f"{DOMAIN} (us-east-1)"):
        assert word in no.err
    assert "example (" not in no.err
    done = run("sender", "forget", "--unused", "--account", made.account, "--region", REGION, "--yes", "--json")
    assert done.lines == [{"domain": DOMAIN, "provider": "ses", "region": REGION, "removed": True}]
    assert (made.known(), made.known("us-east-1")) == (False, True)
    assert made.notes.reserve(more)
    assert run("sender", "forget", "--unused", "--yes").code == 0
    assert [x["domain"] for x in run("sender", "identities", "--json").lines] == ["used.example"]
    again = run("sender", "forget", "--unused", "--yes")
    assert (again.code, "no domains" in again.err + again.out) == (0, True)


@pytest.mark.slow
@pytest.mark.promise(9)
def test_one_that_was_changed_stays_and_the_others_are_forgotten(run: Run, made: Made) -> None:
    tags = [{"Key": "team", "Value": "payments"}]
    boto3.client("sesv2", REGION).create_email_identity(EmailIdentity="bank.example", Tags=tags)
    made.notes.add(OwnedIdentity("ses", REGION, "bank.example", made.account))
    done = run("sender", "forget", "--unused", "--yes")
    assert (done.code, "bank.example has tags" in done.err, made.known()) == (1, True, False)
    assert [x["domain"] for x in run("sender", "identities", "--json").lines] == ["bank.example"]


@pytest.mark.slow
@pytest.mark.promise(9)
def test_one_that_an_account_claims_during_the_question_stays(
    run: Run, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cli.senders.identities.confirm", lambda *_, **__: made.claims.add(made.account, DOMAIN))
    assert (run("sender", "forget", "--unused", "--yes").code, made.known()) == (0, True)


@pytest.mark.parametrize("words", [(), (DOMAIN, "--unused"), (DOMAIN, "--account", "acc_000000000001")])
def test_it_needs_a_domain_or_all_that_are_unused(run: Run, made: Made, words: tuple[str, ...]) -> None:
    assert (run("sender", "forget", *words, "--yes").code, made.known()) == (2, True)
