"""The feedback queue: providers' words are joined into the ledgers."""

from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools import Logger

from functions.dispatch import services
from functions.dispatch.services import Answer
from shared.contracts import Word, dump_feedback, load_feedback
from shared.engine.track import LATER

logger = Logger()


def handler(event: Mapping[str, Any], _context: Any) -> Answer:
    """Join all words of the batch, those of one credential together: a chunk is written once for many of them.

    If that fails, every message of the credential is delivered again: joining twice changes nothing.
    """
    d = services.deployment()
    words: dict[str, list[Word]] = {}
    messages: dict[str, list[str]] = {}
    failures = []
    for record in event["Records"]:
        try:
            credential, some = load_feedback(record["body"])
        except (ValueError, KeyError, TypeError, IndexError):
            logger.exception("not a feedback message", message_id=record["messageId"])
            failures.append({"itemIdentifier": record["messageId"]})
            continue
        words.setdefault(credential, []).extend(some)
        messages.setdefault(credential, []).append(record["messageId"])
    joined = foreign = later = 0
    for credential, some in words.items():
        try:
            tracked = d.tracker.track(credential, some)
            if tracked.later:
                d.feedback.send([dump_feedback(credential, list(tracked.later))], delay=LATER)
        except Exception:  # reported, logged and delivered again
            logger.exception("feedback failed", credential=credential)
            failures += [{"itemIdentifier": m} for m in messages[credential]]
            continue
        joined, foreign, later = joined + tracked.joined, foreign + tracked.foreign, later + len(tracked.later)
    logger.info("tracked", joined=joined, foreign=foreign, later=later, failed=len(failures))
    return {"batchItemFailures": failures}
