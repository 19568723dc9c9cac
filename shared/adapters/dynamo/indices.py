"""The partitions of the indices `open` and `mine`; the patterns they serve are listed in `keys`."""

from typing import Final

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
