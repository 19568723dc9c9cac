"""The tables and the bucket."""

from math import ceil
from typing import Any, Final
from urllib.parse import urlsplit

from aws_cdk import Duration
from aws_cdk.aws_dynamodb import (
    Attribute,
    AttributeType,
    BillingMode,
    PointInTimeRecoverySpecification,
    ProjectionType,
    StreamViewType,
    Table,
    TableEncryption,
)
from aws_cdk.aws_kms import IKey
from aws_cdk.aws_s3 import BlockPublicAccess, Bucket, BucketEncryption, HttpMethods, LifecycleRule, ObjectOwnership
from constructs import Construct

from infra.resources.copies import AuditCopies
from infra.resources.encryption import customer_key
from infra.schema import MAX_BACKUPS
from infra.settings import DeploymentSettings, TableCapacity
from shared import contracts

UPLOADS: Final = "uploads/"
"""An upload is read once, within hours; what it brought is in the table."""
EXPORTS: Final = "exports/"
EXPORTS_DAYS: Final = 7
"""An export can be made again at any time."""
MAIL_UPLOADS_DAYS: Final = 1
"""A mail that is not committed by then is deleted."""
MAIL_CONTENTS_DAYS: Final = 7
"""A mail lives for two days. Its content is deleted with its last destination. This is for the remains of a crash."""
INBOX_DAYS: Final = 30
"""A payload is taken within seconds. For so long you can read it, and it is taken later if a fault was in the way."""
ARCHIVE: Final = "archive/"
NONCURRENT_DAYS: Final = 7
"""An overwritten or deleted object can be had back for a week."""

INDICES: Final = {contracts.INDEX_OPEN: 0.25, contracts.INDEX_MINE: 0.125}
"""The write units of an index for each of the table. A single message with its event takes 8.6, 2 and 1
(docs/performance.md), one of a batch much less."""

CORS_SECONDS: Final = 3600
"""For which a browser remembers that pages may put files."""
LOCAL_PAGES: Final = ["http://127.0.0.1:*", "http://localhost:*"]
"""The local cloud learns its API's address only after the bucket is made."""


class Storage(Construct):
    """The tables `records`, the ground truth, and `ops`, the sending, those of rights and audit, and the bucket."""

    def __init__(self, scope: Construct, construct_id: str, *, deployment: DeploymentSettings) -> None:
        super().__init__(scope, construct_id)
        self._local = deployment.local
        self._public = _origin(deployment.settings.public_url)
        key = customer_key(self, deployment)
        self.records = self._table("Records", deployment, key, capacity=deployment.capacity)
        self.records.add_global_secondary_index(
            index_name=contracts.INDEX_OPEN,
            partition_key=_text("open_pk"),
            sort_key=_text("open_sk"),
            projection_type=ProjectionType.INCLUDE,
            non_key_attributes=list(contracts.INDEX_OPEN_PROJECTION),
            **_least(deployment.capacity, INDICES[contracts.INDEX_OPEN]),
        )
        self.records.add_global_secondary_index(
            index_name=contracts.INDEX_MINE,
            partition_key=_text("mine_pk"),
            sort_key=_text("mine_sk"),
            projection_type=ProjectionType.KEYS_ONLY,
            **_least(deployment.capacity, INDICES[contracts.INDEX_MINE]),
        )
        if deployment.capacity is not None:
            _scale(self.records, deployment.capacity)
        self.ops = self._table("Ops", deployment, key)
        self.identities = self._table("Identities", deployment, key, stream=False)
        self.audit = self._table("Audit", deployment, key, stream=False)
        locked = deployment.settings.audit_lock_days > 0 and not deployment.local
        self.copies = AuditCopies(self, "AuditCopies", deployment=deployment, key=key) if locked else None
        self.people = self._table("People", deployment, key, stream=False) if deployment.console else None
        days = deployment.settings.archive_days
        archive = [LifecycleRule(id="archive", prefix=ARCHIVE, expiration=Duration.days(days))] if days else []
        self.bucket = Bucket(
            self,
            "Bucket",
            block_public_access=BlockPublicAccess.BLOCK_ALL,
            encryption=BucketEncryption.KMS if key else BucketEncryption.S3_MANAGED,
            encryption_key=key,
            bucket_key_enabled=True if key else None,  # else S3 asks KMS for every object
            object_ownership=ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=not deployment.local,
            versioned=True,
            removal_policy=deployment.removal,
            lifecycle_rules=[
                LifecycleRule(
                    id="leftovers",
                    abort_incomplete_multipart_upload_after=Duration.days(1),
                    noncurrent_version_expiration=Duration.days(NONCURRENT_DAYS),
                    expired_object_delete_marker=True,  # the last that is left of a file that a rule has deleted
                ),
                LifecycleRule(id="uploads", prefix=UPLOADS, expiration=Duration.days(deployment.uploads_days)),
                LifecycleRule(id="exports", prefix=EXPORTS, expiration=Duration.days(EXPORTS_DAYS)),
                LifecycleRule(id="inbox", prefix=contracts.INBOX_PREFIX, expiration=Duration.days(INBOX_DAYS)),
                *_mails(),
                *_contents(deployment),
                *archive,
            ],
        )

    def take_from(self, page: str) -> None:
        """Let pages of the console put files where they have been given a place for them.

        Args:
            page: the API's own address, where its pages are; they may also have another one (`public_url`).
        """
        own = list(dict.fromkeys(filter(None, (page, self._public))))
        self.bucket.add_cors_rule(
            allowed_methods=[HttpMethods.PUT],
            allowed_origins=LOCAL_PAGES if self._local else own,
            allowed_headers=["content-type", "if-none-match"],
            exposed_headers=["ETag"],
            max_age=CORS_SECONDS,
        )

    @property
    def tables(self) -> list[Table]:
        """All tables."""
        return [x for x in (self.records, self.ops, self.identities, self.audit, self.people) if x is not None]

    @property
    def copied(self) -> dict[str, str]:
        """The variable that names the bucket of copies of audit logs; empty: there is none."""
        return self.copies.environment if self.copies is not None else {}

    def objects(self, *prefixes: str) -> list[str]:
        """Return the ARNs of the bucket's objects whose names begin with one of these prefixes."""
        return [self.bucket.arn_for_objects(f"{prefix}*") for prefix in prefixes]

    def _table(
        self,
        construct_id: str,
        deployment: DeploymentSettings,
        key: IKey | None,
        *,
        stream: bool = True,
        capacity: TableCapacity | None = None,
    ) -> Table:
        return Table(
            self,
            construct_id,
            partition_key=_text("pk"),
            sort_key=_text("sk"),
            billing_mode=BillingMode.PAY_PER_REQUEST if capacity is None else BillingMode.PROVISIONED,
            **_least(capacity, 1),
            encryption=TableEncryption.CUSTOMER_MANAGED if key else TableEncryption.DEFAULT,
            encryption_key=key,
            point_in_time_recovery_specification=PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True,
                recovery_period_in_days=deployment.backups_days if deployment.backups_days < MAX_BACKUPS else None,
            ),
            stream=StreamViewType.NEW_IMAGE if stream else None,
            time_to_live_attribute="ttl",
            deletion_protection=deployment.production,
            removal_policy=deployment.removal,
        )


def _least(capacity: TableCapacity | None, share: float) -> dict[str, Any]:
    """Return with what capacity the table or an index begins, of which it takes this share; nothing: on demand."""
    if capacity is None:
        return {}
    write, read = (ceil(least * share) for least, _ in (capacity.writes, capacity.reads))
    return {"write_capacity": write, "read_capacity": read}


def _scale(table: Table, capacity: TableCapacity) -> None:
    """Let capacity follow the use, also of each index by itself: one that is full refuses the table's writes."""
    (write, writes), (read, reads) = capacity.writes, capacity.reads
    scaled = [
        table.auto_scale_write_capacity(min_capacity=write, max_capacity=writes),
        table.auto_scale_read_capacity(min_capacity=read, max_capacity=reads),
    ]
    for index, share in INDICES.items():
        scaled += [
            table.auto_scale_global_secondary_index_write_capacity(
                index, min_capacity=ceil(write * share), max_capacity=writes
            ),
            table.auto_scale_global_secondary_index_read_capacity(
                index, min_capacity=ceil(read * share), max_capacity=reads
            ),
        ]
    for each in scaled:
        each.scale_on_utilization(target_utilization_percent=capacity.use)


def _origin(address: str) -> str:
    """Return the origin of an address, as in https://mail.example.com; empty for an empty address."""
    found = urlsplit(address)
    return f"{found.scheme}://{found.netloc}" if found.netloc else ""


def _mails() -> list[LifecycleRule]:
    """Return what deletes the contents of mails."""
    return [
        LifecycleRule(id="mail-uploads", prefix=contracts.MAIL_UPLOADS, expiration=Duration.days(MAIL_UPLOADS_DAYS)),
        LifecycleRule(id="mails", prefix=contracts.MAIL_CONTENTS, expiration=Duration.days(MAIL_CONTENTS_DAYS)),
    ]


def _contents(deployment: DeploymentSettings) -> list[LifecycleRule]:
    """Return the rules that delete large contents after their jobs, each folder by the longest wait in it.

    The rule of the whole folder is for contents that are in none of them: where two fit, S3 takes the shorter.
    """
    kept, *_, longest = deployment.settings.kept_days, *contracts.CONTENT_WAITS
    folders = {f"{contracts.CONTENTS}{days}/": days for days in contracts.CONTENT_WAITS[:-1]}
    return [
        LifecycleRule(id=prefix.replace("/", "-").rstrip("-"), prefix=prefix, expiration=Duration.days(kept + days))
        for prefix, days in {**folders, contracts.CONTENTS: longest}.items()
    ]


def _text(name: str) -> Attribute:
    return Attribute(name=name, type=AttributeType.STRING)
