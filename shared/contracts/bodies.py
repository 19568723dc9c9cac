"""Bodies of the messages in queues."""

import json
from dataclasses import fields
from enum import StrEnum
from typing import Final

from shared.contracts.settings import known_fields
from shared.frozen import dataclass


def pointer(job: str, chunk: int) -> str:
    """Return the body of a lane's message."""
    return json.dumps({"job": job, "chunk": chunk}, separators=(",", ":"))


def question(job: str, chunk: int, after: int = -1) -> str:
    """Return the body of a lane's message that has its provider asked about a chunk's messages of unknown fate.

    Args:
        after: the place of the last recipient who was asked about; -1: none was.
    """
    rest = {"after": after} if after >= 0 else {}
    return json.dumps({"job": job, "chunk": chunk, "resolve": True, **rest}, separators=(",", ":"))


def ingest(campaign: str, upload: str) -> str:
    """Return the body of a message that has an uploaded list read; a hint, like a pointer."""
    return json.dumps({"campaign": campaign, "upload": upload}, separators=(",", ":"))


def load_ingest(body: str) -> tuple[str, str]:
    """Read what `ingest` wrote: campaign and upload; ValueError, KeyError or TypeError on anything else."""
    raw = json.loads(body)
    campaign, upload = raw["campaign"], raw["upload"]
    if not (isinstance(campaign, str) and isinstance(upload, str)):
        raise TypeError("not the ids of a campaign and an upload")
    return campaign, upload


def due(job: str) -> str:
    """Return the body of a message about a job whose time has come; a hint, like a pointer."""
    return json.dumps({"job": job}, separators=(",", ":"))


def load_due(body: str) -> str:
    """Read what `due` wrote: the job; ValueError, KeyError or TypeError on anything else."""
    job = json.loads(body)["job"]
    if not isinstance(job, str):
        raise TypeError("not the id of a job")
    return job


LOOK: Final = '{"look":"leases"}'
"""The body of a message that has leases of dead workers looked for; it comes by the queue of jobs that are due."""


LAST_S: Final = 1 << 33
"""Unix seconds beyond every moment that is announced."""


class DueKind(StrEnum):
    """Kinds of work that schedules announce, besides jobs; a part of the schedule's name."""

    DIGESTS = "digests"
    NOTICES = "notices"


@dataclass(frozen=True, slots=True)
class DueMinute:
    """A minute in which something of a kind is due; a hint, like a pointer. Travels through the queue of due jobs.

    Attributes:
        kind: what is due.
        at: the minute's begin, Unix seconds; 0: something is overdue, whenever that was.
    """

    kind: DueKind
    at: int = 0

    @property
    def name(self) -> str:
        """Return the name of its schedule, which only this minute has."""
        return f"{self.kind}-{self.at}"

    def dumps(self) -> str:
        """Return the body of a message."""
        return json.dumps({"minute": {"kind": self.kind, "at": self.at}}, separators=(",", ":"))

    @classmethod
    def loads(cls, body: str) -> "DueMinute | None":
        """Read what `dumps` wrote.

        Returns:
            None for a message of another kind.

        Raises:
            ValueError, KeyError, TypeError: it is none of ours.
        """
        raw = json.loads(body)
        if not (isinstance(raw, dict) and "minute" in raw):
            return None
        kind, at = raw["minute"]["kind"], raw["minute"]["at"]
        if type(at) is not int or not 0 <= at < LAST_S:
            raise TypeError("not a minute")
        return cls(DueKind(kind), at)


@dataclass(frozen=True, slots=True)
class ResumeTask:
    """How far the work held back by a pause has been woken. Travels through the queue of due jobs.

    Attributes:
        credential: the resumed credential, or empty.
        account: the resumed account, or empty. If both are empty, everything was resumed.
        at: when it was resumed, Unix milliseconds.
        slot: the partition of the index `open` to continue in; `after`: the last key done there.
        job: the large job that follows there, of which the chunks before `chunk` are woken.
        link: how many messages of this walk preceded this one.
    """

    credential: str = ""
    account: str = ""
    at: int = 0
    slot: str = ""
    after: str = ""
    job: str = ""
    chunk: int = 0
    link: int = 1

    def dumps(self) -> str:
        """Return the body of a message."""
        return json.dumps({"wake": {f.name: getattr(self, f.name) for f in fields(self)}}, separators=(",", ":"))

    @classmethod
    def loads(cls, body: str) -> "ResumeTask | None":
        """Read what `dumps` wrote, of this version or another.

        Returns:
            None for a message of another kind.

        Raises:
            ValueError, TypeError: it is none of ours.
        """
        raw = json.loads(body)
        if not (isinstance(raw, dict) and "wake" in raw):
            return None
        found = cls(**known_fields(cls, raw["wake"]))
        if any(type(getattr(found, f.name)) is not type(f.default) for f in fields(cls)):
            raise TypeError("not a place in the index of open jobs")
        return found


def export(name: str) -> str:
    """Return the body of a message that has an export made or gone on with; a hint, like a pointer."""
    return json.dumps({"export": name}, separators=(",", ":"))


def load_export(body: str) -> str:
    """Read what `export` wrote: the export's id; ValueError, KeyError or TypeError on anything else."""
    name = json.loads(body)["export"]
    if not isinstance(name, str):
        raise TypeError("not the id of an export")
    return name


def inbox(notifier: str) -> str:
    """Return the body of a message that has a notifier's records taken; a hint, like a pointer."""
    return json.dumps({"inbox": notifier}, separators=(",", ":"))


def load_inbox(body: str) -> str:
    """Read what `inbox` wrote: the notifier's name; ValueError, KeyError or TypeError on anything else."""
    name = json.loads(body)["inbox"]
    if not isinstance(name, str):
        raise TypeError("not the name of a notifier")
    return name


def digest_hint(window: str) -> str:
    """Return the body of a message that has a window of a digest looked at; a hint, like a pointer."""
    return json.dumps({"window": window}, separators=(",", ":"))


def load_digest_hint(body: str) -> str:
    """Read what `digest_hint` wrote: the window's id.

    Returns:
        Empty for the report of a run that failed, which is among the dead letters of hints: there is nothing to do.

    Raises:
        ValueError, KeyError, TypeError: it is none of ours.
    """
    raw = json.loads(body)
    if "requestContext" in raw or "detail-type" in raw:
        return ""
    window = raw["window"]
    if not isinstance(window, str):
        raise TypeError("not the id of a window")
    return window


MAX_HINTED: Final = 1_000
"""Chunks that one hint about changes names at the most."""


@dataclass(frozen=True, slots=True)
class HookCall:
    """An endpoint that has deliveries to post; a hint, like a pointer."""

    endpoint: str

    def dumps(self) -> str:
        """Return the body of a message."""
        return json.dumps({"endpoint": self.endpoint}, separators=(",", ":"))

    @classmethod
    def loads(cls, body: str) -> "HookCall":
        """Read what `dumps` wrote; ValueError, KeyError or TypeError on anything else."""
        endpoint = json.loads(body)["endpoint"]
        if not isinstance(endpoint, str):
            raise TypeError("not the id of an endpoint")
        return cls(endpoint)


@dataclass(frozen=True, slots=True)
class HookChanges:
    """Changed messages of which webhooks are to hear; a hint, like a pointer.

    Attributes:
        namespace: whose jobs they are.
        places: job's id → numbers of its changed chunks.
        pace: a value of `shared.domain.hooks.kinds.HookPace`: for which endpoints.
    """

    namespace: str
    places: dict[str, tuple[int, ...]]
    pace: str

    def dumps(self) -> str:
        """Return the body of a message."""
        places = {job: list(chunks) for job, chunks in self.places.items()}
        raw = {"namespace": self.namespace, "places": places, "pace": self.pace}
        return json.dumps({"hooks": raw}, separators=(",", ":"))

    @classmethod
    def loads(cls, body: str) -> "HookChanges":
        """Read what `dumps` wrote; ValueError, KeyError or TypeError on anything else."""
        raw = json.loads(body)["hooks"]
        namespace, pace, places = raw["namespace"], raw["pace"], raw["places"]
        if not (isinstance(namespace, str) and isinstance(pace, str) and isinstance(places, dict)):
            raise TypeError("not changes of messages")
        return cls(namespace, {job: tuple(map(int, chunks)) for job, chunks in places.items()}, pace)

    def cut(self) -> "list[HookChanges]":
        """Return it as several that name MAX_HINTED chunks each, at the most."""
        rows = [(job, chunk) for job, chunks in self.places.items() for chunk in chunks]
        out = []
        for start in range(0, len(rows), MAX_HINTED):
            places: dict[str, tuple[int, ...]] = {}
            for job, chunk in rows[start : start + MAX_HINTED]:
                places[job] = (*places.get(job, ()), chunk)
            out.append(HookChanges(self.namespace, places, self.pace))
        return out


@dataclass(frozen=True, slots=True)
class ProviderEvent:
    """A provider's event about one attempt, normalised. Feedback messages carry lists of these.

    Attributes:
        ref: `job-chunk-index-attempt`; of a text that a recipient wrote the recipient's number, `+…`.
        word: a value of `shared.domain.jobs.feedback.ProviderEventKind`: accepted, deferred, delivered, bounced,
            complained, dropped, blocked, failed_temporarily, unsubscribed, resubscribed, stopped, started, pressed,
            written, absent.
        at: Unix time in seconds, as the provider says.
        id: the provider's message id, or empty.
        code: the provider's code or SMTP status, or empty; of a text the number that it was written to.
        detail: the provider's own text, at most 200 characters, addresses removed; of a text what was written.
        secondary: true if the word is about a cc or bcc of the message, not about its recipient.
    """

    ref: str
    word: str
    at: int
    id: str = ""
    code: str = ""
    detail: str = ""
    secondary: bool = False


def dump_feedback(credential_id: str, words: list[ProviderEvent]) -> str:
    """Return the body of one feedback message."""
    rows = [[w.ref, w.word, w.at, w.id, w.code, w.detail, int(w.secondary)] for w in words]
    return json.dumps({"credential": credential_id, "words": rows}, separators=(",", ":"), ensure_ascii=False)


def load_feedback(body: str) -> tuple[str, list[ProviderEvent]]:
    """Read what `dump_feedback` wrote; ValueError, KeyError or TypeError on anything else."""
    raw = json.loads(body)
    return raw["credential"], [ProviderEvent(r[0], r[1], r[2], r[3], r[4], r[5], bool(r[6])) for r in raw["words"]]
