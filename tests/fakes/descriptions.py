"""Reads botocore's descriptions of services when it is imported, so that processes forked afterwards have read them."""

from typing import Any, Final

import boto3
from botocore.session import get_session

from quick_moto import sessions

SERVICES: Final = ("dynamodb", "s3", "scheduler", "secretsmanager", "sqs")
MADE: Final[dict[str, Any]] = {
    "region_name": "us-east-1",
    "aws_access_key_id": "testing",
    "aws_secret_access_key": "testing",
}

sessions.install()
for service in SERVICES:
    get_session().create_client(service, **MADE)  # as the functions make it
    boto3.Session().client(service, **MADE)  # as tests do
