"""What reads how far the jobs of a world are."""

from shared.adapters.dynamo.credentials.credentials import CredentialStates
from shared.engine.jobs.progress import ProgressReader
from tests.fakes.world import World


def reader(world: World, credentials: CredentialStates) -> ProgressReader:
    """Return it. `credentials`: over the same tables as the world."""
    return ProgressReader(
        records=world.records,
        logs=world.logs,
        credentials=credentials,
        settings=world.settings,
        clock=world.clock,
    )
