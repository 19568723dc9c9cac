"""Made-up events, to look at a policy's digest before there are real ones."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from shared.domain.content.content import Content
from shared.domain.content.templates import Template, TemplateKind, variables
from shared.domain.digests.events import DigestEvent
from shared.domain.digests.policy import DigestPolicy
from shared.domain.digests.rendering import IN_LINES, compose_group, digest_content, line_text
from shared.domain.times import Millis

LINK: Final = "https://example.com/unsubscribe/example"
_STORY: Final = (
    ("task.failed", "nightly-import", "The database refused the connection."),
    ("task.failed", "send-invoices", "Timed out after 300 s."),
    ("task.succeeded", "clean-up", ""),
    ("task.failed", "nightly-import", "The database refused the connection."),
    ("task.succeeded", "nightly-import", ""),
)
_APART_MS: Final = 47_000


def sample_key(policy: DigestPolicy) -> str:
    """Return a batch key that the policy may be for."""
    return f"{policy.prefix}production" if policy.prefix.endswith("/") else policy.prefix


def sample_events(policy: DigestPolicy, now: Millis) -> tuple[DigestEvent, ...]:
    """Return five events with a value for everything that the policy's lines name.

    Args:
        policy: whose lines are to be shown.
        now: Unix milliseconds of the last event.
    """
    lines = (Template.parse(policy.line, TemplateKind.HTML), line_text(policy.line, policy.line_text))
    named = [name for name in variables(lines) if name not in IN_LINES]
    first = now - (len(_STORY) - 1) * _APART_MS
    return tuple(
        DigestEvent(kind, (), first + n * _APART_MS, _data(task, reason, named))
        for n, (kind, task, reason) in enumerate(_STORY)
    )


def preview(policy: DigestPolicy, now: Millis) -> Content:
    """Return the message that a policy makes of the sample events."""
    events: Sequence[DigestEvent] = sample_events(policy, now)
    content = digest_content(policy, sample_key(policy), events, LINK)
    if content.digest is None:
        raise ValueError("a digest has lines")
    lines = replace(content.digest, groups=(tuple(range(len(events))),))
    return compose_group(replace(content, digest=lines), 0, LINK if content.unsubscribe else "")


def _data(task: str, reason: str, named: Sequence[str]) -> dict[str, str]:
    story = {"task": task, "reason": reason} if reason else {"task": task}
    return {**story, **{name: story.get(name, name) for name in named}}
