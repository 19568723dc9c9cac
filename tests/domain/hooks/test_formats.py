"""Texts for chats: readable, harmless, and as short as each chat wants them."""

import json
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.hooks import fields, formats
from shared.domain.hooks.endpoint import HookFormat
from shared.domain.hooks.fields import HookBody
from shared.domain.hooks.formats import MAX_LINE, chat_body, sentence
from shared.domain.hooks.kinds import MESSAGE_KINDS, HookKind

CHATS = [form for form in HookFormat if form is not HookFormat.STANDARD]
HALT = {
    "account": "acme",
    "campaign_id": "spring",
    "job_id": "j1",
    "reason": "bounce_guard",
    "bounced": 60,
}
SAID = "Campaign spring of account acme was halted (bounce_guard): 60 messages of job j1 bounced."
BODIES: dict[HookKind, HookBody[Any]] = {
    **dict.fromkeys(MESSAGE_KINDS, fields.MESSAGE),
    HookKind.MAIL_FAILED: fields.MAIL,
    HookKind.JOB_LOGGED: fields.JOB,
    HookKind.JOB_STOPPED: fields.JOB,
    HookKind.CAMPAIGN_HALTED: fields.HALT,
    HookKind.APPROVAL_ASKED: fields.APPROVAL,
    HookKind.APPROVAL_DECIDED: fields.DECISION,
    HookKind.UPLOAD_FINISHED: fields.UPLOAD,
    HookKind.DIGEST_CLOSED: fields.WINDOW,
    HookKind.NOTICE_UPDATED: fields.UPDATE,
    HookKind.SUPPRESSION_ADDED: fields.SUPPRESSION,
    HookKind.UNSUBSCRIBED: fields.SUPPRESSION,
    HookKind.TEXT_RECEIVED: fields.TEXT,
    HookKind.KEY_EXPIRING: fields.KEY,
    HookKind.QUOTA_REACHED: fields.QUOTA,
    HookKind.ACCOUNT_BOUNCING: fields.BOUNCING,
    HookKind.BREAKER_OPENED: fields.BREAKER,
    HookKind.BREAKER_CLOSED: fields.BREAKER,
    HookKind.ALARM_CHANGED: fields.ALARM,
    HookKind.TEST: fields.TEST,
}


def body(form: HookFormat, *events: dict[str, Any], kind: str = HookKind.CAMPAIGN_HALTED) -> Any:
    return json.loads(chat_body(form, kind, events))


def text(form: HookFormat, made: Any) -> str:
    if form is HookFormat.SLACK:
        return str(made["text"])
    if form is HookFormat.DISCORD:
        return str(made["content"])
    (attachment,) = made["attachments"]
    return "\n".join(block["inlines"][0]["text"] for block in attachment["content"]["body"])


def test_slack_gets_a_text_without_markup() -> None:
    assert body(HookFormat.SLACK, HALT) == {"text": SAID, "mrkdwn": False, "unfurl_links": False, "unfurl_media": False}


def test_discord_gets_a_content_without_mentions() -> None:
    content = SAID.replace("(", "\\(").replace(")", "\\)").replace(":", "\\:").replace("_", "\\_")
    assert body(HookFormat.DISCORD, HALT) == {"content": content, "allowed_mentions": {"parse": []}, "flags": 4}


def test_teams_gets_an_adaptive_card() -> None:
    made = body(HookFormat.TEAMS, HALT)
    (attachment,) = made["attachments"]
    assert made["type"] == "message"
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    assert attachment["content"]["type"] == "AdaptiveCard"
    assert attachment["content"]["version"] == "1.2"
    assert text(HookFormat.TEAMS, made) == SAID


EVIL = "<!channel> @everyone [x](https://evil.example) *b* `c` \u202e\x00\nnext & <https://evil.example|y>"


def test_slack_control_sequences_are_harmless() -> None:
    said = text(HookFormat.SLACK, body(HookFormat.SLACK, {**HALT, "reason": EVIL}))
    assert "&lt;!channel&gt; @everyone" in said
    assert not set("<>\n\x00\u202e") & set(said)


def test_discord_markup_is_harmless() -> None:
    said = text(HookFormat.DISCORD, body(HookFormat.DISCORD, {**HALT, "reason": EVIL}))
    assert "\\<!channel\\> \\@everyone \\[x\\]\\(https\\://evil.example\\)" in said


@pytest.mark.parametrize("form", CHATS)
def test_several_events_are_lines_and_the_rest_is_counted(form: HookFormat) -> None:
    lines = text(form, body(form, *[HALT] * 100)).split("\n")
    assert lines[:2] == [text(form, body(form, HALT))] * 2
    assert lines[-1].startswith(f"And {100 - len(lines) + 1} more events")


@pytest.mark.parametrize("kind", HookKind)
def test_each_kind_has_a_sentence_of_what_its_body_says(kind: HookKind) -> None:
    keys = {x.name for x in BODIES[kind].fields}
    named = {name for _, name, _, _ in string.Formatter().parse(formats._SENTENCES[kind]) if name}
    assert named <= keys


def test_what_is_not_known_is_a_dash() -> None:
    said = sentence(HookKind.BREAKER_OPENED, {"credential_id": "c", "reason": None})
    assert said == "The breaker of credential c opened after unknown failures: unknown."


def test_counts_are_listed() -> None:
    data = {"job_id": "j", "counts": {"delivered": 4, "failed": 1, "queued": 0}, "total": 5}
    assert sentence(HookKind.JOB_LOGGED, data) == "Job j has finished: 4 delivered, 1 failed of 5."
    assert sentence(HookKind.JOB_LOGGED, {**data, "counts": {}}) == "Job j has finished: none of 5."


def test_a_kind_without_a_sentence_lists_its_data() -> None:
    assert sentence("new.kind", {"a": 1, "b": "{c}"}) == "new.kind: a 1, b {c}"


values = st.none() | st.integers() | st.text() | st.dictionaries(st.text(), st.integers())
names = st.sampled_from(sorted(HALT)) | st.text()


@given(
    events=st.lists(st.dictionaries(names, values, max_size=12), min_size=1, max_size=120),
    kind=st.sampled_from(list(HookKind)) | st.text(max_size=40),
)
def test_any_data_makes_a_text_that_each_chat_takes(events: list[dict[str, Any]], kind: str) -> None:
    assert len(sentence(kind, events[0])) <= MAX_LINE
    for form in CHATS:
        said = text(form, body(form, *events, kind=kind))
        assert len(said) <= (5_000 if form is HookFormat.SLACK else 2_000)
        assert len(chat_body(form, kind, events)) < 28_000
