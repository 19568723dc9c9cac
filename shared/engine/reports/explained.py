"""Since when and why recipients of a job are on a list that keeps messages from them."""

from collections.abc import Mapping, Sequence
from typing import Final

from shared.domain.jobs.job import DIGEST, Job
from shared.domain.recipients.addresses import Address, parse
from shared.domain.recipients.suppressions import CODES, AnyReach, Suppression
from shared.engine.reports.message_log import LogLine
from shared.engine.suppression.suppressed import heeds
from shared.ports import Records, SuppressionList

Listed = tuple[AnyReach, Suppression]
"""A list, and an entry in it."""
_LISTED: Final = frozenset(CODES.values())


def explained(job: Job, lines: Sequence[LogLine], unwanted: SuppressionList, records: Records) -> Mapping[str, Listed]:
    """Return the entry for which each of a page's messages was skipped, by its name.

    It is the entry of today: one that was lifted since has none. Nothing is read if no message was skipped so.

    Args:
        lines: of the job's messages, at most a page.
    """
    keys = {line.message: key_of(line.recipient) for line in lines if line.error in _LISTED}
    if not keys:
        return {}
    content = records.content(job.id) if job.kind == DIGEST else None
    found = unwanted.entries(job.namespace, set(keys.values()), heeds(job, content))
    codes = {line.message: line.error for line in lines}
    named = ((message, found[key]) for message, key in keys.items() if key in found)
    return {message: entry for message, entry in named if entry[0].code == codes[message]}


def key_of(recipient: str) -> str:
    """Return what a recipient is compared by: the normalised address, or the text that is none as it was stored."""
    parsed = parse(recipient)
    return parsed.key if isinstance(parsed, Address) else parsed.text
