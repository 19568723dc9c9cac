"""The one transaction that accepts a digest's job and moves its window on, on DynamoDB."""

from shared.adapters.dynamo.client import Cancelled
from shared.adapters.dynamo.digests.window_codec import window_update
from shared.adapters.dynamo.jobs.folding import Accepting
from shared.domain.content.content import Content
from shared.domain.digests.window import DigestWindow
from shared.domain.jobs.prepared import PreparedJob


class DynamoDigestJobs(Accepting):
    """`ports.DigestJobs` over the two tables and the bucket."""

    def accept(self, made: PreparedJob | None, content: Content | None, old: DigestWindow, new: DigestWindow) -> bool:
        moved = window_update(self._records, old, new, versioned=False)
        if made is None or content is None:
            return self._db.attempt("update_item", **moved)
        accepted = self._accept(made, content)
        try:
            self._db.call("transact_write_items", TransactItems=[*accepted, {"Update": moved}])
        except Cancelled as lost:
            if lost.codes[0] == "ConditionalCheckFailed":
                return True  # the job's id is random: it is our own write, whose answer was lost
            if lost.codes[-1] == "ConditionalCheckFailed":
                return False
            raise
        return True
