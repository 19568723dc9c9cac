"""How one attempt is named to a provider."""

from shared.domain.ids import Ref
from shared.domain.jobs.chunks import Chunk
from shared.domain.jobs.ledger import Ledger
from shared.ports import Target


def target(ledger: Ledger, chunk: Chunk, index: int) -> Target:
    """Return a recipient's present attempt; the same attempt is always named the same."""
    return Target(
        ref=str(Ref(ledger.job, ledger.chunk, index, ledger.cells[index] >> 4)),
        recipient=chunk.recipients[index],
    )
