"""The credentials for finished messages."""

import pytest

from shared.contracts import TEST_CREDENTIAL, Credential, Settings
from shared.engine.intake.declined import Decline
from shared.engine.intake.routes import mail_route

OPEN = Credential("open", "smtp", "email", 1)
OTHER = Credential("other", "smtp", "email", 1)
CLOSED = Credential("closed", "smtp", "email", 1, accounts=("acc_2",))


def settings(**routes: tuple[str, ...]) -> Settings:
    return Settings("test", (OPEN, OTHER, CLOSED), routes)


def test_mails_have_the_route_that_is_theirs() -> None:
    found = settings(email=("open",), mail=("closed", "other"))
    assert mail_route("acc_1", found, test=False) == ("other",)
    assert mail_route("acc_2", found, test=False) == ("closed", "other")


def test_without_it_they_have_that_of_other_mail() -> None:
    assert mail_route("acc_1", settings(email=("closed", "open")), test=False) == ("open",)


def test_mails_of_test_keys_go_nowhere_else() -> None:
    assert mail_route("acc_1", settings(mail=("open",)), test=True) == (TEST_CREDENTIAL,)


def test_a_route_of_mails_that_is_closed_to_an_account_is_not_replaced() -> None:
    with pytest.raises(Decline, match="no_route"):
        mail_route("acc_1", settings(email=("open",), mail=("closed",)), test=False)
