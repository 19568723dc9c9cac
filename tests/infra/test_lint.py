"""cdk-nag and cfn-lint: nothing stands unexplained, and no explanation stands without a finding.

That cfn-lint is content with the templates is `make lint-infra`'s to say.
"""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App
from aws_cdk.aws_sqs import Queue

from infra.functions.operators import POLICIES
from infra.lint import cfn_lint, context, example_templates, examples, local_example, synthesise
from infra.nag import OBJECTS, wildcards
from infra.settings import LOCAL_LACKS, DeployTarget, providers, read
from infra.stack import PosthasteStack
from shared.contracts import MAIL_CONTENTS
from tests.infra.conftest import deployment
from tests.infra.template import Template

ROUTES = (
    "arn:<AWS::Partition>:execute-api:<AWS::Region>:<AWS::AccountId>:<referencetoposthastedevApiHttpFF822AA4Ref>/"
    "$default/"
)
"""How the nested stack of operators names the API's."""
FILES = "<referencetoposthastedevStorageBucket619AE646Arn>/"
"""How it names the bucket's."""
COPIES = "<referencetoposthastedevStorage"
TABLES = ("Audit97A2CE87Arn>", "OpsD51E712CArn>", "IdentitiesFA0A40ACArn>", "Records91787B66Arn>")
"""How it names the tables'."""


@pytest.mark.slow
def test_cfn_lint_sees_what_is_wrong(aws: Template, tmp_path: Path) -> None:
    table = copy.deepcopy(aws.resources["StorageOps44DC74F0"])
    table["Properties"]["BillingMode"] = "FREE"
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps({"Resources": {"Ops": table}}), encoding="utf-8")
    assert "'FREE' is not one of" in cfn_lint(wrong)


@pytest.mark.slow
def test_the_examples_are_linted_with_the_rest() -> None:
    """`make lint-infra` synthesises them, so their settings at least are right."""
    found = {name: read(settings) for name, settings in examples().items()}
    assert {"tiny", "eu", "thirty"} <= set(found)
    assert len(found["thirty"].settings.credentials) == 30
    assert set(found["thirty"].stacks.values()) == {"second"}
    assert {c.provider for d in found.values() for c in d.settings.credentials} == set(providers()) - {"test"}


def test_the_local_form_of_an_example_is_right_and_lacks_only_what_the_local_cloud_lacks() -> None:
    """`make lint-infra` synthesises it; this says in a second whether it can."""
    local = local_example("eu")
    assert read(local, target=DeployTarget.LOCAL).settings.stage == "prod-eu"
    assert examples()["eu"].keys() - local.keys() <= LOCAL_LACKS.keys()


@pytest.mark.slow
def test_the_template_of_eventbridge_rules_is_linted_and_clean() -> None:
    found = example_templates()
    assert [file.parent.name for file in found] == ["eventbridge"]
    assert cfn_lint(*found) == ""


def test_nag_finds_nothing_that_is_not_acknowledged(report: dict[str, Any]) -> None:
    packs = {p["pluginName"]: p for p in report["pluginReports"]}
    assert {"AwsSolutions", "Serverless"} <= set(packs)
    for pack in packs.values():
        assert (pack["conclusion"], pack["violations"]) == ("success", []), pack["pluginName"]


def test_every_acknowledgement_has_a_reason_and_a_finding(report: dict[str, Any]) -> None:
    used: dict[str, set[str]] = {}
    for pack in report["pluginReports"]:
        for finding in pack["suppressedViolations"]:
            assert len(finding["reason"]) > 20
            used.setdefault(finding["acknowledgedId"], set()).add(finding["reason"])
    expected = {
        "AwsSolutions::AwsSolutions-S1",
        "AwsSolutions::AwsSolutions-APIG4",
        "AwsSolutions::AwsSolutions-L1",
        "AwsSolutions::AwsSolutions-SMG4",
        "AwsSolutions::AwsSolutions-SQS3",
        "AwsSolutions::AwsSolutions-IAM5[Resource::*]",
        *(f"AwsSolutions::AwsSolutions-IAM5[Resource::{r}]" for r in wildcards(deployment())),
        *(
            f"AwsSolutions::AwsSolutions-IAM5[Resource::{ROUTES}{r}]"
            for rs in POLICIES.values()
            for r in rs
            if "*" in r
        ),
        *(f"AwsSolutions::AwsSolutions-IAM5[Resource::{COPIES}{r}-restored-*]" for r in TABLES),
        *(f"AwsSolutions::AwsSolutions-IAM5[Resource::{FILES}{r}*]" for r in OBJECTS if r != MAIL_CONTENTS),
        "Serverless::Serverless-LambdaLatestVersion",
        "Serverless::Serverless-LambdaDLQ",
        "Serverless::Serverless-LambdaTracing",
        "Serverless::Serverless-LambdaStarPermissions",
        "Serverless::Serverless-SQSRedrivePolicy",
        "Serverless::Serverless-SNSRedrivePolicy",
        "Serverless::Serverless-LambdaEventSourceMappingDestination",
    }
    assert set(used) == expected


@pytest.mark.slow
def test_a_finding_stops_the_synth(tmp_path: Path) -> None:
    app = App(context={**context(), "aws:cdk:bundling-stacks": []}, outdir=str(tmp_path))
    stack = PosthasteStack(app, "posthaste-dev", deployment=deployment())
    Queue(stack, "Careless")
    with pytest.raises(RuntimeError, match=r"posthaste-dev/Careless/Resource[^\n]*\n[^\n]*AwsSolutions-SQS4"):
        app.synth()


@pytest.mark.slow
def test_without_an_acknowledgement_the_synth_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infra.nag.STACK", {})
    with pytest.raises(RuntimeError, match="The API does not implement authorization"):
        synthesise(deployment(), tmp_path)
