"""The one transaction that accepts a run's job and makes its notices ACTIVE, on DynamoDB."""

from collections.abc import Collection, Sequence

from shared.adapters.dynamo.client import Cancelled
from shared.adapters.dynamo.jobs.folding import Accepting
from shared.adapters.dynamo.notices.notices import notice_puts
from shared.domain.content.content import Content
from shared.domain.jobs.prepared import PreparedJob
from shared.domain.notices.notice import Notice, NoticeChange


class DynamoRunStarts(Accepting):
    """`ports.RunStarts` over the two tables and the bucket."""

    def begin(
        self, made: PreparedJob, content: Content, moves: Sequence[tuple[Notice, NoticeChange]]
    ) -> Collection[str]:
        accepted = self._accept(made, content)
        try:
            self._db.call("transact_write_items", TransactItems=[*accepted, *notice_puts(self._records, moves)])
        except Cancelled as lost:
            if lost.codes[0] == "ConditionalCheckFailed":
                return frozenset()  # the job's id is random: it is our own write, whose answer was lost
            moved = zip(moves, lost.codes[len(accepted) :], strict=True)
            changed = {old.uuid for (old, _), code in moved if code == "ConditionalCheckFailed"}
            if not changed:
                raise
            return changed
        return frozenset()
