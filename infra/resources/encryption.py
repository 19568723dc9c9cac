"""The customer's own key, where the settings name one: for tables, bucket, queues and credentials' secrets.

The key is not of this stack: nothing here changes its policy. The policy has to let the account's roles use it, and
SNS where SES' events come by SNS (docs/operations.md). With
`kms_everywhere` it is also that of logs, topics and environments (`infra/building/governance.py`). The secrets of
unsubscription links, of hashed addresses and of the console stay under AWS' key. A change of their properties could
make them anew, and then no link in any sent message would work.
"""

from typing import Final

from aws_cdk.aws_kms import IKey, Key
from constructs import Construct

from infra.settings import DeploymentSettings

USE: Final = (
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:Encrypt",
    "kms:GenerateDataKey",
    "kms:ReEncryptFrom",
    "kms:ReEncryptTo",
)
"""Uses of the key by DynamoDB, S3, SQS and Secrets Manager on behalf of a function."""
SEND: Final = ("kms:Decrypt", "kms:GenerateDataKey")
"""Uses of the key by SQS on behalf of a sender of messages."""


def customer_key(scope: Construct, deployment: DeploymentSettings) -> IKey | None:
    """Return the customer's key, None if the settings name none."""
    return Key.from_key_arn(scope, "Key", deployment.kms_key_arn) if deployment.kms_key_arn else None
