"""The operators' routes are behind IAM, and the stack's policies grant these routes and nothing else."""

import json
from fnmatch import fnmatchcase
from typing import Any

import pytest

from infra.functions.operators import COPIED, POLICIES, RESTORED, RESTORER
from infra.settings import DeployTarget
from tests.infra.conftest import deployment
from tests.infra.synthesis import synthesised
from tests.infra.template import Template, listed, target, text

pytestmark = pytest.mark.promise(9)

INVOKE = "arn:<AWS::Partition>:execute-api:<AWS::Region>:<AWS::AccountId>:<ApiHttp17514DA7>/$default/"
STACK = "arn:<AWS::Partition>:cloudformation:<AWS::Region>:<AWS::AccountId>:stack/posthaste-dev/*"


def policies(template: Template) -> dict[str, dict[str, Any]]:
    """Return the policies by the names of their outputs."""
    found = template.of("IAM::ManagedPolicy")
    return {name: found[target(template.raw["Outputs"][f"{name}Policy"]["Value"])] for name in (*POLICIES, RESTORER)}


def test_iam_identifies_the_caller_of_each_of_their_routes(template: Template) -> None:
    routes = {row["RouteKey"]: row for row in template.of("ApiGatewayV2::Route").values()}
    assert {k: row["AuthorizationType"] for k, row in routes.items() if row["AuthorizationType"] != "NONE"} == {
        "ANY /operate/{proxy+}": "AWS_IAM"
    }
    served = {
        template.service(template.resources[target(r["Target"]["Fn::Join"][1][1])]["Properties"]["IntegrationUri"])
        for k, r in routes.items()
        if "operate" in k
    }
    assert served == {"operate"}


def test_a_policy_grants_routes_and_the_look_at_the_stack_and_nothing_else(template: Template) -> None:
    found = policies(template)
    assert len(template.of("IAM::ManagedPolicy")) == len(found) == len(POLICIES) + 1
    for name, policy in found.items():
        assert all(s["Effect"] == "Allow" for s in policy["PolicyDocument"]["Statement"])
        if name == RESTORER:
            continue
        rights = rights_of(policy)
        routes = {("execute-api:Invoke", f"{INVOKE}{route}") for route in POLICIES[name]}
        assert rights == routes | {("cloudformation:DescribeStacks", STACK)}, name


def rights_of(policy: dict[str, Any]) -> set[tuple[str, str]]:
    """Return each action of a policy with each resource on which it is granted."""
    return {
        (action, text(resource))
        for statement in policy["PolicyDocument"]["Statement"]
        for action in listed(statement["Action"])
        for resource in listed(statement["Resource"])
    }


def test_who_restores_reads_and_adds_to_each_table_and_deletes_in_none(template: Template) -> None:
    rights = rights_of(policies(template)[RESTORER])
    tables = {resource for action, resource in rights if action == "dynamodb:PutItem" and "-restored-" not in resource}
    copies = {f"{table}-restored-*" for table in tables}
    assert len(tables) == len(template.of("DynamoDB::Table"))
    assert rights == {
        ("cloudformation:DescribeStacks", STACK),
        *((action, table) for action in RESTORED for table in tables),
        *((action, copy) for action in COPIED for copy in copies),
    }
    assert not {action for action, resource in rights if "Delete" in action and resource in tables}


def test_a_viewer_changes_nothing() -> None:
    assert {route.partition("/")[0] for route in POLICIES["Viewer"]} == {"GET"}


def test_all_of_it_takes_one_resource_of_the_stack(main: Template, aws: Template) -> None:
    assert {k: r["Type"] for k, r in main.resources.items() if "perat" in k} == {
        "OperateNestedStackOperateNestedStackResource7040DE52": "AWS::CloudFormation::Stack"
    }
    assert {*aws.resources} > {k for k in main.resources if not k.startswith("Operate")}


def test_who_redrives_and_pauses_sets_no_secret() -> None:
    granting = {
        name for name, routes in POLICIES.items() if any(fnmatchcase("PUT/operate/secrets/x", r) for r in routes)
    }
    assert granting == {"KeyAdmin"}


def test_no_policy_is_attached_by_the_stack(template: Template) -> None:
    assert not any({*policy} & {"Roles", "Users", "Groups"} for policy in template.of("IAM::ManagedPolicy").values())


def test_a_second_factor_is_asked_for_if_the_settings_say_so(template: Template) -> None:
    raw = json.loads(synthesised(deployment(DeployTarget.LOCAL, operators_mfa=True)).read_text("utf-8"))
    for found, wanted in ((Template(raw), {"Bool": {"aws:MultiFactorAuthPresent": "true"}}), (template, None)):
        for name, policy in policies(found).items():
            *granted, look = policy["PolicyDocument"]["Statement"]
            assert all(x.get("Condition") == wanted for x in granted), name
            assert (look["Action"], look.get("Condition")) == ("cloudformation:DescribeStacks", None), name
