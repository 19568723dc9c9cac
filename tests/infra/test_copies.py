"""Copies of sealed audit logs: a bucket with Object Lock, which only the sweeper writes and no function reads."""

import json

import pytest

from infra.lint import examples
from infra.settings import read
from shared import contracts
from tests.infra.synthesis import synthesised
from tests.infra.template import Template, target


@pytest.fixture(scope="module")
def locked() -> Template:
    return Template(json.loads(synthesised(read(examples()["eu"])).read_text("utf-8")))


def test_the_bucket_locks_each_file_for_the_days_of_the_setting(locked: Template) -> None:
    (bucket,) = (x for x in locked.of("S3::Bucket").values() if x.get("ObjectLockEnabled"))
    retention = bucket["ObjectLockConfiguration"]["Rule"]["DefaultRetention"]
    assert retention == {"Mode": "COMPLIANCE", "Days": 400}
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    assert bucket["PublicAccessBlockConfiguration"]["RestrictPublicBuckets"]
    (name,) = (k for k, x in locked.of("S3::Bucket").items() if x is bucket)
    assert locked.resources[name]["DeletionPolicy"] == "Retain"


@pytest.mark.promise(9)
def test_only_the_sweeper_puts_copies_and_no_function_reads_them(locked: Template) -> None:
    (name,) = (k for k, x in locked.of("S3::Bucket").items() if x.get("ObjectLockEnabled"))
    found = {
        (service, action, resource)
        for service in locked.functions()
        for statement in locked.statements(service)
        for action in statement.actions
        for resource in statement.resources
        if f"<{name}.Arn>" in resource
    }
    assert found == {("sweep", "s3:PutObject", f"<{name}.Arn>/seals/*")}
    sweep = locked.functions()["sweep"]["Environment"]["Variables"]
    assert target(sweep[contracts.ENV_AUDIT_COPIES]) == name


def test_without_the_setting_there_is_one_bucket(template: Template) -> None:
    assert len(template.of("S3::Bucket")) == 1
