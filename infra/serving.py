"""The form of the settings that say how requests come in and how functions run."""

import re
from typing import Annotated, Final

from pydantic import Field, field_validator

from infra.forms import DomainName, Fields

CERTIFICATE: Final = re.compile(r"arn:aws[a-z-]*:acm:[a-z0-9-]+:\d{12}:certificate/[0-9a-f-]{36}")


class DomainFields(Fields):
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


AtOnce = Annotated[int, Field(ge=1, le=900)]
"""Executions at once, reserved and the most."""


class AtOnceFields(Fields):
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
