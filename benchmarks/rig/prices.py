"""AWS's prices, in dollars (us-east-1, on demand, without free tiers). Source: aws.amazon.com/<service>/pricing.

One file, so that another region or a change of prices is one edit.
"""

from typing import Final

MILLION: Final = 1_000_000

WRITE_UNIT: Final = 0.625 / MILLION
READ_UNIT: Final = 0.125 / MILLION
WRITE_CAPACITY: Final = 0.00065
READ_CAPACITY: Final = 0.00013
"""DynamoDB, provisioned: of a unit a second, an hour."""
LAMBDA_REQUEST: Final = 0.20 / MILLION
LAMBDA_GB_SECOND: Final = 0.0000133334
"""arm64."""
SQS_REQUEST: Final = 0.40 / MILLION
"""A standard queue, per request of up to 64 KB."""
SQS_FAIR: Final = 0.10 / MILLION
"""On top, for a request on a queue that shares fairly among groups."""
HTTP_API_REQUEST: Final = 1.00 / MILLION
"""Up to 512 KB."""
S3_PUT: Final = 5.00 / MILLION
S3_GET: Final = 0.40 / MILLION
LOG_GB: Final = 0.50
STORED_GB: Final = 0.25
"""DynamoDB, standard class, a month."""
PITR_GB: Final = 0.20
"""DynamoDB's point-in-time recovery, a month."""
SNS_PUBLISH: Final = 0.50 / MILLION
"""A notification to a queue, which SNS delivers for nothing."""
SNS_HTTP: Final = 1.10 / MILLION
"""A notification to an HTTPS endpoint: 0.50 to publish it, 0.60 to deliver it."""
SECRET: Final = 0.40
"""A month."""
ALARM_METRIC: Final = 0.10
"""A month."""
METRIC: Final = 0.30
"""A month, the first ten thousand."""
DASHBOARD: Final = 3.00
KMS_KEY: Final = 1.00
EGRESS_GB: Final = 0.09
