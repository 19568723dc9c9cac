"""The customer's own key, where the settings name one: for tables, bucket, queues and credentials' secrets.

The key is not of this stack: nothing here changes its policy, which has to let the account's roles use it, and SNS
where SES' events come by it (docs/operations.md). What signs unsubscription links stays under AWS' key: a change of
that secret's properties could make it anew, and every link that was ever sent would be forgotten.
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
"""What DynamoDB, S3, SQS and Secrets Manager do with it on behalf of a function."""
SEND: Final = ("kms:Decrypt", "kms:GenerateDataKey")
"""What SQS does on behalf of somebody who sends."""


def customer_key(scope: Construct, deployment: DeploymentSettings) -> IKey | None:
    """Return the customer's key, None if the settings name none."""
    return Key.from_key_arn(scope, "Key", deployment.kms_key_arn) if deployment.kms_key_arn else None
