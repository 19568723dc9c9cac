"""A first deploy that fails can be repeated: nothing that it made keeps its name, and nothing protects its stack."""

import json

import pytest

from cli.checks.first import ours
from infra.lint import examples, templates
from infra.settings import SettingsError, read
from shared.contracts import EXPRESS_SUFFIX
from tests.infra.conftest import SETTINGS, deployment
from tests.infra.synthesis import synthesised
from tests.infra.template import Template, text

pytestmark = pytest.mark.slow  # each synthesises stacks of its own

GOES = {None, "Delete", "RetainExceptOnCreate"}
"""Deletion policies under which a rollback removes what it has created; None is Delete."""
OURS = ("posthaste-prod", "/aws/vendedlogs/posthaste-prod")


@pytest.fixture(scope="module", params=["eu", "thirty"])
def stage(request: pytest.FixtureRequest) -> list[Template]:
    """The templates of a production stage, those of nested stacks included."""
    folder = synthesised(read(examples()[request.param])).parent
    return [Template(json.loads(f.read_text("utf-8"))) for f in templates(folder)]


def test_no_named_resource_outlives_a_rollback(stage: list[Template]) -> None:
    named = {
        logical: resource
        for template in stage
        for logical, resource in template.resources.items()
        if any(key.endswith("Name") and text(v).startswith(OURS) for key, v in resource.get("Properties", {}).items())
    }
    kinds = {resource["Type"] for resource in named.values()}
    assert kinds >= {"AWS::SQS::Queue", "AWS::SecretsManager::Secret", "AWS::Logs::LogGroup", "AWS::SNS::Topic"}
    assert {k for k, resource in named.items() if resource.get("DeletionPolicy") not in GOES} == set()


def test_what_a_rollback_leaves_has_no_name_of_ours(stage: list[Template]) -> None:
    left = {r["Type"]: r for t in stage for r in t.resources.values() if r.get("DeletionPolicy") not in GOES}
    assert set(left) == {"AWS::DynamoDB::Table", "AWS::S3::Bucket"}
    assert not {"TableName", "BucketName"} & {key for r in left.values() for key in r["Properties"]}


@pytest.mark.parametrize(("protect", "kept"), [("off", "Delete"), ("on", "RetainExceptOnCreate")])
def test_lanes_of_nested_stacks_are_kept_from_the_deploy_on_that_protects_the_stack(protect: str, kept: str) -> None:
    """Whether a rollback of the stack deletes what its nested stacks have created is not documented."""
    main = synthesised(read(examples()["thirty"], protect=protect))
    found = {f: Template(json.loads(f.read_text("utf-8"))) for f in templates(main.parent)}
    (nested,) = (t for f, t in found.items() if f != main and "Lanes" in f.name)
    kinds = ("AWS::SQS::Queue", "AWS::SecretsManager::Secret")
    policies = [r["DeletionPolicy"] for r in nested.resources.values() if r["Type"] in kinds]
    assert policies == [kept] * 36
    assert {r["DeletionPolicy"] for r in found[main].resources.values() if r["Type"] in kinds} == {
        "RetainExceptOnCreate"
    }
    handles = len(nested.of("CloudFormation::WaitConditionHandle"))
    assert handles == (1 if protect == "on" else 0), "CloudFormation takes over no policy without another change"


def test_express_queues_are_never_kept(stage: list[Template]) -> None:
    """Their stack is complete before the one around it can fail; what they hold is found by the sweeper."""
    express = [
        resource
        for template in stage
        for resource in template.resources.values()
        if resource["Type"] == "AWS::SQS::Queue" and resource["Properties"]["QueueName"].endswith(EXPRESS_SUFFIX)
    ]
    assert len(express) > 4
    assert {(x["DeletionPolicy"], x["UpdateReplacePolicy"]) for x in express} == {("Delete", "Delete")}


def test_the_doctor_looks_for_every_queue_s_name(stage: list[Template]) -> None:
    queues = [q["QueueName"] for template in stage for q in template.of("SQS::Queue").values()]
    name = "prod-eu" if queues[0].startswith("posthaste-prod-eu-") else "prod"
    assert ours(name, queues) == queues


def protected(stage: str, protect: str) -> bool:
    folder = synthesised(read({**SETTINGS, "stage": stage}, protect=protect, known=["sendgrid"])).parent
    artifact = json.loads((folder / "manifest.json").read_text("utf-8"))["artifacts"][f"posthaste-{stage}"]
    found: bool = artifact["properties"].get("terminationProtection", False)
    return found


@pytest.mark.parametrize(
    ("stage", "protect", "is_protected"), [("prod", "on", True), ("prod", "off", False), ("dev", "on", False)]
)
def test_production_is_protected_but_for_its_first_deploy(stage: str, protect: str, *, is_protected: bool) -> None:
    assert protected(stage, protect) is is_protected


def test_protection_is_on_or_off() -> None:
    assert deployment().protect is True
    with pytest.raises(SettingsError, match=r"context protect: 'no' is neither on nor off"):
        read(SETTINGS, protect="no", known=["sendgrid"])
