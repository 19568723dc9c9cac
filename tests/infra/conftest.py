"""Templates are synthesised once per module, without building the asset."""

import json
from pathlib import Path
from typing import Any

import pytest

from infra.lint import templates
from infra.settings import DeploymentSettings, DeployTarget, read
from tests.infra.synthesis import synthesised
from tests.infra.template import Template, joined

SETTINGS: dict[str, Any] = {
    "stage": "dev",
    "credentials": [
        {"id": "sendgrid-main", "provider": "sendgrid", "channel": "email", "rate": 150},
        {"id": "big", "provider": "sendgrid", "channel": "email", "rate": 2500, "accounts": ["acme"]},
        {"id": "few", "provider": "sendgrid", "channel": "email", "rate": 10, "workers": 3},
    ],
    "routes": {"email": ["sendgrid-main", "big"]},
    "alarm_email": "ops@example.com",
}
TABLES = {
    "StorageRecords0990588D": "records",
    "StorageOps44DC74F0": "ops",
    "StorageIdentitiesC05B3EC3": "identities",
    "StorageAudit9012A908": "audit",
}
SENDERS = ("send-sendgrid-main", "send-big", "send-few", "send-test")
LINK_KEYS_ID = "LinkKeysSecretF2C7DEFE"
HOOK_KEY_ID = "HookKeySecret01A2050F"
ADDRESS_KEY_ID = "AddressKeySecret24BACD27"
"""Logical ids and services of what those settings make."""


DOMAIN = {
    "name": "send.example.eu",
    "certificate_arn": "arn:aws:acm:eu-west-1:111122223333:certificate/1234abcd-12ab-34cd-56ef-1234567890ab",
}
"""A domain of the API's own, as the settings have it."""
VPC = {
    "subnet_ids": ["subnet-0a1b2c3d4e5f60001", "subnet-0a1b2c3d4e5f60002"],
    "security_group_ids": ["sg-0a1b2c3d4e5f60001"],
}
"""A network of a customer."""
EDGE = {
    "certificate_arn": DOMAIN["certificate_arn"].replace("eu-west-1", "us-east-1"),
    "web_acl_arn": "arn:aws:wafv2:us-east-1:111122223333:global/webacl/bank/1234abcd-12ab-34cd-56ef-1234567890ab",
}
"""An edge before it."""


def deployment(target: DeployTarget = DeployTarget.AWS, **changes: Any) -> DeploymentSettings:
    return read({**SETTINGS, **changes}, target=target, known=["sendgrid"])


@pytest.fixture(scope="session")
def folder() -> Path:
    """Holds the assembly for AWS."""
    return synthesised(deployment()).parent


@pytest.fixture(scope="session")
def main(folder: Path) -> Template:
    return Template(json.loads((folder / "posthaste-dev.template.json").read_text("utf-8")))


@pytest.fixture(scope="session")
def aws(folder: Path, main: Template) -> Template:
    """The stack with what is nested in it for operators."""
    (file,) = (f for f in templates(folder) if "Operate" in f.name)
    return joined(main, Template(json.loads(file.read_text("utf-8"))), "Operate")


@pytest.fixture(scope="session")
def hooks(folder: Path) -> Template:
    """The nested stack of webhooks to accounts."""
    (file,) = (f for f in templates(folder) if "Hooks" in f.name)
    return Template(json.loads(file.read_text("utf-8")))


@pytest.fixture(scope="session")
def report(folder: Path) -> dict[str, Any]:
    """What cdk-nag found and why it was let stand."""
    found: dict[str, Any] = json.loads((folder / "validation-report.json").read_text("utf-8"))
    return found


@pytest.fixture(scope="session")
def local_file() -> Path:
    return synthesised(deployment(DeployTarget.LOCAL))


@pytest.fixture(scope="session")
def local_hooks(local_file: Path) -> Template:
    """The flat stack of the local cloud, with webhooks to accounts."""
    return Template(json.loads(local_file.read_text("utf-8")))


@pytest.fixture(scope="session")
def local(local_hooks: Template) -> Template:
    """The same without what is in a nested stack on AWS."""
    rest = {k: r for k, r in local_hooks.resources.items() if not k.startswith("AccountHooks")}
    return Template({**local_hooks.raw, "Resources": rest})


@pytest.fixture(params=["aws", "local"])
def template(request: pytest.FixtureRequest) -> Template:
    """Both templates, one after the other, without webhooks to accounts."""
    found: Template = request.getfixturevalue(request.param)
    return found
