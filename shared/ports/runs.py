"""What begins runs of notices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from shared.domain.content.content import Content
    from shared.domain.jobs.prepared import PreparedJob
    from shared.domain.notices.notice import Notice, NoticeChange


class RunStarts(Protocol):
    """The one transaction that accepts a run's job and makes its notices ACTIVE."""

    def begin(
        self, made: PreparedJob, content: Content, moves: Sequence[tuple[Notice, NoticeChange]]
    ) -> Collection[str]:
        """Store chunk, ledger and content, then accept the job and move its notices in one transaction.

        Args:
            made: the job, under a new id, with one chunk.
            content: what its messages have in common.
            moves: up to 96 notices as read, each with its change.

        Returns:
            The keys of notices that have moved on, so that nothing was accepted. Empty: all is done.
        """
        ...
