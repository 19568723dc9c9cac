"""SES's email identities of domains: made with our tag, removed only with it. botocore holds each call to its model."""

from typing import Any

import boto3
import pytest
from botocore.exceptions import ConnectTimeoutError
from botocore.stub import Stubber
from moto import mock_aws

from shared.domain.identities import IdentityState
from shared.ports import IdentityUnanswered
from shared.providers.needs import IDENTITY_TAG
from shared.providers.registry import identities
from shared.providers.ses.identities import SesIdentities

DOMAIN = "news.example.com"
TAGS = [{"Key": IDENTITY_TAG, "Value": "dev"}]
MADE = {
    "EmailIdentity": DOMAIN,
    "Tags": TAGS,
    "DkimSigningAttributes": {"NextSigningKeyLength": "RSA_2048_BIT"},
}
RECORDS = {f"{t}._domainkey.{DOMAIN}": f"{t}.dkim.amazonses.com" for t in ("a", "b", "c")}


class Room:
    """A client whose answers are given one by one."""

    def __init__(self) -> None:
        self.client: Any = boto3.client("sesv2", "eu-central-1", aws_access_key_id="k", aws_secret_access_key="s")
        self.stub = Stubber(self.client)
        self.stub.activate()
        self.ses = SesIdentities(self.client, "eu-central-1", "dev")

    def missing(self, *domains: str) -> None:
        for domain in domains:
            self.stub.add_client_error(
                "get_email_identity", "NotFoundException", expected_params={"EmailIdentity": domain}
            )

    def known(self, domain: str = DOMAIN, status: str = "PENDING", tags: Any = TAGS, **dkim: Any) -> None:
        said = {"Status": status, "Tokens": ["a", "b", "c"], "SigningAttributesOrigin": "AWS_SES", **dkim}
        answer = {"DkimAttributes": said, "Tags": tags}
        self.stub.add_response("get_email_identity", answer, {"EmailIdentity": domain})


@pytest.fixture
def room() -> Room:
    return Room()


def test_an_identity_is_made_with_our_tag_and_its_records_are_returned(room: Room) -> None:
    room.missing(DOMAIN, "example.com")
    room.stub.add_response("create_email_identity", {}, MADE)
    room.known()
    found = room.ses.ensure(DOMAIN)
    assert (found.provider, found.region, found.state, found.ours) == (
        "ses",
        "eu-central-1",
        IdentityState.PENDING,
        True,
    )
    assert found.records == RECORDS
    room.stub.assert_no_pending_responses()


@pytest.mark.promise(9)
@pytest.mark.parametrize("tags", [[], [{"Key": IDENTITY_TAG, "Value": "prod"}], [{"Key": "Name", "Value": "dev"}]])
def test_an_identity_of_somebody_else_is_shown_and_left(room: Room, tags: Any) -> None:
    for _ in range(3):
        room.known(status="FAILED", tags=tags)
    assert not room.ses.ensure(DOMAIN).ours
    assert room.ses.read(DOMAIN).state is IdentityState.FAILED
    room.ses.remove(DOMAIN)
    room.stub.assert_no_pending_responses()


def test_an_identity_that_is_made_meanwhile_is_no_fault(room: Room) -> None:
    room.missing(DOMAIN, "example.com")
    room.stub.add_client_error("create_email_identity", "AlreadyExistsException", expected_params=MADE)
    room.known(tags=[])
    assert not room.ses.ensure(DOMAIN).ours


def test_one_of_ours_on_which_ses_gave_up_begins_anew(room: Room) -> None:
    room.known(status="FAILED")
    room.stub.add_response("delete_email_identity", {}, {"EmailIdentity": DOMAIN})
    room.stub.add_response("create_email_identity", {}, MADE)
    room.known()
    assert room.ses.ensure(DOMAIN).state is IdentityState.PENDING


def test_a_domain_that_one_above_it_covers_gets_no_identity_of_its_own(room: Room) -> None:
    for _ in range(2):
        room.missing("a.news.example.com", DOMAIN)
        room.known("example.com", "SUCCESS", tags=[])
    for found in (room.ses.ensure("a.news.example.com"), room.ses.read("a.news.example.com")):
        assert (found.state, found.covered_by, found.ours) == (IdentityState.SUCCESS, "example.com", False)
        assert found.records == {}
    room.stub.assert_no_pending_responses()


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
    room.missing(DOMAIN, "example.com")
    room.stub.add_client_error("create_email_identity", "LimitExceededException")
    assert room.ses.ensure(DOMAIN).state is IdentityState.REFUSED


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
        SesIdentities(Lost(), "eu-central-1", "dev").remove(DOMAIN)


def test_ours_is_removed_once(room: Room) -> None:
    room.known()
    room.stub.add_client_error("delete_email_identity", "NotFoundException")
    room.ses.remove(DOMAIN)
    room.missing(DOMAIN)
    room.ses.remove(DOMAIN)
    room.stub.assert_no_pending_responses()


def test_the_whole_way_on_an_emulator() -> None:
    clients: Any = boto3.client
    with mock_aws():
        made = identities("ses")(clients, "eu-west-1", "dev")
        assert made.read(DOMAIN).state is IdentityState.NONE
        assert made.ensure(DOMAIN).ours
        assert made.ensure(DOMAIN).state is IdentityState.SUCCESS, "the emulator looks for no records"
        made.remove(DOMAIN)
        assert made.read(DOMAIN).state is IdentityState.NONE
