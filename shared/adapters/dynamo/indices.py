"""The partitions of the indices `open` and `mine`, and when small jobs may be left out of the former at first.

`keys` lists the patterns that they serve.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import Dynamo, Item
from shared.domain.namespaces import is_team

INGEST_SLOT: Final = "ingest"
"""Partition of the index `open` with the uploads that are to be read."""


def approvals_slot(namespace: str) -> str:
    """Partition of the index `open` with the campaigns that wait for approval, by when they began to."""
    return f"{namespace}#approvals"


def open_slot(credential: str | None, shard: int, *, running: bool) -> str:
    """Partition of the index `open`.

    Args:
        credential: the credential that the jobs reserve; None for jobs that share theirs.
        shard: the shard of shared jobs, 0 to 15.
        running: whether the jobs have left READY.
    """
    phase = "RUN" if running else "READY"
    return f"{credential}#{phase}" if credential else f"shared#{phase}#{shard}"


def slot_credential(slot: str) -> str:
    """Return the credential that the jobs of a slot reserve, or empty."""
    return slot.partition("#")[0] if slot.count("#") == 1 else ""


def waits_for(slot: str, credential: str) -> bool:
    """Tell whether jobs of a slot may wait for a credential: those that reserve it, or may use any; all if it is empty.

    Only running jobs do: a READY job waits for no pause of a credential.
    """
    return not credential or ("#RUN" in slot and slot_credential(slot) in ("", credential))


def doubt_slot(shard: int) -> str:
    """Partition of the index `open` with finished jobs that have messages of unknown fate, by when to ask next."""
    return f"doubt#{shard}"


def notice_slot(shard: int) -> str:
    """Partition of the index `open` with finished runs of notices, by when to look for results not yet applied."""
    return f"notice#{shard}"


def mail_slot(shard: int) -> str:
    """Partition of the index `open` with finished jobs of mails, by when to check whether the mail can be cleaned."""
    return f"mail#{shard}"


def archive_slot(shard: int) -> str:
    """Partition of the index `open` with finished jobs that are to be archived, by when."""
    return f"archive#{shard}"


def jobs_pk(account_id: str, kind: str, *, test: bool) -> str:
    """Partition of the index `mine` with an account's jobs of a kind.

    Args:
        test: whether jobs of test keys are meant; they are apart, except the rehearsals of team keys.
    """
    return mine_pk(account_id, f"test{kind}" if test and not is_team(account_id) else kind)


def mine_pk(account_id: str, kind: str) -> str:
    """Partition of the index `mine`."""
    return f"{account_id}#{kind}"


class KnownUnlisting:
    """Whether small jobs may be left out, as one process knows: once the sweeper has begun to walk them (ADR 287).

    So while versions are mixed, or after a deploy that was rolled back, no job is stored where nothing would find it.
    A process reads the sweeper's note beside senders, until it is there.
    """

    def __init__(self, dynamo: Dynamo, records: str) -> None:
        self._db = dynamo
        self._records = records
        self.begun = False

    @property
    def wanted(self) -> Sequence[keys.Key]:
        """The keys to read with something else, in `records`."""
        return () if self.begun else (keys.unlisting(),)

    def learn(self, found: Iterable[Item]) -> None:
        """Take what a read has found, of these keys and others."""
        self.begun |= any(x["pk"] == keys.unlisting()["pk"] and x["sk"] == keys.unlisting()["sk"] for x in found)

    def begin(self) -> None:
        """Note that the sweeper walks them from now on, if this process has not done so."""
        if not self.begun:
            self._db.call("put_item", TableName=self._records, Item=keys.unlisting())
            self.begun = True
