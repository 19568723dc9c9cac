"""The bucket with copies of sealed audit logs. Its objects stay as they are until their time is over."""

from typing import Final

from aws_cdk import Duration, RemovalPolicy
from aws_cdk.aws_kms import IKey
from aws_cdk.aws_s3 import BlockPublicAccess, Bucket, BucketEncryption, ObjectLockRetention, ObjectOwnership
from constructs import Construct

from infra.settings import DeploymentSettings
from shared import contracts

SEALED: Final = "seals/"
"""Begins the names of copies."""


class AuditCopies(Construct):
    """A bucket with Object Lock in compliance mode: also the account's root user waits for the end of the days."""

    def __init__(
        self, scope: Construct, construct_id: str, *, deployment: DeploymentSettings, key: IKey | None
    ) -> None:
        """`key`: the customer's, where there is one."""
        super().__init__(scope, construct_id)
        self.bucket = Bucket(
            self,
            "Bucket",
            block_public_access=BlockPublicAccess.BLOCK_ALL,
            encryption=BucketEncryption.KMS if key else BucketEncryption.S3_MANAGED,
            encryption_key=key,
            bucket_key_enabled=True if key else None,
            object_ownership=ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=True,
            versioned=True,
            object_lock_enabled=True,
            object_lock_default_retention=ObjectLockRetention.compliance(
                Duration.days(deployment.settings.audit_lock_days)
            ),
            removal_policy=RemovalPolicy.RETAIN,  # CloudFormation cannot empty it
        )

    @property
    def environment(self) -> dict[str, str]:
        """What the sweeper reads."""
        return {contracts.ENV_AUDIT_COPIES: self.bucket.bucket_name}
