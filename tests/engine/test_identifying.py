"""The service of a deployment: which declared credentials have providers that sign for domains."""

from typing import Any

import pytest

from shared.adapters.aws import Aws
from shared.bootstrap.identifying import service
from shared.contracts import Credential, Settings
from tests.fakes.clock import FakeClock
from tests.fakes.tables import MotoStores

DOMAIN = "news.example.com"


@pytest.mark.slow
def test_a_proven_domain_is_made_known_in_each_region_of_the_credentials(moto_dynamo: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    clock = FakeClock()
    stores = MotoStores(moto_dynamo, clock)
    credentials = (
        Credential("here", "ses", "email", 1),
        Credential("here-too", "ses", "email", 1),
        Credential("there", "ses", "email", 1, region="eu-west-1", configuration_set="own"),
        Credential("else", "sendgrid", "email", 1),
    )
    settings = Settings(stage="dev", credentials=credentials, routes={"email": ("here",)})
    made = service(settings, Aws(), stores.dynamo, stores.tables.records, clock)
    found = made.ensure("acc_000000000001", DOMAIN)
    assert [(x.provider, x.region, x.ours) for x in found] == [("ses", "us-east-1", True), ("ses", "eu-west-1", True)]
    assert [x.ours for x in made.shown("acc_000000000001", DOMAIN)] == [True, True]
