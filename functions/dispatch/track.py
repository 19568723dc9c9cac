"""The feedback queue: providers' events are joined into the ledgers."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from functions.dispatch import services
from functions.dispatch.services import Answer
from functions.early import early
from shared.adapters import logs, metrics
from shared.bootstrap import Deployment
from shared.contracts import ProviderEvent, Settings, dump_feedback, load_feedback
from shared.domain.times import Seconds
from shared.engine.outcome.inbound import from_number, receive
from shared.engine.outcome.track import LATER, Tracked
from shared.lazy import lazy
from shared.metrics import Metric, Service
from shared.ports import BadEvents

if TYPE_CHECKING:
    from shared.providers import needs, registry
else:  # only deployments with a topic need them
    needs, registry = lazy("shared.providers", "needs", "registry")

logger = logs.lines()
early(lambda: services.deployment().tracker, lambda: services.deployment().feedback)
WHY_LEFT: Final[Mapping[str, Any]] = {
    "exception_name": "WordsLeft",
    "exception": "WordsLeft: a chunk failed, or there was no time",
}
"""The fault that the dead letters of such messages show, in the form of an exception."""
MARGIN = 10.0
"""Seconds before the function's end after which no chunk is begun: a call of the one in hand may be tried again."""

Post = tuple[str, list[ProviderEvent]]
"""A message of the feedback queue: its id, and the words in it."""


def handler(event: Mapping[str, Any], context: Any) -> Answer:
    """Join all words of the batch, those of one credential together: a chunk is written once for many of them.

    A message is delivered again if one of its words was not joined, since its chunk failed or time was up. Joining the
    others twice changes nothing.
    """
    logs.begin(logger, logs.invocation(context))
    d = services.deployment()
    deadline = d.clock.now() + context.get_remaining_time_in_millis() / 1000 - MARGIN
    messages, failed = _messages(d.settings, event["Records"])
    joined = foreign = later = 0
    for credential, posts in messages.items():
        try:
            tracked = _join(d, credential, [word for _, some in posts for word in some], deadline)
        except Exception:  # reported, logged and delivered again
            names = [message for message, _ in posts]
            logger.exception("feedback failed", credential=credential, messages=len(posts), message_ids=names)
            failed += names
            continue
        failed += _left(credential, tracked, posts)
        _tell(d.settings, credential, tracked)
        joined, foreign, later = joined + tracked.joined, foreign + tracked.foreign, later + len(tracked.later)
    logger.info("tracked", joined=joined, foreign=foreign, later=later, failed=len(failed))
    return {"batchItemFailures": [{"itemIdentifier": message} for message in failed]}


def _join(d: Deployment, credential: str, words: Sequence[ProviderEvent], deadline: Seconds) -> Tracked:
    """Join a credential's words; those about calls under way come again later."""
    _heed(d, credential, [word for word in words if from_number(word)])
    tracked = d.tracker.join_all(credential, [word for word in words if not from_number(word)], deadline=deadline)
    if tracked.later:
        d.feedback.send([dump_feedback(credential, list(tracked.later))], delay=LATER)
    return tracked


def _heed(d: Deployment, credential: str, words: Sequence[ProviderEvent]) -> None:
    """Apply and store what numbers wrote to a credential; one that is declared no more has no accounts."""
    about = next((c for c in d.settings.credentials if c.id == credential), None)
    if words and about is not None:
        heeded = receive(d.records, d.texts, about, words, int(d.clock.now() * 1000))
        logger.info("heeded", credential=credential, numbers=heeded, texts=len(words))


def _tell(settings: Settings, credential: str, tracked: Tracked) -> None:
    """Write how many events of a credential were joined; nothing for one that is declared no more."""
    try:
        about = settings.credential(credential)
    except KeyError:
        return
    figures = {
        Metric.WORDS: tracked.joined,
        Metric.FINAL_WORDS: tracked.final,
        Metric.FOREIGN_WORDS: tracked.foreign,
    }
    metrics.tell(settings.stage, Service.TRACK, figures, about)


def _read(settings: Settings, body: str) -> tuple[str, list[ProviderEvent]]:
    """Return the credential and words of a message: our own, or one of SNS about an event of a provider."""
    try:
        return load_feedback(body)
    except KeyError:
        return _of_topic(settings, body)


def _of_topic(settings: Settings, body: str) -> tuple[str, list[ProviderEvent]]:
    """Return the credential and words of an event that a provider published.

    Such an event names its credential; one that names none, or none of ours, has no words for us. A text names the
    number that it was written to, which the settings say is a credential's.
    """
    named, some = registry.from_topic(body)
    to = some[0].code if some and not named else ""
    asked = (c for c in settings.credentials if (c.number == to if to else c.id == named))
    found = next((c.id for c in asked if needs.needs_of(c.provider).topic), "")
    return found or named, some if found else []


def _messages(settings: Settings, records: Sequence[Mapping[str, Any]]) -> tuple[dict[str, list[Post]], list[str]]:
    """Return the messages of a batch by credential, and the ids of those that cannot be read."""
    messages: dict[str, list[Post]] = {}
    failed: list[str] = []
    for record in records:
        try:
            credential, some = _read(settings, record["body"])
        except (ValueError, KeyError, TypeError, IndexError, BadEvents):
            logger.exception("not a feedback message", message_id=record["messageId"])
            failed.append(record["messageId"])
            continue
        messages.setdefault(credential, []).append((record["messageId"], some))
    return messages, failed


def _left(credential: str, tracked: Tracked, posts: Sequence[Post]) -> list[str]:
    """Return the ids of messages with words that were not joined."""
    left = set(tracked.left)
    again = [message for message, some in posts if not left.isdisjoint(some)]
    if again:
        logger.error("words left", credential=credential, words=len(left), message_ids=again, **WHY_LEFT)
    return again
