"""Copies of sealed days of audit logs, in a bucket with Object Lock."""

import gzip
import json
from collections.abc import Sequence

from shared.adapters.s3.blobs import S3Blobs
from shared.domain.auditing.seals import AuditSeal, LoggedEntry


class SealCopies:
    """Puts a copy for each seal: `seals/LOG/NUMBER.jsonl.gz`, the seal in its first line, then an entry in each.

    A copy that is put again has the same bytes. The bucket keeps each of its versions.
    """

    def __init__(self, blobs: S3Blobs) -> None:
        self._blobs = blobs

    def __call__(self, seal: AuditSeal, entries: Sequence[LoggedEntry]) -> None:
        head = {"log": seal.log, "number": seal.number, "start": seal.start, "end": seal.end}
        lines = [{**head, "before": seal.before, "days": seal.days, "digest": seal.digest}]
        lines += [{"place": x.place, **x.said} for x in entries]
        text = "".join(json.dumps(line, ensure_ascii=False, sort_keys=True) + "\n" for line in lines)
        log = seal.log.replace("#", "-").replace("*", "deployment")
        self._blobs.put(f"seals/{log}/{seal.number:08d}.jsonl.gz", gzip.compress(text.encode(), mtime=0))
