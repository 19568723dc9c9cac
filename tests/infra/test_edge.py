"""What is before the API: its templates, and that only functions behind it know its key."""

import json
from pathlib import Path
from typing import Any

import pytest

from infra.lint import firewall
from infra.resources.edge import ERRORS
from infra.resources.firewall import COUNTED
from infra.settings import DeploymentSettings, SettingsError, read
from shared import contracts
from tests.infra.conftest import DOMAIN, EDGE, SETTINGS, deployment
from tests.infra.synthesis import synthesised
from tests.infra.template import Template, text
from tests.infra.test_ses import CONSOLE

OFF, HOUR = "4135ea2d-6df8-44a3-9df3-4b5a84be39ad", "658327ea-f89d-4fab-a63d-7e88639e58f6"
"""CloudFront's policies CachingDisabled and CachingOptimized."""


def with_edge(**changes: Any) -> DeploymentSettings:
    return deployment(domain=DOMAIN, edge={**EDGE, **changes}, console=CONSOLE)


@pytest.fixture(scope="module")
def edge() -> Template:
    return Template(json.loads(synthesised(with_edge(close_origin=True)).read_text("utf-8")))


@pytest.fixture(scope="module")
def distribution(edge: Template) -> dict[str, Any]:
    (found,) = edge.of("CloudFront::Distribution").values()
    config: dict[str, Any] = found["DistributionConfig"]
    return config


pytestmark = pytest.mark.slow


def test_the_distribution_asks_the_firewall_and_speaks_tls_of_today(distribution: dict[str, Any]) -> None:
    assert distribution["WebACLId"] == EDGE["web_acl_arn"]
    assert distribution["Aliases"] == [DOMAIN["name"]]
    assert distribution["HttpVersion"] == "http2and3"
    assert distribution["ViewerCertificate"] == {
        "AcmCertificateArn": EDGE["certificate_arn"],
        "MinimumProtocolVersion": "TLSv1.2_2021",
        "SslSupportMethod": "sni-only",
    }
    (origin,) = distribution["Origins"]
    assert text(origin["DomainName"]) == "<ApiDomain95042711.RegionalDomainName>"
    assert origin["CustomOriginConfig"]["OriginProtocolPolicy"] == "https-only"


def test_pictures_are_kept_and_not_what_the_api_says_of_them() -> None:
    made = Template(json.loads(synthesised(deployment(domain=DOMAIN, edge=EDGE, images={})).read_text("utf-8")))
    (found,) = made.of("CloudFront::Distribution").values()
    kept = {x["PathPattern"]: x["CachePolicyId"] for x in found["DistributionConfig"]["CacheBehaviors"]}
    assert kept == {"/images/*/*": HOUR}


def test_nothing_of_an_account_is_kept_and_files_of_the_console_are(distribution: dict[str, Any]) -> None:
    """Without a limit of its own CloudFront keeps errors for ten seconds, those of one client for the next."""
    kept = {"": distribution["DefaultCacheBehavior"]} | {x["PathPattern"]: x for x in distribution["CacheBehaviors"]}
    assert {path: row["CachePolicyId"] for path, row in kept.items()} == {
        "": OFF,
        "/console/static/*": HOUR,
        "/console*": OFF,
    }
    assert list(kept) == ["", "/console/static/*", "/console*"], "the first that fits is taken"
    assert {
        row["ErrorCode"]: row["ErrorCachingMinTTL"] for row in distribution["CustomErrorResponses"]
    } == dict.fromkeys(ERRORS, 0)
    assert {path: row["ViewerProtocolPolicy"] for path, row in kept.items()} == {
        "": "https-only",
        "/console/static/*": "redirect-to-https",
        "/console*": "redirect-to-https",
    }
    assert all(set(row["AllowedMethods"]) >= {"POST", "PUT", "PATCH", "DELETE"} for row in kept.values())


def test_what_a_client_says_comes_through_and_cloudfront_adds_its_address(edge: Template) -> None:
    """Its Host, too: signatures of requests cover it."""
    (policy,) = edge.of("CloudFront::OriginRequestPolicy").values()
    config = policy["OriginRequestPolicyConfig"]
    assert config["HeadersConfig"] == {
        "HeaderBehavior": "allViewerAndWhitelistCloudFront",
        "Headers": ["CloudFront-Viewer-Address"],
    }
    assert (config["CookiesConfig"]["CookieBehavior"], config["QueryStringsConfig"]["QueryStringBehavior"]) == (
        "all",
    ) * 2


@pytest.mark.promise(9)
def test_the_key_is_in_no_template_and_known_behind_the_edge_alone(
    edge: Template, distribution: dict[str, Any]
) -> None:
    name = contracts.edge_secret_name("dev")
    (header,) = distribution["Origins"][0]["OriginCustomHeaders"]
    assert header["HeaderName"] == contracts.EDGE_HEADER
    assert header["HeaderValue"] == f"{{{{resolve:secretsmanager:{name}:SecretString:current::}}}}"
    (secret,) = (s for s in edge.of("SecretsManager::Secret").values() if s["Name"] == name)
    assert "SecretString" not in secret
    readers = {
        service
        for service in edge.functions()
        for s in edge.statements(service)
        if "secretsmanager:GetSecretValue" in s.actions and any(name in r for r in s.resources)
    }
    assert readers == {"api", "webhooks", "console"}
    told = {s: f["Environment"]["Variables"].get(contracts.ENV_EDGE) for s, f in edge.functions().items()}
    assert {s: v for s, v in told.items() if v} == dict.fromkeys(readers, contracts.EDGE_CLOSED)


def test_another_key_of_the_secret_is_sent_by_a_deploy() -> None:
    found = Template(json.loads(synthesised(with_edge(key="next")).read_text("utf-8")))
    (distribution,) = found.of("CloudFront::Distribution").values()
    (header,) = distribution["DistributionConfig"]["Origins"][0]["OriginCustomHeaders"]
    assert ":SecretString:next::" in header["HeaderValue"]
    told = {f["Environment"]["Variables"].get(contracts.ENV_EDGE) for f in found.functions().values()}
    assert told == {None, contracts.EDGE_OPEN}, "until the domain leads to the edge, its origin stays open"


def test_the_domain_s_record_points_to_the_edge(edge: Template) -> None:
    outputs = {k: text(v["Value"]) for k, v in edge.raw["Outputs"].items()}
    ((key, _),) = edge.of("CloudFront::Distribution").items()
    assert outputs["ApiTarget"] == f"<{key}.DomainName>"
    assert outputs["ApiOrigin"] == "<ApiDomain95042711.RegionalDomainName>"
    assert outputs["ApiUrl"] == f"https://{DOMAIN['name']}"


def test_the_firewall_limits_each_address_but_providers_and_reads_no_body(tmp_path: Path) -> None:
    raw = {**SETTINGS, "domain": DOMAIN, "edge": {"certificate_arn": EDGE["certificate_arn"]}}
    file = firewall(read(raw, part="firewall", known=["sendgrid"]), tmp_path)
    assert file is not None
    made = Template(json.loads(file.read_text("utf-8")))
    (acl,) = made.of("WAFv2::WebACL").values()
    assert (acl["Scope"], acl["DefaultAction"]) == ("CLOUDFRONT", {"Allow": {}})
    rate, known = acl["Rules"]
    limit = rate["Statement"]["RateBasedStatement"]
    assert (limit["Limit"], limit["AggregateKeyType"], limit["EvaluationWindowSec"]) == (60_000, "IP", 300)
    left_out = limit["ScopeDownStatement"]["NotStatement"]["Statement"]["ByteMatchStatement"]
    assert (left_out["SearchString"], left_out["PositionalConstraint"]) == ("/webhooks/", "STARTS_WITH")
    assert rate["Action"]["Block"]["CustomResponse"]["ResponseCode"] == 429
    group = known["Statement"]["ManagedRuleGroupStatement"]
    assert {(x["Name"], *x["ActionToUse"]) for x in group["RuleActionOverrides"]} == {(x, "Count") for x in COUNTED}
    assert all(name.endswith("_BODY") for name in COUNTED), "a newsletter about an attack quotes it"
    assert "WebAclArn" in made.raw["Outputs"]


@pytest.mark.parametrize(
    ("changes", "part", "error"),
    [
        ({"domain": None}, "", "edge: it answers to the name of domain, and there is none"),
        ({"edge": {"certificate_arn": DOMAIN["certificate_arn"]}}, "", "of us-east-1, where CloudFront looks"),
        ({"edge": {"certificate_arn": EDGE["certificate_arn"]}}, "", "edge.web_acl_arn: deploy the firewall first"),
        (
            {"edge": {**EDGE, "web_acl_arn": EDGE["web_acl_arn"].replace("global", "regional")}},
            "",
            "is not the ARN of a web ACL of scope CLOUDFRONT",
        ),
        ({"edge": {**EDGE, "requests_per_5_minutes": 99}}, "", "edge.requests_per_5_minutes: must be at least"),
        ({"edge": {**EDGE, "key": "a:b"}}, "", "edge.key: "),
        ({}, "roof", "context part: 'roof' is not firewall"),
        ({"edge": None}, "firewall", "context part: the settings have no edge, so no firewall"),
    ],
)
def test_a_wrong_edge_is_one_clear_line(changes: dict[str, Any], part: str, error: str) -> None:
    raw = {**SETTINGS, "domain": DOMAIN, "edge": EDGE, **changes}
    with pytest.raises(SettingsError) as caught:
        read(raw, part=part, known=["sendgrid"])
    assert error in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_local_cloud_has_no_edge() -> None:
    with pytest.raises(SettingsError, match=r"(domain|edge): the local cloud has no"):
        read({**SETTINGS, "domain": DOMAIN, "edge": EDGE}, target="local", known=["sendgrid"])
