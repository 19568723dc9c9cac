"""Copies of sealed audit logs: what they hold, and that they are there before the seal is."""

import gzip
import json

import pytest

from shared.adapters.s3.copies import SealCopies
from shared.domain.auditing.seals import AuditSeal, LoggedEntry, seal_of
from shared.engine.reports.sealing import Sealer
from shared.ports import Retriable
from tests.fakes.clock import FakeClock

ENTRY = LoggedEntry("001790000000000#thing#campaign.changed#0123abcd", {"actor": {"S": "0123456789abcdef"}})


class Blobs:
    """A bucket in memory. `fails`: the next put does."""

    def __init__(self) -> None:
        self.items: dict[str, bytes] = {}
        self.fails = False

    def put(self, name: str, data: bytes) -> None:
        if self.fails:
            raise Retriable("s3")
        self.items[name] = data


class Log:
    """A log with one entry, and its seals."""

    def __init__(self) -> None:
        self.seals: list[AuditSeal] = []

    def last(self, log: str) -> AuditSeal | None:
        return self.seals[-1] if self.seals else None

    def entries(self, log: str, start: int, end: int) -> list[LoggedEntry]:
        return [ENTRY] if start == 0 else []

    def add(self, seal: AuditSeal) -> bool:
        self.seals.append(seal)
        return True


def test_a_copy_has_the_seal_and_its_entries() -> None:
    blobs = Blobs()
    seal = seal_of("acc_1#TEST", None, 1_790_035_200_000, [ENTRY], 400)
    for _ in range(2):
        SealCopies(blobs)(seal, [ENTRY])  # type: ignore[arg-type]
    ((name, data),) = blobs.items.items()
    head, entry = map(json.loads, gzip.decompress(data).decode().splitlines())
    assert name == "seals/acc_1-TEST/00000001.jsonl.gz"
    assert (head["digest"], head["number"], head["end"]) == (seal.digest, 1, seal.end)
    assert entry == {"place": ENTRY.place, "actor": {"S": "0123456789abcdef"}}


def test_nothing_is_sealed_without_its_copy() -> None:
    blobs, log = Blobs(), Log()
    sealer = Sealer(log, FakeClock(), 400, SealCopies(blobs))  # type: ignore[arg-type]
    blobs.fails = True
    with pytest.raises(Retriable):
        sealer.seal("acc_1", 1_790_035_200_000)
    assert log.seals == []
    blobs.fails = False
    assert sealer.seal("acc_1", 1_790_035_200_000) == 1
    assert len(log.seals) == len(blobs.items) == 1
