"""A credential of texts: its sender knows where the API is, so that Twilio can be told where to post.

It signs no links."""

import json
from typing import Any

import pytest

from infra.settings import DeployTarget, providers, read
from shared import contracts
from tests.infra.conftest import SETTINGS
from tests.infra.synthesis import synthesised
from tests.infra.template import Template, text

pytestmark = pytest.mark.slow  # each synthesises stacks of its own

TEXTS = {"id": "twilio-main", "provider": "twilio", "channel": "sms", "rate": 1}


def settings(**changes: Any) -> dict[str, Any]:
    routes = {**SETTINGS["routes"], "sms": ["twilio-main"]}
    return {**SETTINGS, "credentials": [*SETTINGS["credentials"], TEXTS], "routes": routes, **changes}


@pytest.fixture(scope="module", params=list(DeployTarget))
def template(request: pytest.FixtureRequest) -> Template:
    """Synthesis fails on any finding of cdk-nag."""
    file = synthesised(read(settings(), target=request.param))
    return Template(json.loads(file.read_text("utf-8")))


def test_texts_have_a_provider_and_a_route() -> None:
    assert "twilio" in providers()
    found = read(settings()).settings
    assert found.credential("twilio-main").channel == "sms"
    assert found.routes["sms"] == ("twilio-main",)


def test_the_api_and_the_sms_sender_get_the_apis_address(template: Template) -> None:
    told = {
        service: text(function["Environment"]["Variables"][contracts.ENV_API_URL])
        for service, function in template.functions().items()
        if contracts.ENV_API_URL in function["Environment"]["Variables"]
    }
    address = text(template.raw["Outputs"]["ApiUrl"]["Value"])
    beside = {"operate"} & {*template.functions()}  # on AWS in a stack of its own
    assert told == dict.fromkeys(("send-twilio-main", "api", "digest", *beside), address)
    assert address


@pytest.mark.promise(9)
def test_a_sender_of_texts_signs_no_links(template: Template) -> None:
    names = {r for s in template.statements("send-twilio-main") for r in s.resources}
    assert any("credential/twilio-main" in name for name in names)
    assert not any("unsubscribe" in name for name in names)


def test_the_simulator_takes_its_place_on_the_local_cloud() -> None:
    found = read(settings(), target="local", simulator_url="http://127.0.0.1:8000")
    assert found.settings.credential("twilio-main").base_url == "http://127.0.0.1:8000/twilio/twilio-main"
