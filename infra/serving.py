"""The form of the settings that say how requests come in and how functions run."""

import re
from typing import Annotated, Final

from pydantic import Field, field_validator

from infra.forms import DomainName, SettingFields

WEB_ACL: Final = re.compile(r"arn:aws[a-z-]*:wafv2:us-east-1:\d{12}:global/webacl/[A-Za-z0-9_-]{1,128}/[0-9a-f-]{36}")
CERTIFICATE: Final = re.compile(r"arn:aws[a-z-]*:acm:[a-z0-9-]+:\d{12}:certificate/[0-9a-f-]{36}")


class DomainFields(SettingFields):
    """`domain`: the API's own name, and the certificate that ACM has for it in the stack's region."""

    name: DomainName
    certificate_arn: str
    close_default_endpoint: bool = False

    @field_validator("certificate_arn")
    @classmethod
    def _certificate_arn(cls, value: str) -> str:
        if not CERTIFICATE.fullmatch(value):
            raise ValueError(f"{value!r} is not the ARN of a certificate in ACM")
        return value


class EdgeFields(SettingFields):
    """`edge`: the distribution before the API, by the name of `domain`.

    Attributes:
        certificate_arn: of the certificate for that name in us-east-1, where CloudFront looks.
        web_acl_arn: of the web ACL that it asks; empty only for the part that makes one.
        close_origin: whether requests that did not come by it are refused; until the domain's record leads to it, they
            must not be.
        requests_per_5_minutes: of one address, at the most.
        key: the name of the key in the secret that the edge sends.
    """

    certificate_arn: str
    web_acl_arn: str = ""
    close_origin: bool = False
    requests_per_5_minutes: Annotated[int, Field(ge=100, le=2_000_000_000)] = 60_000
    key: Annotated[str, Field(pattern=r"^[a-z0-9]{1,20}$")] = "current"

    @field_validator("certificate_arn")
    @classmethod
    def _certificate_arn(cls, value: str) -> str:
        if not CERTIFICATE.fullmatch(value) or ":us-east-1:" not in value:
            raise ValueError(f"{value!r} is not the ARN of a certificate in ACM of us-east-1, where CloudFront looks")
        return value

    @field_validator("web_acl_arn")
    @classmethod
    def _web_acl_arn(cls, value: str) -> str:
        if value and not WEB_ACL.fullmatch(value):
            raise ValueError(f"{value!r} is not the ARN of a web ACL of scope CLOUDFRONT, which is in us-east-1")
        return value


Subnet = Annotated[str, Field(pattern=r"^subnet-[0-9a-f]{8,17}$")]
SecurityGroup = Annotated[str, Field(pattern=r"^sg-[0-9a-f]{8,17}$")]


class VpcFields(SettingFields):
    """`vpc`: the network of a customer in which all functions have their interfaces.

    Attributes:
        ipv6: whether they also reach IPv6; each subnet must then have both.
    """

    subnet_ids: Annotated[list[Subnet], Field(min_length=1, max_length=16)]
    security_group_ids: Annotated[list[SecurityGroup], Field(min_length=1, max_length=5)]
    ipv6: bool = False


AtOnce = Annotated[int, Field(ge=1, le=900)]
"""Executions at once, reserved and the most."""


class AtOnceFields(SettingFields):
    """`at_once`: the executions that functions behind the API reserve, and have at the most."""

    api: AtOnce
    webhooks: AtOnce | None = None
    console: AtOnce | None = None

    @property
    def total(self) -> int:
        """All of them, and the sweeper's own one."""
        return self.api + (self.webhooks or 0) + (self.console or 0) + SWEEPERS


SWEEPERS: Final = 1
"""Executions that the sweeper keeps for itself beside `at_once`: it runs each minute, for less than one."""
