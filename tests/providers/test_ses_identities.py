"""SES's email identities of domains: made without tags, removed only as they were made. botocore holds each call to its
model."""

from typing import Any

import boto3
import pytest
from botocore.exceptions import ConnectTimeoutError
from botocore.stub import Stubber
from moto import mock_aws

from shared.domain.identities import IdentityState
from shared.ports import IdentityChanged, IdentityRefused, IdentityUnanswered
from shared.providers.registry import identities
from shared.providers.ses.identities import SesIdentities

DOMAIN = "news.example.com"
MADE = {"EmailIdentity": DOMAIN, "DkimSigningAttributes": {"NextSigningKeyLength": "RSA_2048_BIT"}}
RECORDS = {f"{t}._domainkey.{DOMAIN}": f"{t}.dkim.amazonses.com" for t in ("a", "b", "c")}


class Room:
    """A client whose answers are given one by one."""

    def __init__(self) -> None:
        self.client: Any = boto3.client("sesv2", "eu-central-1", aws_access_key_id="k", aws_secret_access_key="s")
        self.stub = Stubber(self.client)
        self.stub.activate()
        self.ses = SesIdentities(self.client, "eu-central-1")

    def missing(self, *domains: str) -> None:
        for domain in domains:
            self.stub.add_client_error(
                "get_email_identity", "NotFoundException", expected_params={"EmailIdentity": domain}
            )

    def known(self, domain: str = DOMAIN, status: str = "PENDING", **dkim: Any) -> None:
        self.answered({}, domain, Status=status, **dkim)

    def answered(self, fields: dict[str, Any], domain: str = DOMAIN, **dkim: Any) -> None:
        said = {"Tokens": ["a", "b", "c"], "SigningAttributesOrigin": "AWS_SES", **dkim}
        answer = {"DkimAttributes": said, **fields}
        self.stub.add_response("get_email_identity", answer, {"EmailIdentity": domain})


@pytest.fixture
def room() -> Room:
    return Room()


def test_an_identity_is_made_without_tags_and_its_records_are_returned(room: Room) -> None:
    room.missing(DOMAIN, "example.com")
    room.stub.add_response("create_email_identity", {}, MADE)
    room.known()
    assert room.ses.read(DOMAIN).state is IdentityState.NONE
    assert room.ses.create(DOMAIN)
    found = room.ses.read(DOMAIN)
    assert (found.provider, found.region, found.state) == ("ses", "eu-central-1", IdentityState.PENDING)
    assert found.records == RECORDS
    room.stub.assert_no_pending_responses()


@pytest.mark.promise(9)
def test_an_identity_that_is_there_was_not_made(room: Room) -> None:
    room.stub.add_client_error("create_email_identity", "AlreadyExistsException", expected_params=MADE)
    assert not room.ses.create(DOMAIN)


def test_a_domain_is_covered_by_one_above_it(room: Room) -> None:
    room.missing("a.news.example.com", DOMAIN)
    room.known("example.com", "SUCCESS")
    found = room.ses.read("a.news.example.com")
    assert (found.state, found.covered_by, found.records) == (IdentityState.SUCCESS, "example.com", {})
    room.stub.assert_no_pending_responses()


def test_a_domain_above_without_published_records_covers_nothing(room: Room) -> None:
    room.missing(DOMAIN)
    room.known("example.com")
    assert room.ses.read(DOMAIN).state is IdentityState.NONE


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("NOT_STARTED", IdentityState.PENDING),
        ("PENDING", IdentityState.PENDING),
        ("SUCCESS", IdentityState.SUCCESS),
        ("FAILED", IdentityState.FAILED),
        ("TEMPORARY_FAILURE", IdentityState.UNKNOWN),
    ],
)
def test_each_state_of_dkim_has_one_of_ours(room: Room, status: str, state: IdentityState) -> None:
    room.known(status=status)
    assert room.ses.read(DOMAIN).state is state


def test_keys_of_another_zone_and_keys_of_the_owner(room: Room) -> None:
    room.known(SigningHostedZone="dkim.eu-central-2.amazonses.com")
    assert room.ses.read(DOMAIN).records[f"a._domainkey.{DOMAIN}"] == "a.dkim.eu-central-2.amazonses.com"
    room.known(SigningAttributesOrigin="EXTERNAL", Tokens=["selector"])
    assert room.ses.read(DOMAIN).records == {}


def test_a_full_account_refuses(room: Room) -> None:
    room.stub.add_client_error("create_email_identity", "LimitExceededException")
    with pytest.raises(IdentityRefused):
        room.ses.create(DOMAIN)


@pytest.mark.parametrize(
    "code", ["TooManyRequestsException", "AccessDeniedException", "ConcurrentModificationException"]
)
def test_what_is_no_answer_says_so(room: Room, code: str) -> None:
    room.stub.add_client_error("get_email_identity", code)
    with pytest.raises(IdentityUnanswered, match=code):
        room.ses.read(DOMAIN)


def test_a_lost_connection_is_no_answer() -> None:
    class Lost:
        def get_email_identity(self, **_: Any) -> None:
            raise ConnectTimeoutError(endpoint_url="https://email.example")

    with pytest.raises(IdentityUnanswered, match="ConnectTimeoutError"):
        SesIdentities(Lost(), "eu-central-1").remove(DOMAIN)


def test_an_identity_as_it_was_made_is_removed_once(room: Room) -> None:
    room.answered({"Tags": [], "Policies": {}})
    room.stub.add_response("delete_email_identity", {}, {"EmailIdentity": DOMAIN})
    room.ses.remove(DOMAIN)
    room.known()
    room.stub.add_client_error("delete_email_identity", "NotFoundException")
    room.ses.remove(DOMAIN)
    room.missing(DOMAIN)
    room.ses.remove(DOMAIN)
    room.stub.assert_no_pending_responses()


MAIL_FROM = {"MailFromDomain": "bounce.example.com", "MailFromDomainStatus": "SUCCESS"}
CHANGED: dict[str, dict[str, Any]] = {
    "tags": {"Tags": [{"Key": "team", "Value": "payments"}]},
    "a configuration set": {"ConfigurationSetName": "payments"},
    "a MAIL FROM domain": {"MailFromAttributes": {**MAIL_FROM, "BehaviorOnMxFailure": "REJECT_MESSAGE"}},
    "policies": {"Policies": {"other": "{}"}},
    "keys of its owner": {"DkimAttributes": {"SigningAttributesOrigin": "EXTERNAL"}},
}


@pytest.mark.promise(9)
@pytest.mark.parametrize("what", CHANGED)
def test_an_identity_that_somebody_changed_is_never_removed(room: Room, what: str) -> None:
    """A function that is taken over can note an identity of an operator as made by it."""
    room.answered(CHANGED[what])
    with pytest.raises(IdentityChanged, match=what):
        room.ses.remove(DOMAIN)
    room.stub.assert_no_pending_responses()


@pytest.mark.slow
def test_the_whole_way_on_an_emulator() -> None:
    clients: Any = boto3.client
    with mock_aws():
        ses = identities("ses")(clients, "eu-west-1")
        assert ses.read(DOMAIN).state is IdentityState.NONE
        assert ses.create(DOMAIN)
        assert ses.read(DOMAIN).state is IdentityState.SUCCESS, "the emulator looks for no records"
        ses.remove(DOMAIN)
        assert ses.read(DOMAIN).state is IdentityState.NONE
