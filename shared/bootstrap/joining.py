"""The part of a deployment that makes people's first accounts; only the function for this has it."""

from shared.adapters.dynamo.accounts.first_accounts import DynamoFirstAccounts
from shared.bootstrap.deployment import Deployment
from shared.ports.people import FirstAccounts


def first_accounts(of: Deployment) -> FirstAccounts:
    """Return it. `of`: the deployment."""
    return DynamoFirstAccounts(of.dynamo, of.clock)
