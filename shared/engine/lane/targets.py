"""How one attempt is named to a provider."""

from shared.domain.ids import Ref
from shared.domain.jobs.chunks import Chunk
from shared.domain.jobs.ledger import Ledger
from shared.ports import Target


def target(ledger: Ledger, chunk: Chunk, index: int) -> Target:
    """Return a recipient's present attempt. The same attempt always has the same ref.

    Args:
        ledger: the chunk's ledger.
        chunk: the chunk.
        index: the recipient's place within the chunk.
    """
    return Target(
        ref=str(Ref(ledger.job, ledger.chunk, index, ledger.cells[index] >> 4)),
        recipient=chunk.recipients[index],
        not_after=chunk.recipients[index].not_after / 1000,
    )
