"""Campaigns and stored templates that are calls: by which voice, with which recording and keys."""

from typing import Any

import pytest

from shared.domain.accounts import Scope
from shared.domain.content.content import Speech
from tests.api.conftest import SENDER, Api

PHONE = "+14155550100"
HOW = {"language": "en-AU", "voice": "Nicole", "audio_url": "https://x.example/a.mp3", "keys": {"2": "confirmed"}}
SPEECH = Speech("en-AU", "Nicole", "https://x.example/a.mp3", (("2", "confirmed"),))
SAID = {"body": "Hello {{ name }}.", "speech": HOW}


def sent(api: Api, name: str) -> Speech | None:
    """Send a list of one number, and return how its calls say their text."""
    api.listed(name, {"recipient": PHONE, "name": "Ann"}, key=api.test_key())
    content = api.world.records.content(api.sent(name, key=api.test_key()))
    assert content is not None
    assert content.text == SAID["body"]
    return content.speech


def campaign(api: Api, **changes: Any) -> str:
    return api.campaign(channel="voice", key=api.test_key(), **{"template": SAID, **changes})


def test_the_calls_of_a_campaign_are_said_as_its_template_says(api: Api) -> None:
    name = campaign(api)
    assert api.call("GET", f"/campaigns/{name}", key=api.test_key()).json["template"]["speech"] == HOW
    assert sent(api, name) == SPEECH


def test_a_call_without_a_way_of_saying_is_its_provider_s(api: Api) -> None:
    assert sent(api, campaign(api, template={"body": SAID["body"]})) is None


def test_a_campaign_takes_the_voice_of_a_stored_template_with_its_text(api: Api) -> None:
    given = {"name": "PublicRequest", "channel": "voice", **SAID}
    api.keys["test"], _ = api.services.accounts.create_key(api.account, test=True, scopes=tuple(Scope))
    stored = api.call("POST", "/templates", given, key=api.test_key())
    assert (stored.status, stored.json["speech"]) == (201, HOW)
    assert stored.json["delivery_methods"] == ["IVR"]
    assert sent(api, campaign(api, template=None, template_id=stored.json["template_id"])) == SPEECH


@pytest.mark.slow
def test_a_changed_template_changes_the_voice(api: Api) -> None:
    name = campaign(api)
    changed = {"body": SAID["body"], "speech": {"language": "de-DE"}}
    got = api.call("PUT", f"/campaigns/{name}/template", changed, key=api.test_key())
    assert got.json["template"]["speech"] == {"language": "de-DE", "voice": None, "audio_url": None, "keys": {}}
    assert sent(api, name) == Speech("de-DE")


@pytest.mark.parametrize(
    ("channel", "template", "field"),
    [
        ("sms", {"body": "x", "speech": HOW}, "template.speech"),
        ("email", {"from": SENDER, "subject": "x", "body": "x", "speech": HOW}, "template.speech"),
        ("voice", {"body": "x", "speech": {"keys": {"9": "no"}}}, "template.speech.keys.9.[key]"),
        ("voice", {"body": "x", "speech": {"audio_url": "http://x.example/a.mp3"}}, "template.speech.audio_url"),
        ("voice", {"body": "x", "speech": {"say": "x"}}, "template.speech.say"),
    ],
)
def test_a_voice_where_none_speaks_is_refused(api: Api, channel: str, template: dict[str, Any], field: str) -> None:
    body = {"name": "x", "channel": channel, "template": template}
    got = api.call("POST", "/campaigns", body, key=api.test_key())
    assert (got.status, got.code, got.fields) == (422, "validation_failed", [field])
