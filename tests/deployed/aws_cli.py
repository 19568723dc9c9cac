"""`aws SERVICE OPERATION --option value …`: as much of the AWS CLI as the runbooks use, by boto3.

The real one is no package of this repository's. Options become parameters as botocore's own model of the operation has
them, so an option that does not exist is an error, as there.
"""

import json
import sys
from collections.abc import Sequence
from typing import Any, Final

import boto3
import jmespath
from botocore import xform_name
from botocore.config import Config

GLOBAL: Final = {"query", "output"}
_NUMBERS: Final = {"integer": int, "long": int, "double": float, "float": float}


def main() -> int:
    """Make the call of the command line, print what the query leaves, and return the exit code."""
    service, operation, *rest = sys.argv[1:]
    client: Any = boto3.client(service, config=Config(retries={"total_max_attempts": 1}))  # type: ignore[call-overload]
    method = operation.replace("-", "_")
    name = client.meta.method_to_api_mapping[method]
    members = client.meta.service_model.operation_model(name).input_shape.members
    wanted, shown = _options(rest)
    parameters = {}
    for option, values in wanted.items():
        negated = option.removeprefix("no-")
        field, shape = next((k, v) for k, v in members.items() if xform_name(k, "-") in (option, negated))
        parameters[field] = _value(shape.type_name, values, on=option == xform_name(field, "-"))
    found = getattr(client, method)(**parameters)
    found.pop("ResponseMetadata", None)
    _show(jmespath.search(shown.get("query", "@"), found), shown.get("output", "json"))
    return 0


def _options(words: Sequence[str]) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Return the operation's options with their values, and those of every operation."""
    found: dict[str, list[str]] = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            name = word.removeprefix("--")
            found[name] = []
        else:
            found[name].append(word)
    shown = {name: found.pop(name)[0] for name in GLOBAL & set(found)}
    return found, shown


def _value(kind: str, values: Sequence[str], *, on: bool) -> Any:
    if kind == "boolean":
        return on
    if kind == "list":
        return list(values)
    (value,) = values
    return _NUMBERS[kind](value) if kind in _NUMBERS else value


def _show(found: Any, form: str) -> None:
    if form == "json":
        sys.stdout.write(json.dumps(found, indent=4, default=str) + "\n")
        return
    rows = found if isinstance(found, list) else [found]
    for row in rows:
        cells = row if isinstance(row, list) else [row]
        sys.stdout.write("\t".join("None" if cell is None else str(cell) for cell in cells) + "\n")


if __name__ == "__main__":
    sys.exit(main())
