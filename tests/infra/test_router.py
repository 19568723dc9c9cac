"""The router's settings and its stack."""

import json
import re
from typing import Any

import pytest
from aws_cdk import App

from infra.router.settings import RouterSettings, read
from infra.router.stack import RouterStack
from infra.settings import ROOT, SettingsError
from tests.infra.template import Template

CELLS = {"eu": "https://eu.example.com", "us": "https://us.example.com/"}
NAMED = {
    "name": "send.example.com",
    "certificate_arn": "arn:aws:acm:eu-central-1:111122223333:certificate/1234abcd-12ab-34cd-56ef-1234567890ab",
    "close_default_endpoint": True,
}
TOPIC = "arn:aws:sns:eu-central-1:111122223333:operations"
BOUND = "arn:aws:iam::111122223333:policy/platform/workloads"


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (None, "-c router="),
        ("{", "router: "),
        ({"cells": CELLS}, "router: name: Field required"),
        ({"name": "prod", "cells": {}}, "router: cells: "),
        ({"name": "prod", "cells": {"EU": "https://eu.example.com"}}, "'EU' is no name"),
        ({"name": "prod", "cells": {"eu": "http://eu.example.com"}}, "cells.eu: give an address"),
        ({"name": "prod", "cells": {"eu": "https://eu.example.com/api"}}, "cells.eu: give an address"),
        ({"name": "prod", "cells": {"eu": "https://x.example", "us": "https://x.example/"}}, "two have the same"),
        ({"name": "prod", "cells": CELLS, "logs_days": 2}, "logs_days: one of 1, 3"),
        (
            {"name": "prod", "cells": CELLS, "alarm_topic_arn": "operations"},
            "alarm_topic_arn: this is no ARN",
        ),
        ({"name": "prod", "cells": CELLS, "routes": {}}, "router: routes: Extra inputs"),
    ],
)
def test_wrong_settings_are_one_line(raw: Any, said: str) -> None:
    with pytest.raises(SettingsError) as found:
        read(raw)
    assert said in str(found.value)
    assert "\n" not in str(found.value)


def test_settings_come_as_an_object_or_as_json() -> None:
    raw = {"name": "prod", "cells": CELLS}
    assert read(raw) == read(json.dumps(raw))
    assert read(raw).addresses == {"eu": "https://eu.example.com", "us": "https://us.example.com"}


def test_the_page_shows_settings_that_are_taken() -> None:
    page = (ROOT / "docs" / "cells.md").read_text("utf-8")
    shown = re.search(r"-c router='(.*)'", page)
    assert shown is not None
    assert read(shown[1]).cells == {"eu": "https://eu.example.com", "us": "https://us.example.com"}
    table = set(re.findall(r"`(\w+)`", "".join(x.split("|")[1] for x in page.splitlines() if x.startswith("| `"))))
    assert table == set(RouterSettings.model_fields)


def synthesised(**more: Any) -> Template:
    app = App(context={"aws:cdk:bundling-stacks": []})
    RouterStack(app, "posthaste-router-prod", settings=read({"name": "prod", "cells": CELLS, **more}))
    return Template(app.synth().get_stack_by_name("posthaste-router-prod").template)


@pytest.mark.slow
def test_the_stack_is_a_function_that_reads_and_notes_routes_and_no_more() -> None:
    found = synthesised(domain=NAMED, alarm_topic_arn=TOPIC, permissions_boundary_arn=BOUND, tags={"team": "mail"})
    [function] = found.of("Lambda::Function").values()
    variables = function["Environment"]["Variables"]
    assert json.loads(variables["POSTHASTE_CELLS"]) == read({"name": "x", "cells": CELLS}).addresses
    [role] = found.of("IAM::Role").values()
    [policy] = role["Policies"]
    actions = [action for row in policy["PolicyDocument"]["Statement"] for action in row["Action"]]
    assert actions == ["logs:CreateLogStream", "logs:PutLogEvents", "dynamodb:GetItem", "dynamodb:PutItem"]
    assert all(row["Resource"] != "*" for row in policy["PolicyDocument"]["Statement"])
    assert not found.of("IAM::Policy")
    assert role["PermissionsBoundary"] == BOUND
    [api] = found.of("ApiGatewayV2::Api").values()
    assert api["DisableExecuteApiEndpoint"] is True
    alarms = found.of("CloudWatch::Alarm").values()
    assert len(alarms) == 2
    assert all(alarm["AlarmActions"] == [TOPIC] for alarm in alarms)
    assert {"Key": "team", "Value": "mail"} in function["Tags"]


@pytest.mark.slow
def test_without_a_name_of_its_own_it_has_that_of_api_gateway() -> None:
    found = synthesised(reserved=20)
    [api] = found.of("ApiGatewayV2::Api").values()
    assert api["DisableExecuteApiEndpoint"] is False
    assert not found.of("ApiGatewayV2::DomainName")
    [function] = found.of("Lambda::Function").values()
    assert function["ReservedConcurrentExecutions"] == 20
