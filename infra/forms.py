"""Forms that settings share: the base of their models, domains, ARNs."""

import re
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict

DOMAIN: Final = re.compile(r"(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]")


class SettingFields(BaseModel):
    """An object of `cdk.json` without unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


def _domain(value: str) -> str:
    if not DOMAIN.fullmatch(value):
        raise ValueError(f"{value!r} is no domain in lower case (an international one as xn--…)")
    return value


DomainName = Annotated[str, AfterValidator(_domain)]


def arn_of(service: str, rest: str, what: str) -> AfterValidator:
    """Let a text be empty, or an ARN.

    Args:
        service: with what follows it up to the account: `kms:[a-z0-9-]+`.
        rest: a pattern of what follows the account.
        what: it is, for the error.
    """
    arn = re.compile(rf"arn:aws[a-z-]*:{service}:(?:\d{{12}}|aws):{rest}")

    def check(value: str) -> str:
        if value and not arn.fullmatch(value):
            raise ValueError(f"{value!r} is not the ARN of {what}")
        return value

    return AfterValidator(check)


KeyArn = Annotated[str, arn_of("kms:[a-z0-9-]+", "key/[A-Za-z0-9-]{1,64}", "a key (aliases are not taken)")]
PolicyArn = Annotated[str, arn_of("iam:", r"policy/[\w+=,.@/-]{1,512}", "a managed policy")]
SigningArn = Annotated[
    str, arn_of("lambda:[a-z0-9-]+", "code-signing-config:csc-[0-9a-f]{17}", "a code signing configuration of Lambda")
]
TopicArn = Annotated[str, arn_of("sns:[a-z0-9-]+", "[A-Za-z0-9_-]{1,256}", "a standard topic")]
