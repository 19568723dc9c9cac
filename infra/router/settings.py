"""The settings of a router: a JSON object in the context `router`."""

import json
import re
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from infra.schema import LOG_DAYS, STAGE
from infra.serving import DomainFields
from infra.settings import SettingsError

MAX_CELLS: Final = 50
"""An unknown key asks each of them."""
_ARN: Final = re.compile(r"arn:aws[a-z-]*:[a-z]+:[a-z0-9-]*:\d{12}:\S+")


class RouterSettings(BaseModel):
    """A router.

    Attributes:
        name: of the stack, `posthaste-router-<name>`.
        cells: name → base address of the cell's API, as in `https://send.example.com`. It asks for
            unknown callers in this order.
        domain: its own name; None: it has that of API Gateway.
        reserved: its concurrent executions, and its bound; None: it takes what the account has.
        logs_days: retention of its log lines.
        alarm_topic_arn: the topic of its alarms; empty: they tell no one.
        permissions_boundary_arn: the policy that bounds its role; empty: none does.
        tags: of each of its resources.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=f"^{STAGE.pattern}$")
    cells: dict[str, str] = Field(min_length=1, max_length=MAX_CELLS)
    domain: DomainFields | None = None
    reserved: int | None = Field(None, ge=1, le=900)
    logs_days: int = 30
    alarm_topic_arn: str = ""
    permissions_boundary_arn: str = ""
    tags: dict[str, str] = Field(default_factory=dict)

    @field_validator("cells")
    @classmethod
    def _cells(cls, value: dict[str, str]) -> dict[str, str]:
        for cell, address in value.items():
            if not STAGE.fullmatch(cell):
                raise ValueError(f"cells: {cell!r} is no name: small letters, digits and hyphens, at most 20")
            found = urlsplit(address)
            if found.scheme != "https" or not found.hostname or address.rstrip("/") != f"https://{found.netloc}":
                raise ValueError(f"cells.{cell}: give an address as https://send.example.com, without a path")
        if len({address.rstrip("/") for address in value.values()}) < len(value):
            raise ValueError("cells: two have the same address")
        return value

    @field_validator("logs_days")
    @classmethod
    def _logs_days(cls, value: int) -> int:
        if value not in LOG_DAYS:
            raise ValueError(f"one of {', '.join(map(str, LOG_DAYS))}")
        return value

    @field_validator("alarm_topic_arn", "permissions_boundary_arn")
    @classmethod
    def _arn(cls, value: str) -> str:
        if value and not _ARN.fullmatch(value):
            raise ValueError("this is no ARN")
        return value

    @property
    def addresses(self) -> dict[str, str]:
        """Name → address without a slash at its end."""
        return {cell: address.rstrip("/") for cell, address in self.cells.items()}


def read(raw: Any) -> RouterSettings:
    """Return the settings.

    Args:
        raw: an object, or its JSON as the command line gives it; None: there is none.

    Raises:
        SettingsError: they are missing or wrong, in one line.
    """
    if raw is None:
        raise SettingsError('give the router\'s settings: -c router=\'{"name": …, "cells": {…}}\' (docs/scale.md)')
    try:
        return RouterSettings.model_validate(json.loads(raw) if isinstance(raw, str) else raw)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        said = first["msg"].removeprefix("Value error, ")
        raise SettingsError(f"router: {place}: {said}") from None
    except ValueError as error:
        raise SettingsError(f"router: {error}") from None
